// What is stored of an item or a visitor.

import { useState } from "preact/hooks";
import { ask, type Call, Failure, get, has, keep, page, part, query, sentence } from "../api";
import { cell, Curl, Download, failure, Loading, Problem, Sure, Tenant, useAnswer, useFields, useNow } from "../parts";
import { change, route } from "../route";
import { ago, bytes, count, duration, exact, moment } from "../text";
import type { Forgotten, Stored } from "../types";
import { About } from "./lists";
import { Neighbours } from "./neighbours";
import { Newest } from "./newest";

const MOST = 300; // characters of a value that are shown at first
const OF_PATHS = "Browsers take this id for a part of an address, so the page cannot ask for it. curl can, with --path-as-is.";

export function LookUp() {
  const { id = "", kind = "items", tenant } = route.value.params;
  const [gone, forgot] = useState<{ key: string; answer: Forgotten | null; error: Failure | null }>();
  const path = `/${kind === "users" ? "users" : "items"}/${part(id)}${query([["tenant", tenant]])}`;
  const key = id && path;
  const stored = useAnswer(key, () => (/^\.\.?$/.test(id) ? Promise.reject(new Failure(0, OF_PATHS)) : ask<Stored>(get(path))), String(gone?.key === key));
  const fields = useFields(id && kind === "items" ? [id] : [], tenant)[id];
  const forget = () =>
    ask<Forgotten>({ method: "DELETE", path }).then(
      (answer) => {
        keep(null); // a request of the visitor may be there
        forgot({ key, answer, error: null });
      },
      (error) => forgot({ key, answer: null, error: failure(error) }),
    );
  const told = gone?.key === key ? gone : null;
  const what = kind === "users" ? "visitor" : "item";
  const elsewhere = page.value?.forgetUnavailable;
  return (
    <>
      <h1>Look up</h1>
      <form
        class="row chooser"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          change({ kind: String(form.get("kind")), id: String(form.get("id")).trim(), tenant: String(form.get("tenant")).trim() });
        }}
      >
        <label>
          What
          <select key={kind} name="kind" defaultValue={kind}>
            <option value="items" selected={kind !== "users"}>
              an item
            </option>
            <option value="users" selected={kind === "users"}>
              a visitor
            </option>
          </select>
        </label>
        <label class="grow">
          Its id
          <input key={id} name="id" defaultValue={id} required />
        </label>
        <Tenant value={tenant} />
        <button type="submit" class="main">
          Look it up
        </button>
      </form>
      {!id && <p>See what the service has stored of an item or a visitor, how old each value is, and which features read it.</p>}
      {told?.error && <Problem error={told.error} />}
      {told?.answer && <Gone id={id} answer={told.answer} />}
      {stored.error && stored.error.status !== 404 && <Problem error={stored.error} />}
      {stored.error?.status === 404 && !told?.answer && <p class="note odd">Nothing is stored under this id.</p>}
      {id && stored.loading && !stored.data && <Loading />}
      {stored.data?.id === id && (
        <>
          <About item={id} fields={fields} />
          <Values key={key} stored={stored.data} />
          <p class="tools">
            <Curl call={get(path) satisfies Call} />
            <Download name={`${what}-${id}`} rows={() => [["value", "stored", "changed", "features"], ...stored.data!.values.map(({ name, value, time, features }) => [name, cell(value), time === null ? "" : moment(time), features?.join(" ")])]} json={() => stored.data} />
            {has(`DELETE /${kind}/{id}`) && !elsewhere && (
              <Sure label="Forget" danger question={`All that is stored of the ${what} ${id} is removed, and cannot be brought back. Forget it?`} run={forget} />
            )}
          </p>
          {elsewhere && <p class="quiet">This {what} cannot be forgotten here. {sentence(elsewhere)}</p>}
          <Newest stored={stored.data} users={kind === "users"} tenant={tenant} />
          {kind !== "users" && <Neighbours item={id} tenant={tenant} />}
        </>
      )}
    </>
  );
}

function Gone({ id, answer: { removed, left } }: { id: string; answer: Forgotten }) {
  return (
    <div class={left.length ? "note odd" : "note good"} role="status">
      <p>
        <bdi>{id}</bdi> is forgotten{left.length ? " in part" : ""}.
      </p>
      <ul>
        {removed.map((text) => (
          <li key={text}>removed: {text}</li>
        ))}
        {left.map((text) => (
          <li key={text}>left: {text}</li>
        ))}
      </ul>
    </div>
  );
}

function Values({ stored }: { stored: Stored }) {
  const now = useNow();
  const sorted = stored.values.map((value) => ({ ...value, told: plain(value.name) })).sort((a, b) => a.told.localeCompare(b.told));
  return (
    <table class="stored">
      <caption>
        {count(sorted.length, "stored value")}, {bytes(stored.bytes)}
      </caption>
      <thead>
        <tr>
          <th scope="col">value</th>
          <th scope="col">stored</th>
          <th scope="col">changed</th>
          <th scope="col">read by</th>
        </tr>
      </thead>
      <tbody>
        {sorted.map(({ name, told, value, time, features }, at) => (
          <tr key={at}>
            <th scope="row" title={name}>
              {told}
            </th>
            <td>
              <Value text={exact(name.startsWith("updates of ") ? (value as string[]).map((texts) => JSON.parse(texts)) : value)} />
            </td>
            <td title={time === null ? undefined : moment(time)}>{time === null ? "not known" : ago(time, now)}</td>
            <td class="quiet">{features?.length ? features.join(", ") : "no feature"}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Kinds of stored values, as the service names them, and what they are. */
const KINDS: [RegExp, (...parts: string[]) => string][] = [
  [/^item field (".*") as (.*)$/, (field, how) => `item.${unquoted(field!)}, ${how!.replace(/^terms in/, "words in").replace(/^(\d+)-grams in/, "pieces of $1 letters in").replace(/^embedding by .*/, "embedding").replace(/, analysis \d+$/, "")}`],
  [/^updates of item field (".*")$/, (field) => `item.${unquoted(field!)}, newest values`],
  [/^item updated$/, () => "newest update, in seconds since 1970"],
  [/^count (".*") by (.*)$/, (kind, owner) => `${several(kind!)}${of(owner!)}, all`],
  [/^windows (".*") by (.*) of (\d+) ms$/, (kind, owner, ms) => `${several(kind!)}${of(owner!)}, ${steps(ms!)}`],
  [/^shown (".*") by (.*) of (\d+) ms$/, (kind, owner, ms) => `${several(kind!)} on shown lists${of(owner!)}, ${steps(ms!)}`],
  [/^shown (".*") by (.*)$/, (kind, owner) => `${several(kind!)} on shown lists${of(owner!)}, all`],
  [/^recent (".*") by (.*)$/, (kind, owner) => `newest ${several(kind!)}${of(owner!)}`],
  [/^mediums (".*") by (.*)$/, (source, owner) => `where visits came from, by ${unquoted(source!)}${of(owner!)}`],
  [/^newest (\d+) items of \[(.*)\] by user$/, (most, kinds) => `newest ${most} items of ${kinds ? kinds.split(", ").map(several).join(" and ") : "all interactions"}`],
];

function plain(name: string): string {
  for (const [kind, told] of KINDS) {
    const found = kind.exec(name);
    if (found) return told(...found.slice(1));
  }
  return name;
}

const unquoted = (text: string) => text.replace(/^"(.*)"$/, "$1");

const several = (kind: string) => unquoted(kind).replace(/^[a-z]*[a-gi-rt-w]$/, "$&s");

/** Whose it is, where that is not the item or the visitor that is looked up. */
const of = (owner: string) => (owner === "item" || owner === "user" ? "" : ` of ${owner}`);

const steps = (ms: string) => `counted ${ms === "86400000" ? "by day" : ms === "3600000" ? "by hour" : `in steps of ${duration(Number(ms) / 1000)}`}`;

function Value({ text }: { text: string }) {
  const [all, showAll] = useState(false);
  if (text.length <= MOST) return <bdi>{text}</bdi>;
  return (
    <>
      <bdi>{all ? text : `${text.slice(0, MOST)}…`}</bdi>{" "}
      <button type="button" class="plain" aria-expanded={all} onClick={() => showAll(!all)}>
        {all ? "Show less" : "Show all of it"}
      </button>
    </>
  );
}
