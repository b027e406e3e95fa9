// Why an item stands where it stands: what each feature brings to its score.

import { useMemo } from "preact/hooks";
import { ask, get, has, part, sentence } from "../api";
import { All, broken, type Cell, cell, Download, showsAll, useAnswer, Which } from "../parts";
import { change } from "../route";
import { duration, exact, isMissing, moment, signed, values, whole } from "../text";
import type { ItemFields, ModelFeatures, Scored } from "../types";
import { About, type Column } from "./lists";

const FEW = 12; // features that are shown at first
const REASONS = 3; // of an item's distance from the average
const SEEN = 0.0005; // what is less is shown as nothing

interface Props {
  /** Whether the item was chosen here: it stays in sight then. */
  picked: boolean;
  columns: Column[];
  sent: Column;
  item: string;
  /** Which model is asked. */
  of?: string;
  fields: Record<string, ItemFields>;
  /** Of the request. */
  time: number;
}

export function Why({ picked, columns, sent, item, of, fields, time }: Props) {
  const column = columns.find(({ model }) => model === of) ?? columns[0]!;
  const answer = column.answer!;
  const place = column.items.indexOf(item);
  const before = sent.items.indexOf(item);
  const id = sent.ids[before]!;
  const scored = answer.items[place];
  const same = useMemo(() => alike(answer.items), [answer]);
  const names = useColumns(column.model!, answer.items);
  return (
    <aside class={picked ? "why picked" : "why"} aria-label="Why">
      <h2>Why this place?</h2>
      {columns.length > 1 && <Which label="Model" names={columns.map(({ name }) => name)} chosen={columns.findIndex(({ model }) => model === column.model)} choose={(at) => change({ of: columns[at]!.model! }, true)} />}
      <About item={id} fields={fields[id]} />
      {scored ? (
        <>
          <p>
            Number {whole(place + 1)} of {whole(column.items.length)} by <bdi>{column.name}</bdi>, number {whole(before + 1)} as sent.
          </p>
          {scored.contributions && <Apart scored={scored} items={answer.items} />}
          {scored.contributions ? (
            <Contributions key={`${column.name} ${item}`} scored={scored} time={time} same={same} names={names} />
          ) : (
            <p class="odd-text">There are no reasons to show. {sentence(answer.unexplained ?? answer.fallback ?? "")}</p>
          )}
        </>
      ) : (
        <p>
          <bdi>{column.name}</bdi> leaves this item out.
        </p>
      )}
    </aside>
  );
}

/** How far a score is from the average of its list, and which features bring most of that. */
function Apart({ scored, items }: { scored: Scored; items: Scored[] }) {
  const average = useMemo(() => averages(items), [items]);
  const above = scored.score - average.score;
  const most = scored
    .contributions!.map(({ name, value }) => ({ name, value: value - (average.features.get(name) ?? 0) }))
    .filter(({ value }) => value * above > 0 && Math.abs(value) >= SEEN)
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
    .slice(0, REASONS);
  if (Math.abs(above) < SEEN || most.length === 0) return null;
  return (
    <p>
      Its score is {Math.abs(above).toFixed(3)} {above > 0 ? "above" : "below"} the average of this list. The largest parts of this difference: {most.map(({ name, value }) => `${name} ${signed(value)}`).join(", ")}.
    </p>
  );
}

/** Of a list, the average score, and what each feature brings on average. */
function averages(items: Scored[]) {
  const features = new Map<string, number>();
  for (const { contributions = [] } of items) for (const { name, value } of contributions) features.set(name, (features.get(name) ?? 0) + value / items.length);
  return { score: items.reduce((sum, { score }) => sum + score / items.length, 0), features };
}

/** Features that have one value for all items, such as those of the visitor, or the position that serving takes for each. */
function alike(items: Scored[]): ReadonlySet<string> {
  const [first, ...others] = items.map(({ features = [] }) => new Map(features.map(({ name, value }) => [name, String(value)])));
  return new Set(others.length === 0 ? [] : [...first!].filter(([name, value]) => others.every((other) => other.get(name) === value)).map(([name]) => name));
}

/** Names of the columns of a model's features, where a feature has several. */
function useColumns(model: string, items: Scored[]): ReadonlyMap<string, string[]> {
  const several = items[0]?.features?.some(({ value }) => Array.isArray(value));
  const call = get(`/models/${part(model)}/features`);
  const { data } = useAnswer(several && has("GET /models/{name}/features") ? call.path : "", () => ask<ModelFeatures>(call));
  return useMemo(() => new Map(data?.features.map(({ name, columns }) => [name, columns.map(({ name }) => name)])), [data]);
}

/** How old the newest value was that a feature read, at the time of the request. */
const age = (time: number, stored: number) => (stored > time ? "changed since" : `${duration((time - stored) / 1000)} old`);

interface ContributionsProps {
  scored: Scored;
  time: number;
  /** Features that have one value for all items. */
  same: ReadonlySet<string>;
  /** Of columns, by feature. */
  names: ReadonlyMap<string, string[]>;
}

function Contributions({ scored, time, same, names }: ContributionsProps) {
  const all = showsAll();
  const { score, bias = 0 } = scored;
  const rows = useMemo(() => {
    const known = new Map(scored.features?.map(({ name, value }) => [name, value]));
    return scored.contributions!.map(({ name, value, time }) => ({ name, value, stored: time, of: known.get(name) ?? null })).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  }, [scored]);
  const low = Math.min(0, ...rows.map(({ value }) => value));
  const high = Math.max(0, ...rows.map(({ value }) => value));
  const shown = rows.slice(0, all ? undefined : FEW);
  const rest = rows.slice(shown.length).reduce((sum, { value }) => sum + value, 0);
  const brought = rows.reduce((sum, { value }) => sum + value, 0);
  return (
    <>
      <table class="reasons">
        <caption>What each feature brings to the score, largest first</caption>
        <colgroup>
          <col />
          <col />
          <col />
        </colgroup>
        <thead class="hidden">
          <tr>
            <th scope="col">feature</th>
            <th scope="col">bar</th>
            <th scope="col">brings</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ name, value, of, stored }) => (
            <tr key={name}>
              <th scope="row">
                <span class="of">
                  <span class="name">{broken(name)}</span>
                  <span class={isMissing(of) ? "value missing" : "value"} title={exact(of, names.get(name))}>
                    {isMissing(of) ? "missing" : values(of, names.get(name))}
                  </span>
                  {!isMissing(of) && same.has(name) && <span class="same">the same for all</span>}
                  {!isMissing(of) && stored !== undefined && !Number.isNaN(time) && <span class="age">{age(time, stored)}</span>}
                </span>
              </th>
              <td class="wide">
                <Diverging value={value} low={low} high={high} />
              </td>
              <td class={value < 0 ? "right down" : "right up"}>{signed(value)}</td>
            </tr>
          ))}
          {rest !== 0 && (
            <tr>
              <th scope="row">{rows.length - shown.length} other features</th>
              <td class="wide" />
              <td class="right">{signed(rest)}</td>
            </tr>
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={2} title="What the model scores without knowing any feature: the average of its training data">
              start, the same for every item
            </th>
            <td class="right">{signed(bias)}</td>
          </tr>
          <tr>
            <th scope="row" colSpan={2}>
              <b>score</b>, the exact sum of these
            </th>
            <td class="right">
              <b title={`${bias + brought} as a sum; the answer says ${score}`}>{signed(score)}</b>
            </td>
          </tr>
        </tfoot>
      </table>
      {Math.abs(bias + brought - score) > 1e-6 * Math.max(1, Math.abs(score)) && <p class="odd-text">The parts add up to {bias + brought} instead.</p>}
      <p class="tools">
        {rows.length > FEW && <All more={`Show all ${rows.length} features`} />}
        <Download
          name={`why-${scored.item}`}
          rows={() => [
            ["feature", "value", "stored", "contribution"],
            ...rows.map(({ name, value, of, stored }): Cell[] => [name, isMissing(of) ? null : cell(of), stored === undefined ? null : moment(stored), value]),
            ["bias", null, null, bias],
            ["score", null, null, score],
          ]}
        />
      </p>
    </>
  );
}

/** To the right of zero for what raises a score, to the left for what lowers it. */
function Diverging({ value, low, high }: { value: number; low: number; high: number }) {
  const percent = (part: number) => `${(100 * part) / (high - low || 1)}%`;
  return (
    <span class={value < 0 ? "diverging down" : "diverging up"} aria-hidden="true">
      <i style={{ left: percent(-low) }} />
      <span style={{ left: percent(Math.min(0, value) - low), width: percent(Math.abs(value)) }} />
    </span>
  );
}
