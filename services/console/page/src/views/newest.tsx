// The newest events of an item or a visitor, as far as the state has them: it keeps what features need, and no events.

import { has } from "../api";
import { type Cell, Download, useFields, useNow } from "../parts";
import { href } from "../route";
import { ago, moment, whole } from "../text";
import type { Stored } from "../types";

const MOST = 50; // events that are shown

interface Seen {
  time: number;
  /** Type of interaction. */
  kind: string;
  /** With which item; of what is counted for an item itself, none. */
  item: string | null;
}

/** What a stored value is about, by its name. */
const ABOUT = /^(?:recent|newest \d+ items of|count|windows|shown) \[?((?:"[^"]*"(?:, )?)+)\]?/;

export function Newest({ stored, users, tenant }: { stored: Stored; users: boolean; tenant?: string }) {
  const now = useNow();
  const all = events(stored);
  const shown = all.slice(0, MOST);
  const ids = [...new Set(shown.flatMap(({ item }) => item ?? []))];
  const fields = useFields(ids, tenant);
  return (
    <section aria-labelledby="newest">
      <h2 id="newest">Newest events</h2>
      <p class="quiet">
        The state keeps what features need, not the events themselves:{" "}
        {users ? "of a visitor, the newest items of each kind of interaction that a feature reads." : "of an item, when each kind of interaction was counted last."}
      </p>
      {all.length === 0 && <p>It has none of this {users ? "visitor" : "item"}: no feature reads them, or nothing happened yet.</p>}
      {all.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-labelledby="newest">
          <table>
            <thead>
              <tr>
                <th scope="col">when</th>
                <th scope="col">what</th>
                {users && <th scope="col">item</th>}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ time, kind, item }, at) => (
                <tr key={at}>
                  <td title={moment(time)}>{ago(time, now)}</td>
                  <td>
                    <bdi>{kind}</bdi>
                    {!users && " counted last"}
                  </td>
                  {users && <td>{item !== null && (has("GET /items/{id}") ? <a href={href("look-up", { kind: "items", id: item, tenant })}>{fields[item]?.title || item}</a> : item)}</td>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {all.length > MOST && <p class="quiet">{whole(all.length - MOST)} older ones not shown; the file has all.</p>}
      {all.length > 0 && (
        <p class="tools">
          <Download name={`events-of-${stored.id}`} rows={() => [["time", "what", "item"], ...all.map(({ time, kind, item }): Cell[] => [moment(time), kind, item])]} />
        </p>
      )}
    </section>
  );
}

/** The newest first; one that several values tell of is there once. */
function events({ values }: Stored): Seen[] {
  const found = new Map<string, Seen>();
  for (const { name, value, time, times } of values) {
    const about = ABOUT.exec(name)?.[1];
    if (!about) continue;
    const kind = [...about.matchAll(/"([^"]*)"/g)].map(([, kind]) => kind).join(" or ");
    const seen: Seen[] = times && Array.isArray(value) ? value.map((item, at) => ({ time: times[at]!, kind, item: String(item) })) : time === null ? [] : [{ time, kind, item: null }];
    for (const one of seen) {
      // of a counter the newest; a list has each
      const key = one.item === null ? kind : `${kind} ${one.item} ${one.time}`;
      if ((found.get(key)?.time ?? -Infinity) < one.time) found.set(key, one);
    }
  }
  const listed = new Set([...found.values()].filter(({ item }) => item !== null).map(({ kind }) => kind));
  return [...found.values()].filter(({ item, kind }) => item !== null || !listed.has(kind)).sort((a, b) => b.time - a.time);
}
