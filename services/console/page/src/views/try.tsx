// A request, as sent and as models order it, and why.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, get, has, page } from "../api";
import { type Cell, Curl, Download, Loading, Problem, useAnswer, useFields } from "../parts";
import { apart, places } from "../order";
import { change, route } from "../route";
import { millis, ordersLists } from "../text";
import type { RankAnswer, Sampled, Status } from "../types";
import { Chooser } from "./chooser";
import { call, type Chosen, isGone, useChosen } from "./chosen";
import { type Column, Lists } from "./lists";
import { Summary } from "./summary";
import { Why } from "./why";

const NOTHING: ReadonlySet<string> = new Set();
const AGAIN = 5000; // milliseconds between two looks for a first request

/** What is on the screen: a request and its orders belong together. */
interface Shown {
  chosen: Chosen | null;
  columns: Column[];
}

export function Try() {
  const { params } = route.value;
  const status = useAnswer("status", () => ask<Status>(get("/status")));
  const [round, again] = useState(0);
  const look = () => again((round) => round + 1);
  const sample = useAnswer(has("GET /requests") ? "requests" : "", () => ask<{ requests: Sampled[] }>(get("/requests")).then(({ requests }) => requests), round);
  const models = Object.entries(status.data?.models ?? {}).filter(([, model]) => ordersLists(model)).map(([name]) => name);
  const chosen = useChosen(sample.data, sample.loading);
  useFirst(Boolean(page.value?.sample) && sample.data?.length === 0 && !params.written, round, look);

  const first = models.includes(params.model ?? "") ? params.model! : (models[0] ?? "");
  const named = params.other === undefined ? models.find((name) => name !== first) : models.find((name) => name === params.other);
  const other = named === undefined || named === first ? "" : named;
  const known = chosen.data;
  const rank = (model: string) => () => ask<RankAnswer>(call(known!, model));
  const one = useAnswer(known && first ? `${known.key} ${first}` : "", rank(first));
  const two = useAnswer(known && other ? `${known.key} ${other}` : "", rank(other));
  // the sample, asked once more, says whether the request itself is there no longer: a copy takes its place then
  const [looked, setLooked] = useState<number | null>(null);
  const missing = known?.number != null && [one, two].some(({ error }) => error?.status === 404);
  const gone = missing && (looked !== known!.number || sample.loading);
  useEffect(() => {
    if (!missing || looked === known!.number) return;
    setLooked(known!.number);
    look();
  }, [missing, looked, known]);

  const sent = useMemo(() => known?.request.items.map(({ id }) => id) ?? [], [known]);
  const fields = useFields(sent, known?.request.tenant);
  const columns = useMemo<Column[]>(() => {
    const column = (model: string, answer: RankAnswer | null) => (answer ? [{ name: model, model, ...listed(answer.items.map(({ item }) => item)), answer }] : []);
    return [{ name: "As sent", model: null, ...listed(sent), answer: null }, ...column(first, one.data), ...column(other, two.data)];
  }, [sent, first, other, one.data, two.data]);
  const asks = chosen.loading || (known !== null && (one.loading || two.loading || gone));
  const shown = useShown({ chosen: known, columns }, asks);
  const { sampled } = shown.chosen ?? { sampled: null };
  const relevant = useMemo(() => (sampled?.relevant ? new Set(sampled.relevant) : NOTHING), [sampled]);
  const orders = shown.columns.slice(1);
  const picked = params.item && orders.some(({ items }) => items.includes(params.item!)) ? params.item : undefined;
  const item = picked ?? (orders[0] && striking(shown.columns[0]!, orders[0], relevant));
  const pick = (item: string, model?: string | null) => change({ item, ...(model ? { of: model } : {}) }, true);

  return (
    <>
      <h1>Try a ranking</h1>
      {status.error && <Problem error={status.error} />}
      {status.data && models.length === 0 && <p class="note odd">The configuration has no model that orders lists.</p>}
      {models.length > 0 && (
        <>
          <Chooser sample={sample} chosen={known} models={models} first={first} other={other} status={status.data!} look={look} />
          {chosen.error && <Problem error={chosen.error} />}
          {known && isGone(known) && (
            <p class="note odd" role="status">
              The service no longer keeps this request: newer ones took its place. This is a copy of it{page.value?.showIds ? "." : ", which goes without its visitor."}
            </p>
          )}
          {params.evaluated && <Evaluated model={first} status={status.data!} version={params.evaluated} />}
          {!gone && [one, two].map(({ error }, at) => error && <Problem key={at} error={error} />)}
          {asks && orders.length === 0 && <Loading />}
          {shown.chosen && orders.length > 0 && (
            <div class={asks ? "asks" : undefined} aria-busy={asks}>
              <Summary columns={shown.columns} />
              <p class="quiet">▲ and ▼ are places up and down from the order as sent.{sampled?.relevant && " ★ is what the visitor chose."} Choose an item, with the arrow keys as well, to see why it stands where it stands.</p>
              <div class="try">
                <Lists columns={shown.columns} fields={fields} relevant={relevant} selected={item} pick={pick} />
                {item && <Why picked={picked !== undefined} columns={orders} sent={shown.columns[0]!} item={item} of={params.of} fields={fields} time={millis(shown.chosen.request.timestamp)} />}
              </div>
              <p class="tools">
                {orders.map(({ name }) => (
                  <Curl key={name} call={call(shown.chosen!, name)} label={`Copy as curl: ${name}`} />
                ))}
                <Download name="ranking" rows={() => table(shown.columns)} json={() => Object.fromEntries(orders.map(({ name, answer }) => [name, answer]))} />
              </p>
            </div>
          )}
        </>
      )}
    </>
  );
}

const listed = (ids: string[]) => ({ ids, items: apart(ids) });

/** The item that tells most of an order: the first one that the visitor chose, else the first one that has risen. */
function striking(sent: Column, { ids, items }: Column, relevant: ReadonlySet<string>): string | undefined {
  const before = places(sent.items);
  return items.find((_, place) => relevant.has(ids[place]!)) ?? items.find((item, place) => before.get(item)! > place) ?? items[0];
}

/** What was there stays, under its own names, until all that is asked for has come. */
function useShown(next: Shown, asks: boolean): Shown {
  const last = useRef<Shown | null>(null);
  if (!asks) last.current = next;
  return (asks && last.current) || next;
}

/** Looks for a first request until there is one, but for the time in which one is being written. */
function useFirst(missing: boolean, round: number, look: () => void) {
  useEffect(() => {
    if (!missing) return;
    const timer = setInterval(() => document.hidden || document.querySelector<HTMLTextAreaElement>("textarea[name=written]")?.value || look(), AGAIN);
    return () => clearInterval(timer);
  }, [missing, round]);
}

/** A worst list is ordered by the version that answers now. */
function Evaluated({ model, status, version }: { model: string; status: Status; version: string }) {
  const serving = status.models[model]?.version;
  if (!serving || serving === version) return null;
  return (
    <p class="note odd">
      Ordered by version <code>{serving}</code>, which answers now. The evaluation took version <code>{version}</code>, which may have ordered this list in another way.
    </p>
  );
}

function table(columns: Column[]): Cell[][] {
  const [sent, ...orders] = columns;
  const scores = orders.map(({ items, answer }) => new Map(items.map((item, place) => [item, { score: answer!.items[place]!.score, place: place + 1 }])));
  return [
    ["item", "as sent", ...orders.flatMap(({ name }) => [name, `score of ${name}`])],
    ...sent!.items.map((item, place) => [sent!.ids[place], place + 1, ...scores.flatMap((of) => [of.get(item)?.place, of.get(item)?.score])]),
  ];
}
