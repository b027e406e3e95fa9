// The service at a glance: what is wrong, its models, what comes in, what it holds.

import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { ask, get, has, part, post, sentence } from "../api";
import { All, Bar, broken, Curl, Download, failure, Loading, Problem, showsAll, useAnswer, useNow } from "../parts";
import { href } from "../route";
import { ago, bytes, count, duration, moment, number, ordersLists, purpose, whole } from "../text";
import type { Model, ModelStatus, Status, Task, TrainAnswer } from "../types";
import { findings } from "./problems";

const EVERY = 5000; // milliseconds
const SELDOM = 12; // as many times, versions are looked at again: a gate may have refused one

interface Training {
  began: number;
  /** What came of it; null while it runs. */
  said: { bad: boolean; text: string } | null;
}

/** Trainings that this page has begun; they outlive the view. */
const trainings: Record<string, Training> = {};

export function Overview() {
  const [round, next] = useState(0);
  const status = useAnswer("status", () => ask<Status>(get("/status")), round);
  const kept = useAnswer(has("GET /models") ? "models" : "", () => ask<{ models: Model[] }>(get("/models")), `${status.data && versions(status.data)} ${Math.floor(round / SELDOM)}`);
  const changes = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || next((round) => round + 1), EVERY);
    return () => clearInterval(timer);
  }, []);

  const train = async (name: string) => {
    const training: Training = { began: Date.now(), said: null };
    trainings[name] = training;
    changes.value++;
    try {
      const { warnings = [] } = await ask<TrainAnswer>(post(`/train/${part(name)}`));
      const took = duration((Date.now() - training.began) / 1000);
      training.said = { bad: warnings.length > 0, text: [`Trained in ${took}.`, ...warnings.map(sentence)].join(" ") };
    } catch (error) {
      training.said = { bad: true, text: failure(error).message };
    }
    changes.value++;
    next((round) => round + 1);
  };

  const data = status.data;
  return (
    <>
      <h1>Overview</h1>
      {status.error && <Problem error={status.error}>The page asks again every few seconds.</Problem>}
      {!data && !status.error && <Loading />}
      {data && (
        <>
          <State status={data} />
          <UnderWay status={data} />
          {data.phase === "waiting" ? <p>The rest is shown here when it is ready.</p> : <Parts status={data} kept={kept.data?.models ?? []} train={train} changes={changes.value} />}
          <p class="tools">
            <Curl call={get("/status")} />
            <Download name="status" json={() => data} />
          </p>
        </>
      )}
    </>
  );
}

/** Imports, and trainings of models that have no card yet. */
function UnderWay({ status: { work = [], models } }: { status: Status }) {
  const now = useNow();
  const shown = work.filter(({ model }) => model === null || !models[model]);
  return (
    <>
      {shown.map(({ kind, model, began, events }) => (
        <p key={`${kind} ${model} ${began}`} role="status">
          {kind === "import" ? "Importing events" : <>Training <bdi>{model}</bdi></>} for {duration((now - began) / 1000)}
          {events ? `, ${count(events, "event")} so far` : ""}…
        </p>
      ))}
    </>
  );
}

type PartsProps = { status: Status; kept: Model[]; train: (name: string) => void; changes: number };

const Parts = (props: PartsProps) => (
  <>
    <Models {...props} />
    <div class="columns">
      <Events status={props.status} />
      <Store status={props.status} />
    </div>
    <Room status={props.status} />
  </>
);

const versions = (status: Status) => Object.values(status.models).map((model) => `${model.version} ${model.versions?.length}`).join();

function State({ status }: { status: Status }) {
  const found = findings(status, Date.now());
  const up = `The service has been up for ${duration(status.uptimeSeconds)}.`;
  if (found.length === 0) return <p class="note good">Everything works. {up}</p>;
  return (
    <section class={`note ${found.some(({ bad }) => bad) ? "bad" : "odd"}`} aria-labelledby="problems">
      <h2 id="problems">{count(found.length, "open problem")}</h2>
      <ul>
        {found.map(({ text }) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      <small>{up}</small>
    </section>
  );
}

function Models({ status, kept, train, changes }: PartsProps) {
  const now = useNow();
  const models = Object.entries(status.models);
  return (
    <section aria-labelledby="models" data-changes={changes}>
      <h2 id="models">Models</h2>
      {models.length === 0 && <p>The configuration has no models. Add one under "models", and train it.</p>}
      <div class="cards">
        {models.map(([name, model]) => (
          <ModelCard key={name} name={name} model={model} task={status.work?.find((task) => task.model === name)} kept={kept.find((kept) => kept.name === name)} now={now} train={() => train(name)} />
        ))}
      </div>
    </section>
  );
}

function ModelCard({ name, model, task, kept, now, train }: { name: string; model: ModelStatus; task?: Task; kept?: Model; now: number; train: () => void }) {
  const training = trainings[name];
  // begun here, or by another client
  const began = training?.said === null ? training.began : task?.began;
  const trained = model.trainedAt ? Date.parse(model.trainedAt) : null;
  const known = kept?.versions.find(({ version }) => version === model.version);
  const ranks = ordersLists(model);
  const learns = model.purpose !== "order";
  return (
    <article class="card">
      <h3>
        <bdi>{name}</bdi> <small>{purpose(model.type)}</small>
      </h3>
      {model.state === "missing" ? (
        <p class="odd-text">{learns ? "Not trained yet. " : ""}{sentence(model.reason ?? "")}</p>
      ) : (
        <>
          {Object.entries(model.metrics ?? {}).map(([metric, value]) => (
            <p class="figure" key={metric}>
              <b>{value === null ? "not known" : value.toFixed(3)}</b> {metric} <small>{METRICS[metric.split("@")[0]!]}</small>
            </p>
          ))}
          {trained && <p title={moment(trained)}>trained {ago(trained, now)}</p>}
        </>
      )}
      {model.version && (
        <p class="quiet">
          version <code>{model.version}</code>
          {model.versions && model.versions.length > 1 && `, ${count(model.versions.length, "version")} kept`}
        </p>
      )}
      {known?.data && <p class="quiet">learned from {count(known.data.rankings, "list")}</p>}
      {known?.gate && <p class="quiet">taken by its gate: {known.gate.message}</p>}
      {kept?.refused && (
        <p class="odd-text" title={moment(kept.refused.trained)}>
          The gate refused the version that was trained {ago(kept.refused.trained, now)}: {kept.refused.message}
        </p>
      )}
      {kept?.pinned && <p class="quiet">the configuration names this version, so newer ones wait</p>}
      {began !== undefined && <p role="status">Training for {duration((now - began) / 1000)}…</p>}
      {began === undefined && training?.said && (
        <p role="status" class={training.said.bad ? "odd-text" : "good-text"}>
          {training.said.text}
        </p>
      )}
      <p class="tools">
        {ranks ? <a href={href("try", { model: name })}>Try it</a> : has("POST /recommend/{model}") && <a href={href("recommend", { model: name })}>Try it</a>}
        {kept && kept.versions.length > 0 && <a href={href("models", { model: name })}>Versions</a>}
        {learns && has("POST /train/{model}") && (
          <button type="button" onClick={train} disabled={began !== undefined}>
            Train
          </button>
        )}
      </p>
    </article>
  );
}

const METRICS: Record<string, string> = {
  NDCG: "how good its order of the test lists is; 1 is perfect",
  MRR: "how high the first item stands that visitors wanted; 1 is perfect",
  MAP: "how high the items stand that visitors wanted; 1 is perfect",
  HIT: "share of visitors whose next item it recommends",
  RECALL: "share of the nearest items that its fast search finds",
};

const KINDS = [
  ["item", "item"],
  ["user", "visitor"],
  ["ranking", "ranking"],
  ["interaction", "interaction"],
] as const;

function Events({ status }: { status: Status }) {
  const { ingest, stream, writers = [] } = status;
  const now = useNow();
  const partitions = Object.entries(stream?.partitions ?? {});
  return (
    <section aria-labelledby="events">
      <h2 id="events">Events</h2>
      {!ingest && <p>This process takes in no events; ingest workers do. It does not see imports and trainings of other processes, such as those of training jobs.</p>}
      {ingest && (
        <dl>
          <dt>taken in since the start, without imports</dt>
          <dd>
            {KINDS.filter(([kind]) => ingest.events[kind])
              .map(([kind, one]) => count(ingest.events[kind]!, one))
              .join(", ") || "none"}
          </dd>
          <dt>rankings that wait for clicks</dt>
          <dd>{whole(ingest.openRankings)}</dd>
          <dt>click-throughs written since the start</dt>
          <dd>{whole(ingest.clickthroughs)}</dd>
          <dt>click-throughs on their way</dt>
          <dd>{whole(ingest.outbox)}</dd>
        </dl>
      )}
      {partitions.length > 0 && (
        <table>
          <caption>How far the stream is read</caption>
          <thead>
            <tr>
              <th scope="col">partition</th>
              <th scope="col" class="right">behind, events</th>
              <th scope="col" class="right">behind, time</th>
            </tr>
          </thead>
          <tbody>
            {partitions.map(([name, { lagEvents, lagSeconds }]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="right">{lagEvents === null ? "not known yet" : whole(lagEvents)}</td>
                <td class="right">{lagSeconds === null ? "not known yet" : duration(lagSeconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {writers.length > 0 && (
        <table>
          <caption>How far all processes have come that write to this store</caption>
          <thead>
            <tr>
              <th scope="col">writer</th>
              <th scope="col" class="right">newest event</th>
              <th scope="col" class="right">last seen</th>
            </tr>
          </thead>
          <tbody>
            {writers.map(({ writer, watermark, ended, seen }) => (
              <tr key={writer}>
                <th scope="row">
                  <bdi>{writer}</bdi>
                </th>
                <td class="right" title={watermark ?? ""}>{ended ? "read to its end" : watermark ? ago(Date.parse(watermark), now) : "none yet"}</td>
                <td class="right" title={seen}>{ago(Date.parse(seen), now)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

const STORES: Record<string, string> = { memory: "in memory", file: "in a folder", redis: "in Redis" };

function Store({ status: { store, size } }: { status: Status }) {
  const forecast = size?.forecast;
  return (
    <section aria-labelledby="store">
      <h2 id="store">Store of feature values</h2>
      <dl>
        <dt>where</dt>
        <dd>
          {STORES[store.type] ?? store.type}
          {store.durable !== false ? "" : ": it is gone when the process ends"}
        </dd>
        <dt>answers</dt>
        <dd>{store.answers ? "yes" : "no"}</dd>
        {store.entities != null && (
          <>
            <dt>items, visitors and others</dt>
            <dd>{whole(store.entities)}</dd>
          </>
        )}
        {size?.bytes != null && (
          <>
            <dt>size</dt>
            <dd>about {bytes(size.bytes)}</dd>
          </>
        )}
        {forecast?.bytesPerDay != null && (
          <>
            <dt>grows by</dt>
            <dd>
              {bytes(forecast.bytesPerDay)} a day{forecast.fullInDays == null ? "" : `, full in ${number(forecast.fullInDays)} days`}
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

function Room({ status: { size } }: { status: Status }) {
  const features = Object.entries(size?.features ?? {}).sort(([, a], [, b]) => b.bytes - a.bytes);
  const all = showsAll();
  if (features.length === 0) return null;
  const most = features[0]![1].bytes || 1;
  return (
    <section aria-labelledby="room">
      <h2 id="room">Memory by feature</h2>
      <table class="room">
        <thead>
          <tr>
            <th scope="col">feature</th>
            <th scope="col" class="right">values</th>
            <th scope="col" class="right">size</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {features.slice(0, all ? undefined : 8).map(([name, { bytes: size, values }]) => (
            <tr key={name}>
              <th scope="row">{broken(name)}</th>
              <td class="right">{whole(values)}</td>
              <td class="right">{bytes(size)}</td>
              <td class="wide">
                <Bar share={size / most} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="tools">
        {features.length > 8 && <All more={`Show all ${features.length}`} />}
        <Download name="memory-by-feature" rows={() => [["feature", "values", "bytes", "share"], ...features.map(([name, { values, bytes, share }]) => [name, values, bytes, share])]} />
      </p>
    </section>
  );
}
