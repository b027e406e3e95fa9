// What features hold: how much they help, how their values were spread in training and are now, and what they take.

import { useEffect, useRef } from "preact/hooks";
import { ask, get, has, page, part, sentence } from "../api";
import { Bar, broken, Curl, Download, Loading, Problem, useAnswer } from "../parts";
import { change, href, route } from "../route";
import { bytes, count, percent, whole } from "../text";
import type { Configuration, Model, ModelFeatures, Status } from "../types";
import { shares } from "./models";
import { Spreads } from "./spreads";
import { type Definition, missing, moved as distance } from "./spread";

/** From this part of the values on, a feature has changed. */
const MUCH = 0.3;
/** A feature that helps less does not matter to the model. */
const LITTLE = 0.01;
/** Of fewer requests, values differ by chance: those of a visitor are the same for all items of one. */
const ENOUGH = 50;

export function Features() {
  const models = useAnswer("models", () => ask<{ models: Model[] }>(get("/models")));
  const learning = (models.data?.models ?? []).filter(({ purpose }) => purpose === "learnedOrder");
  const model = learning.find(({ name }) => name === route.value.params.model) ?? learning.find(({ serving }) => serving) ?? learning[0];
  return (
    <>
      <h1>Features</h1>
      {models.error && <Problem error={models.error} />}
      {!models.data && !models.error && <Loading />}
      {models.data && !model && <p class="note odd">The configuration has no model that learns from features.</p>}
      {model && (
        <>
          <div class="row chooser">
            <label>
              Model
              <select name="model" value={model.name} onChange={({ currentTarget: { value } }) => change({ model: value, feature: undefined })}>
                {learning.map(({ name, serving }) => (
                  <option key={name} value={name}>
                    {name}: {serving ? `version ${serving}` : "not trained yet"}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <OfModel key={model.name} model={model} learning={learning} />
        </>
      )}
    </>
  );
}

function OfModel({ model, learning }: { model: Model; learning: Model[] }) {
  const call = get(`/models/${part(model.name)}/features`);
  const { data, error } = useAnswer(call.path, () => ask<ModelFeatures>(call));
  const status = useAnswer("status", () => ask<Status>(get("/status")).catch(() => null));
  const configured = useAnswer(has("GET /configuration") ? "configuration" : "", () => ask<Configuration>(get("/configuration")).catch(() => null));
  const values = useValues(route.value.params.feature);
  if (error) return <Problem error={error} />;
  if (!data || configured.loading) return <Loading />;
  if (data.features.length === 0) return <p>It has no features.</p>;
  const defined = definitions(configured.data?.configuration);
  // serving gives all items the same position
  const moved = (feature: ModelFeatures["features"][number]) => (defined.get(feature.name)?.type === "position" ? undefined : distance(feature.columns));
  const sizes = status.data?.size?.features ?? {};
  const gains = learning.filter(({ serving, name }) => serving || name === model.name).map((model) => ({ name: model.name, parts: parts(model) }));
  const own = gains.find(({ name }) => name === model.name)!;
  const others = gains.filter((other) => other !== own);
  const rows = data.features
    .map((feature) => ({
      ...feature,
      part: own.parts.get(feature.name),
      training: missing(feature.columns.map(({ training }) => training)),
      now: missing(feature.columns.map(({ now }) => now)),
      moved: moved(feature),
      size: sizes[feature.name]?.bytes,
    }))
    .sort((a, b) => (b.part ?? 0) - (a.part ?? 0));
  const most = Math.max(...own.parts.values(), 1e-9);
  const chosen = rows.find(({ name }) => name === route.value.params.feature) ?? rows[0]!;
  const few = data.requests > 0 && data.requests < ENOUGH;
  return (
    <>
      <About data={data} drifted={rows.filter(({ moved, part = 0 }) => part >= LITTLE && changed(moved, data.requests)).map(({ name }) => name)} />
      <section aria-labelledby="features">
        <h2 id="features">Which features help, and what they hold</h2>
        <p class="quiet">
          Choose a feature to see its values. Helps: its part of the gain of all trees. Moved: the part of its values that lies elsewhere now than in training; positions are not compared, because serving gives all items the same one. Memory: what it takes in the store of feature values. A dash: not known.
        </p>
        <div class="scroll" tabIndex={0} role="region" aria-labelledby="features">
          <table class="features">
            <thead>
              <tr>
                <th scope="col">feature</th>
                <th scope="col" class="right">
                  helps {model.name}
                </th>
                <td class="wide" />
                {others.map(({ name }) => (
                  <th scope="col" class="right" key={name}>
                    helps {name}
                  </th>
                ))}
                <th scope="col" class="right">
                  missing in training
                </th>
                <th scope="col" class="right">
                  missing now
                </th>
                <th scope="col" class="right">
                  moved
                </th>
                <th scope="col" class="right">
                  memory
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ name, part, training, now, moved, size }) => (
                <tr key={name} class={name === chosen.name ? "chosen" : undefined}>
                  <th scope="row">
                    <a href={href("features", { ...route.value.params, feature: name })} aria-current={name === chosen.name || undefined}>
                      {broken(name)}
                    </a>
                  </th>
                  <td class="right">{percent(part)}</td>
                  <td class="wide">{part !== undefined && <Bar share={part / most} />}</td>
                  {others.map(({ name: other, parts }) => (
                    <td class="right" key={other}>
                      {percent(parts.get(name))}
                    </td>
                  ))}
                  <td class="right">{percent(training)}</td>
                  <td class="right">{percent(now)}</td>
                  <td class={few ? "right quiet" : "right"}>{changed(moved, data.requests) ? <b class="odd-text">{percent(moved)}</b> : percent(moved)}</td>
                  <td class="right">{size === undefined ? "–" : bytes(size)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class="tools">
          <Curl call={call} />
          <Download
            name={`features-of-${model.name}`}
            rows={() => [
              ["feature", ...gains.map(({ name }) => `helps ${name}`), "missing in training", "missing now", "moved", "bytes"],
              ...rows.map(({ name, training, now, moved, size }) => [name, ...gains.map(({ parts }) => parts.get(name)), training, now, moved, size]),
            ]}
            json={() => data}
          />
        </p>
      </section>
      <section aria-labelledby="values">
        <h2 id="values" ref={values} tabIndex={-1}>
          Values of {chosen.name}
        </h2>
        <Spreads feature={chosen.name} columns={chosen.columns} names={defined.get(chosen.name)?.values ?? []} />
      </section>
    </>
  );
}

/** The heading of a feature's values, which lies below a long table: where one is chosen, it comes into sight. */
function useValues(feature: string | undefined) {
  const heading = useRef<HTMLHeadingElement>(null);
  const last = useRef(feature);
  useEffect(() => {
    if (feature && feature !== last.current) heading.current?.focus();
    last.current = feature;
  }, [feature]);
  return heading;
}

/** What the values of now are, and why there may be none. */
function About({ data: { model, version, requests, requestsOf, items, problem, features }, drifted }: { data: ModelFeatures; drifted: string[] }) {
  const tells = features.some(({ columns }) => columns.some(({ training }) => training));
  return (
    <>
      {requests > 0 && (
        <p>
          Now: {count(items, "item")} of the {requests === 1 ? "newest request" : `${whole(requests)} newest requests`}
          {!requestsOf.includes(model) && ` for ${requestsOf.join(" and ")}, because ${model} has none`}. Training: the lists that version {version ? <code>{version}</code> : "none"} learned from.
        </p>
      )}
      {requests > 0 && requests < ENOUGH && tells && (
        <p class="quiet">
          {requests === 1 ? "1 request is" : `${requests} requests are`} too few to compare: what has moved is grey until there are {ENOUGH}.
        </p>
      )}
      {requests === 0 && !problem && (
        <p class="note odd">
          {page.value?.sample === 0 ? "Requests are not kept, because api.page.sample is 0. So there are no values of now." : "No request has come since the start. Once one has, its values are shown beside those of training."}
        </p>
      )}
      {problem && <p class="note bad">The values of now cannot be read. {sentence(problem)}</p>}
      {!version && <p class="note odd">The model has no version that answers, so there is no training to compare with. Train it on the overview.</p>}
      {version && !tells && <p class="note odd">The version has no record of its training values: an earlier program trained it, or it was imported. Train it again.</p>}
      {drifted.length > 0 && (
        <p class="note odd">
          {drifted.length === 1 ? "This feature holds" : "These features hold"} other values now than in training: <b>{drifted.join(", ")}</b>. If that lasts, train the model again, and check what the shop sends.
        </p>
      )}
    </>
  );
}

const changed = (moved: number | undefined, requests: number) => moved !== undefined && moved >= MUCH && requests >= ENOUGH;

/** Features of the configuration, by name. */
function definitions(configuration: unknown): Map<string, Definition> {
  const features = (configuration as { features?: Definition[] } | null | undefined)?.features;
  return new Map((Array.isArray(features) ? features : []).map((feature) => [feature.name, feature]));
}

/** Each feature's part of the gain of the version that answers. */
const parts = ({ versions, serving }: Model) => shares(versions.find(({ version }) => version === serving) ?? { features: [] });

