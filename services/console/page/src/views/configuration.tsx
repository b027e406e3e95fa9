// What the service was started with.

import { useMemo, useState } from "preact/hooks";
import { ask, get, sentence } from "../api";
import { Curl, Download, Loading, Problem, useAnswer } from "../parts";
import { change, route } from "../route";
import { count } from "../text";
import type { Configuration as Told } from "../types";

interface Line {
  path: string;
  value: string;
}

export function Configuration() {
  const { data, error } = useAnswer("configuration", () => ask<Told>(get("/configuration")));
  const wanted = route.value.params.find ?? "";
  const sections = useMemo(() => (data ? Object.entries(data.configuration as Record<string, unknown>) : []), [data]);
  const found = sections
    .map(([name, value]) => ({ name, lines: lines(name, value).filter((line) => matches(line, wanted)) }))
    .filter(({ lines }) => lines.length > 0);
  return (
    <>
      <h1>Configuration</h1>
      {error && <Problem error={error} />}
      {!data && !error && <Loading />}
      {data && (
        <>
          {data.warnings.length === 0 && <p class="note good">There was nothing to warn of when it was read.</p>}
          {data.warnings.length > 0 && (
            <section class="note odd" aria-labelledby="warnings">
              <h2 id="warnings">{count(data.warnings.length, "warning")}</h2>
              <ul>
                {data.warnings.map((warning) => (
                  <li key={warning}>{sentence(warning)}</li>
                ))}
              </ul>
            </section>
          )}
          <p class="quiet">This is what the service was started with. Passwords, tokens and keys are hidden.</p>
          <div class="row">
            <label class="grow">
              Find a key or a value
              <input type="search" name="find" value={wanted} onInput={({ currentTarget: { value } }) => change({ find: value }, true)} />
            </label>
          </div>
          {found.length === 0 && <p>Nothing has these words.</p>}
          {found.map(({ name, lines }) => (
            <Section key={name} name={name} lines={lines} open={wanted !== "" || lines.length <= 30} />
          ))}
          <p class="tools">
            <Curl call={get("/configuration")} />
            <Download name="configuration" json={() => data.configuration} />
          </p>
        </>
      )}
    </>
  );
}

function Section({ name, lines, open }: { name: string; lines: Line[]; open: boolean }) {
  const [seen, see] = useState<boolean | null>(null);
  return (
    <details class="keys" open={seen ?? open} onToggle={({ currentTarget }) => currentTarget.open !== (seen ?? open) && see(currentTarget.open)}>
      <summary>
        <b>{name}</b> <span class="quiet">{count(lines.length, "value")}</span>
      </summary>
      <table>
        <thead class="hidden">
          <tr>
            <th scope="col">key</th>
            <th scope="col">value</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ path, value }) => (
            <tr key={path}>
              <th scope="row">
                <code>{path}</code>
              </th>
              <td>
                <bdi>{value}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

/** A line for each value; a list of plain values, and an object of these, is one. */
function lines(path: string, value: unknown): Line[] {
  if (typeof value !== "object" || value === null) return [{ path, value: value === null ? "none" : String(value) }];
  const plain = Object.values(value).every((part) => typeof part !== "object" || part === null || (Array.isArray(part) && part.every((part) => typeof part !== "object")));
  const told = JSON.stringify(value).replaceAll('"', "").replaceAll(":", ": ").replaceAll(",", ", ");
  if (Array.isArray(value)) {
    if (value.length === 0) return [{ path, value: "none" }];
    if (value.every((part) => typeof part !== "object")) return [{ path, value: value.join(", ") }];
    return value.flatMap((part, at) => lines(`${path}[${named(part) ?? at}]`, part));
  }
  if (Object.keys(value).length === 0) return [{ path, value: "none" }];
  if (plain && path.endsWith("]")) return [{ path, value: told.slice(1, -1) }];
  return Object.entries(value).flatMap(([name, part]) => lines(`${path}.${name}`, part));
}

const named = (value: unknown) => (typeof value === "object" && value !== null && "name" in value ? String(value.name) : null);

const matches = ({ path, value }: Line, wanted: string) => `${path} ${value}`.toLowerCase().includes(wanted.trim().toLowerCase());
