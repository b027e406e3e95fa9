// What is wrong with a service, in full sentences: what it is, and what to do.

import { sentence } from "../api";
import { bytes, count, duration, whole } from "../text";
import type { Status } from "../types";

export interface Finding {
  /** Whether answers suffer. */
  bad: boolean;
  text: string;
}

const LATE = 60; // seconds
const UNKNOWN = 0.05; // share of interactions
const SOON = 7; // days
/** A writer of events that come in requests: rankings wait for none that is silent. */
const OF_REQUESTS = /^feedback:\S+$/;
/** What a writer reads: it has the name of that, unless a partition is dealt out to several. */
const partition = (writer: string) => writer.replace(/^feedback:(.*) \S+$/, "$1");

export function findings(status: Status, now: number): Finding[] {
  const found: Finding[] = [];
  const bad = (text: string) => found.push({ bad: true, text });
  const odd = (text: string) => found.push({ bad: false, text });
  if (status.unready) bad(`The service is not ready. ${sentence(status.unready)}`);
  const { store, ingest, stream, size } = status;
  if (store.problem) bad(`The store of feature values has a problem. ${sentence(store.problem)}`);
  else if (!store.answers) bad("The store of feature values does not answer. Lists keep the order in which they are sent.");
  if (store.emptied) bad("The store of feature values was emptied while this process ran. Import the events again.");
  for (const [name, model] of Object.entries(status.models)) {
    if (model.state === "missing") bad(`The model ${name} gives no answers of its own. ${sentence(model.reason ?? "It has no version.")}`);
    if (model.refused) bad(`Version ${model.refused.version} of the model ${name} should answer, and does not. ${sentence(model.refused.reason)}`);
    if (model.lost) bad(`The version of the model ${name} is in memory alone: where versions are kept, none is left. Train it again.`);
  }
  if (ingest?.problem) bad(`Click-throughs cannot be stored. ${sentence(ingest.problem)}`);
  for (const [name, partition] of Object.entries(stream?.partitions ?? {})) {
    const { lagSeconds, lagEvents, unreadable } = partition;
    if (lagSeconds !== null && lagSeconds > LATE)
      bad(`Events of ${name} arrive ${duration(lagSeconds)} late${lagEvents === null ? "" : `: ${count(lagEvents, "event")} wait to be read`}.`);
    if (unreadable > 0) odd(`${count(unreadable, "message")} of ${name} could not be read as an event.`);
  }
  for (const { writer, watermark, ended, seen } of status.writers ?? []) {
    if (ended || OF_REQUESTS.test(writer)) continue;
    const age = (time: string) => (now - Date.parse(time)) / 1000;
    // partitions of this process are told above, and an import reads what is old
    const follows = !writer.startsWith("import ") && !stream?.partitions[partition(writer)];
    if (age(seen) > LATE) bad(`The writer ${writer} was last seen ${duration(age(seen))} ago. Rankings stay open until it goes on.`);
    else if (follows && watermark && age(watermark) > LATE) bad(`The writer ${writer} is ${duration(age(watermark))} behind: newer events wait to be read.`);
  }
  const unknown = ingest?.unknownRankings;
  if (unknown && (unknown.share ?? 0) > UNKNOWN)
    odd(
      `${count(unknown.interactions, "interaction")} (${whole((unknown.share ?? 0) * 100)} %) name a ranking that the service has not seen` +
        `${unknown.examples?.length ? `, such as ${unknown.examples.join(" and ")}` : ""}. Check the ids that the shop sends.`,
    );
  if (ingest?.evictedRankings) odd(`${count(ingest.evictedRankings, "ranking")} closed early, because too many were open.`);
  if (size?.problem) odd(`The size of the state is not known. ${sentence(size.problem)}`);
  const forecast = size?.forecast;
  if (forecast?.fullInDays != null && forecast.fullInDays < SOON)
    bad(`The store is full in about ${count(Math.max(0, Math.floor(forecast.fullInDays)), "day")}: it grows by ${bytes(forecast.bytesPerDay ?? 0)} a day.`);
  return found;
}
