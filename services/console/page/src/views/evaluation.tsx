// How well models order lists that visitors saw, and how that went from version to version.

import { useEffect, useState } from "preact/hooks";
import { ask, get, has, post, sentence } from "../api";
import { Curl, failure, Loading, Problem, useAnswer, useNow } from "../parts";
import { change, route } from "../route";
import { ago, count, duration, ordersLists } from "../text";
import type { Compared, Evaluations, Model, Status } from "../types";
import { History } from "./history";
import { ReportOf } from "./report";

const AGAIN = 1000; // milliseconds between two looks at one that runs
const AFTER_ERROR = 10_000;
const VERSIONS = 5; // of a model that are compared, the newest

export function Evaluation() {
  const { params } = route.value;
  const [round, again] = useState(0);
  const status = useAnswer("status", () => ask<Status>(get("/status")));
  const { data, error } = useAnswer("evaluation", () => ask<Evaluations>(get("/evaluation")), round);
  const models = useAnswer(has("GET /models") ? "models" : "", () => ask<{ models: Model[] }>(get("/models")), data?.last?.ended).data?.models ?? [];
  const [refused, refuse] = useState<ReturnType<typeof failure> | null>(null);
  const running = data?.running;
  useEffect(() => {
    if (!running && !error) return;
    const timer = setTimeout(() => again((round) => round + 1), error ? AFTER_ERROR : AGAIN);
    return () => clearTimeout(timer);
  }, [data, error]);

  const trained = models.filter(({ purpose, versions }) => purpose === "learnedOrder" && versions.length > 0);
  const several = trained.filter(({ versions }) => versions.length > 1);
  const ranks = Object.values(status.data?.models ?? {}).some(ordersLists);
  const call = post("/evaluation", compared(several, params.compare, params.by));
  const begin = (by: string) =>
    ask<Evaluations>(post("/evaluation", compared(several, params.compare, by))).then(
      () => (refuse(null), again((round) => round + 1)),
      (error) => refuse(failure(error)),
    );
  const last = data?.last;
  return (
    <>
      <h1>Evaluation</h1>
      <p class="quiet">How well models order lists that visitors saw: whether what they chose stands at the top. 1 is perfect. The lists are the newest ones, which a training leaves out for this.</p>
      {error && <Problem error={error} />}
      {!data && !error && <Loading />}
      {data?.unavailable && <p class="note odd">There is nothing to compare here. {sentence(data.unavailable)}</p>}
      {data && !data.unavailable && (
        <section class="chooser" aria-label="What to compare">
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault();
              // the address does not have yet what was just written
              void begin(String(new FormData(event.currentTarget).get("by") ?? "").trim());
            }}
          >
            <label>
              Compare
              <select name="compare" value={params.compare ?? ""} onChange={({ currentTarget: { value } }) => change({ compare: value })}>
                <option value="">all models, as they answer now</option>
                {several.map(({ name, versions }) => (
                  <option key={name} value={name}>
                    the newest {Math.min(VERSIONS, versions.length)} versions of {name}
                  </option>
                ))}
              </select>
            </label>
            <label class="grow">
              Break down by a field of requests, such as category (optional)
              <input key={params.by} name="by" defaultValue={params.by ?? ""} onChange={({ currentTarget: { value } }) => change({ by: value.trim() })} />
            </label>
            <button type="submit" class="main" disabled={running != null}>
              Evaluate
            </button>
          </form>
          {refused && <Problem error={refused} />}
          {running && <Runs rankings={running.rankings} began={running.began} />}
          {!running && !last && (
            <p>
              {trained.length > 0 || !ranks
                ? "Nothing was evaluated since the service was started. It runs in the background, and takes only time that requests leave."
                : "No model is trained yet: train one on the overview first."}
            </p>
          )}
        </section>
      )}
      {last?.problem && <p class="note bad">There is no report. {sentence(last.problem)}</p>}
      {last?.report && <Ended {...last} />}
      {last?.report && <ReportOf report={last.report} ended={last.ended} />}
      <History models={trained} />
      {data && (
        <p class="tools">
          <Curl call={get("/evaluation")} label="Copy as curl: the report" />
          {!data.unavailable && <Curl call={call} label="Copy as curl: begin one" />}
        </p>
      )}
    </>
  );
}

/** What is asked for. */
function compared(models: Model[], name?: string, by?: string): Compared {
  const versions = models.find((model) => model.name === name)?.versions ?? [];
  const newest = versions.slice(-VERSIONS).map(({ version }) => `${name}@${version}`);
  return { models: newest, by: by || null };
}

function Runs({ rankings, began }: { rankings: number; began: number }) {
  const now = useNow(AGAIN);
  return (
    <p class="note" role="status">
      {rankings === 0 ? "Begins to read click-throughs" : `Reads and compares: ${count(rankings, "ranking")} so far`}, for {duration(Math.max(0, now - began) / 1000)} now.
    </p>
  );
}

function Ended({ ended, began, compared: { models, by } }: { ended: number; began: number; compared: Compared }) {
  const now = useNow();
  return (
    <p class="quiet">
      Evaluated {ago(ended, now)}, in {duration((ended - began) / 1000)}: {models.length ? models.join(", ") : "all models, as they answered then"}{by && `; broken down by ${by}`}. The service keeps this report until it stops.
    </p>
  );
}
