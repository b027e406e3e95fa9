// What the service was started with.

import { useMemo, useState } from "preact/hooks";
import { ask, get, sentence } from "../api";
import { broken, Curl, Download, Loading, Problem, useAnswer } from "../parts";
import { change, route } from "../route";
import { count } from "../text";
import type { Configuration as Told } from "../types";

interface Line {
  path: string;
  value: string;
  /** Whether its text leaves it out. */
  usual: boolean;
  /** The variable of the environment that says it. */
  variable?: string;
}

export function Configuration() {
  const { data, error } = useAnswer("configuration", () => ask<Told>(get("/configuration")));
  const wanted = route.value.params.find ?? "";
  const sections = useMemo(() => (data ? Object.entries(data.configuration as Record<string, unknown>) : []), [data]);
  const usual = useMemo(() => new Set(data?.defaults), [data]);
  const given = route.value.params.show === "given";
  const found = sections
    .map(([name, value]) => ({ name, lines: lines(name, name, value, { usual, variables: data!.environment }).filter((line) => matches(line, wanted) && !(given && line.usual)) }))
    .filter(({ lines }) => lines.length > 0);
  return (
    <>
      <h1>Configuration</h1>
      {error && <Problem error={error} />}
      {!data && !error && <Loading />}
      {data && (
        <>
          {data.warnings.length === 0 && <p class="note good">The configuration has no warnings.</p>}
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
          <p class="quiet">
            What the service was started with. Its file does not set the values that are marked as default. Passwords, tokens and keys are hidden.
          </p>
          <div class="row">
            <label class="grow">
              Find a key or a value
              <input type="search" name="find" value={wanted} onInput={({ currentTarget: { value } }) => change({ find: value }, true)} />
            </label>
            <label>
              Show
              <select name="show" value={given ? "given" : ""} onChange={({ currentTarget: { value } }) => change({ show: value }, true)}>
                <option value="">all, with defaults</option>
                <option value="given">only what is set</option>
              </select>
            </label>
          </div>
          {found.length === 0 && <p>No key or value has this text.</p>}
          {found.map(({ name, lines }) => (
            <Section key={name} name={name} lines={lines} open={wanted !== "" || lines.length <= 30} />
          ))}
          <p class="tools">
            <Curl call={get("/configuration")} />
            <Download name="configuration" rows={() => [["key", "value", "from"], ...found.flatMap(({ lines }) => lines.map(({ path, value, usual, variable }) => [path, value, variable ?? (usual ? "default" : "text")]))]} json={() => data.configuration} />
          </p>
        </>
      )}
    </>
  );
}

function Section({ name, lines, open }: { name: string; lines: Line[]; open: boolean }) {
  const [seen, see] = useState<boolean | null>(null);
  return (
    <details class="keys pairs" open={seen ?? open} onToggle={({ currentTarget }) => currentTarget.open !== (seen ?? open) && see(currentTarget.open)}>
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
          {lines.map(({ path, value, usual, variable }) => (
            <tr key={path} class={usual ? "usual" : undefined}>
              <th scope="row">
                <code>{broken(path)}</code>
              </th>
              <td>
                <bdi>{value}</bdi>
                {usual && <span class="quiet"> default</span>}
                {variable && (
                  <span class="quiet">
                    {" "}
                    from <code>{variable}</code>
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

interface Known {
  usual: ReadonlySet<string>;
  variables: Record<string, string>;
}

/** A line for each value; a list of plain values, and an object of these, is one. `at` is the path as the service has it. */
function lines(path: string, at: string, value: unknown, known: Known, within = false): Line[] {
  const usual = within || known.usual.has(at);
  const line = (value: string): Line[] => [{ path, value, usual, variable: known.variables[at] }];
  if (typeof value !== "object" || value === null) return line(value === null ? "none" : String(value));
  if (Array.isArray(value)) {
    if (value.length === 0) return line("none");
    if (value.every((part) => typeof part !== "object")) return line(value.join(", "));
    return value.flatMap((part, place) => lines(`${path}[${named(part) ?? place}]`, `${at}[${place}]`, part, known, usual));
  }
  const parts = Object.entries(value);
  if (parts.length === 0) return line("none");
  const below = (name: string) => `${at}.${name}`;
  const plain = parts.every(([name, part]) => !known.usual.has(below(name)) && (typeof part !== "object" || part === null || (Array.isArray(part) && part.every((part) => typeof part !== "object"))));
  if (plain && path.endsWith("]")) return line(JSON.stringify(value).replaceAll('"', "").replaceAll(":", ": ").replaceAll(",", ", ").slice(1, -1));
  return parts.flatMap(([name, part]) => lines(`${path}.${name}`, below(name), part, known, usual));
}

const named = (value: unknown) => (typeof value === "object" && value !== null && "name" in value ? String(value.name) : null);

const matches = ({ path, value }: Line, wanted: string) => `${path} ${value}`.toLowerCase().includes(wanted.trim().toLowerCase());
