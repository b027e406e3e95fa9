// A request, as sent and as models order it, and why.

import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, type Call, Failure, get, has, itemFields, part, post } from "../api";
import { type Cell, Curl, Download, Loading, Problem, useAnswer } from "../parts";
import { change, packed, route, unpacked } from "../route";
import { RANKS } from "../text";
import type { ItemFields, RankAnswer, RankRequest, Sampled, Status } from "../types";
import { Chooser } from "./chooser";
import { type Column, Lists } from "./lists";
import { Summary } from "./summary";
import { Why } from "./why";

/** A request of the sample, which the service keeps with the visitor's real ids, or one that was written here. */
export interface Chosen {
  number: number | null;
  request: RankRequest;
}

export const call = ({ number, request }: Chosen, model: string): Call =>
  number === null
    ? post(`/rank/${part(model)}?explain=contributions`, request)
    : post(`/requests/${number}/rank/${part(model)}?explain=contributions`);

const NONE: Record<string, ItemFields> = {};
const NOTHING: ReadonlySet<string> = new Set();

export function Try() {
  const { params } = route.value;
  const status = useAnswer("status", () => ask<Status>(get("/status")));
  const sample = useAnswer(has("GET /requests") ? "requests" : "", () => ask<{ requests: Sampled[] }>(get("/requests")).then(({ requests }) => requests));
  const models = Object.entries(status.data?.models ?? {}).filter(([, { type }]) => RANKS.includes(type)).map(([name]) => name);
  const chosen = useChosen(sample.data, sample.loading);

  const first = models.includes(params.model ?? "") ? params.model! : (models[0] ?? "");
  const other = params.other === undefined ? (models.find((name) => name !== first) ?? "") : models.includes(params.other) ? params.other : "";
  const known = chosen.data;
  const key = known ? `${known.number} ${params.written ?? ""}` : "";
  const rank = (model: string) => () => ask<RankAnswer>(call(known!, model));
  const one = useAnswer(key && first && `${key} ${first}`, rank(first));
  const two = useAnswer(key && other && `${key} ${other}`, rank(other));

  const sent = useMemo(() => known?.request.items.map(({ id }) => id) ?? [], [known]);
  const fields = useAnswer(sent.length ? `items ${key}` : "", () => itemFields(sent));
  const columns = useMemo<Column[]>(() => {
    const column = (model: string, answer: RankAnswer | null) => (answer ? [{ name: model, model, items: answer.items.map(({ item }) => item), answer }] : []);
    return [{ name: "As sent", model: null, items: sent, answer: null }, ...column(first, one.data), ...column(other, two.data)];
  }, [sent, first, other, one.data, two.data]);
  const chose = sample.data?.find(({ number }) => number === known?.number)?.relevant;
  const relevant = useMemo(() => (chose ? new Set(chose) : NOTHING), [chose]);
  const orders = columns.slice(1);
  const item = params.item && orders.some(({ items }) => items.includes(params.item!)) ? params.item : orders[0]?.items[0];
  const pick = (id: string, model?: string | null) => change({ item: id, ...(model ? { of: model } : {}) }, true);

  return (
    <>
      <h1>Try a ranking</h1>
      {status.error && <Problem error={status.error} />}
      {status.data && models.length === 0 && <p class="note odd">The configuration has no model that orders lists.</p>}
      {models.length > 0 && (
        <>
          <Chooser sample={sample} chosen={known} models={models} first={first} other={other} status={status.data!} />
          {chosen.error && <Problem error={chosen.error} />}
          {[one, two].map(({ error }, at) => error && <Problem key={at} error={error} />)}
          {(chosen.loading || one.loading) && !one.data && <Loading />}
          {known && orders.length > 0 && (
            <>
              <Summary columns={columns} />
              <p class="quiet">▲ and ▼ are places up and down from the order as sent.{chose && " ★ is what the visitor chose."} Choose an item, with the arrow keys as well, to see why it stands where it stands.</p>
              <div class="try">
                <Lists columns={columns} fields={fields.data ?? NONE} relevant={relevant} selected={item} pick={pick} />
                {item && <Why columns={orders} sent={sent} item={item} of={params.of} fields={fields.data ?? NONE} time={Number(known.request.timestamp)} />}
              </div>
              <p class="tools">
                {orders.map(({ name }) => (
                  <Curl key={name} call={call(known, name)} label={`Copy as curl: ${name}`} />
                ))}
                <Download name="ranking" rows={() => table(columns)} json={() => Object.fromEntries(orders.map(({ name, answer }) => [name, answer]))} />
              </p>
            </>
          )}
        </>
      )}
    </>
  );
}

/** What the address names; without a name the newest request of the sample. */
function useChosen(sample: Sampled[] | null, waits: boolean) {
  const { request, written } = route.value.params;
  const [text, read] = useState<{ of: string; request: RankRequest | null; error: Failure | null } | null>(null);
  useEffect(() => {
    if (!written) return;
    let wanted = true;
    unpacked(written)
      .then((text) => wanted && read({ of: written, request: JSON.parse(text), error: null }))
      .catch(() => wanted && read({ of: written, request: null, error: new Failure(0, "The request in this address is damaged. Choose another one.") }));
    return () => {
      wanted = false;
    };
  }, [written]);
  return useMemo(() => {
    if (written) {
      const here = text?.of === written ? text : null;
      return { data: here?.request ? { number: null, request: here.request } : null, error: here?.error ?? null, loading: here === null };
    }
    const found = request ? sample?.find(({ number }) => String(number) === request) : sample?.[0];
    const gone = request && sample && !found ? new Failure(0, `Request ${request} is no longer kept. Choose another one.`) : null;
    return { data: found ? { number: found.number, request: found.request } : null, error: gone, loading: waits && !sample };
  }, [request, written, text, sample, waits]);
}

/** Shows a request that was written. */
export async function show(request: unknown) {
  change({ written: await packed(JSON.stringify(request)), request: undefined, item: undefined });
}

function table(columns: Column[]): Cell[][] {
  const [sent, ...orders] = columns;
  const scores = orders.map(({ answer }) => new Map(answer!.items.map(({ item, score }, place) => [item, { score, place: place + 1 }])));
  return [
    ["item", "as sent", ...orders.flatMap(({ name }) => [name, `score of ${name}`])],
    ...sent!.items.map((item, place) => [item, place + 1, ...scores.flatMap((of) => [of.get(item)?.place, of.get(item)?.score])]),
  ];
}
