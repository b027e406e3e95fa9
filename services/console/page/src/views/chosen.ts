// The request that is looked at: one of the sample, a copy of one that the service keeps no longer, or one that was written here.

import { useEffect, useMemo, useState } from "preact/hooks";
import { type Call, Failure, keep, kept, part, post } from "../api";
import { change, packed, route, unpacked } from "../route";
import type { RankRequest, Sampled } from "../types";

export interface Chosen {
  /** Of a request of the sample, which the service ranks with the visitor's real ids. */
  number: number | null;
  request: RankRequest;
  /** As the sample had it. */
  sampled: Sampled | null;
  /** Names what is ranked. */
  key: string;
}

export const call = ({ number, request }: Chosen, model: string): Call =>
  number === null
    ? post(`/rank/${part(model)}?explain=contributions`, request)
    : post(`/requests/${number}/rank/${part(model)}?explain=contributions`);

/** Whether the service keeps it no longer. */
export const isGone = ({ number, sampled }: Chosen) => number === null && sampled !== null;

function remembered(number: string): Sampled | null {
  const found = JSON.parse(kept() ?? "null") as Sampled | null;
  return found && String(found.number) === number ? found : null;
}

/** What the address names; without a name the newest request of the sample. */
export function useChosen(sample: Sampled[] | null, waits: boolean) {
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
  const chosen = useMemo(() => {
    if (written) {
      const here = text?.of === written ? text : null;
      return { data: here?.request ? { number: null, request: here.request, sampled: null, key: written } : null, error: here?.error ?? null, loading: here === null };
    }
    const found = request ? sample?.find(({ number }) => String(number) === request) : sample?.[0];
    if (found) return { data: { number: found.number, request: found.request, sampled: found, key: String(found.number) }, error: null, loading: false };
    const copy = request && sample ? remembered(request) : null;
    if (copy) return { data: { number: null, request: copy.request, sampled: copy, key: `copy of ${copy.number}` }, error: null, loading: false };
    const gone = request && sample ? new Failure(0, "The service no longer keeps the request of this address. Choose another one.") : null;
    return { data: null, error: gone, loading: waits && !sample };
  }, [request, written, text, sample, waits]);
  const sampled = chosen.data?.number != null ? chosen.data.sampled : null;
  useEffect(() => {
    if (!sampled) return;
    keep(JSON.stringify(sampled));
    // newer ones come: a reload shows this one
    if (!request) change({ request: String(sampled.number) }, true);
  }, [sampled, request]);
  return chosen as { data: Chosen | null; error: Failure | null; loading: boolean };
}

/** Shows a request that was written. */
export async function show(request: unknown) {
  change({ written: await packed(JSON.stringify(request)), request: undefined, item: undefined, evaluated: undefined });
}
