// Versions of models: which one answers, how two differ, and what each learned from.

import { useState } from "preact/hooks";
import { ask, get, has, part, post, sentence } from "../api";
import { All, Bar, broken, Curl, Download, failure, Loading, Problem, showsAll, Sure, useAnswer, useNow } from "../parts";
import { change, route } from "../route";
import { ago, bytes, count, moment, percent, purpose, whole } from "../text";
import type { Model, ModelVersion, Promoted } from "../types";
import { Curve } from "./curve";

export function Models() {
  const { params } = route.value;
  const [round, again] = useState(0);
  const [said, say] = useState<{ bad: boolean; text: string } | null>(null);
  const { data, error } = useAnswer("models", () => ask<{ models: Model[] }>(get("/models")), round);
  const models = data?.models ?? [];
  const model = models.find(({ name }) => name === params.model) ?? models.find(({ versions }) => versions.length > 0) ?? models[0];
  const run = (call: ReturnType<typeof post>) =>
    ask<Promoted>(call).then(
      (promoted) => {
        say(outcome(promoted));
        again((round) => round + 1);
      },
      (error) => say({ bad: true, text: failure(error).message }),
    );
  return (
    <>
      <h1>Models</h1>
      {error && <Problem error={error} />}
      {!data && !error && <Loading />}
      {data && !model && <p class="note odd">The configuration has no models.</p>}
      {model && (
        <>
          <div class="row chooser">
            <label>
              Model
              <select name="model" value={model.name} onChange={({ currentTarget: { value } }) => (say(null), change({ model: value, before: undefined, after: undefined }))}>
                {models.map(({ name, kind, versions }) => (
                  <option key={name} value={name}>
                    {name}: {purpose(kind)}, {versions.length === 0 ? "no version" : count(versions.length, "version")}
                  </option>
                ))}
              </select>
            </label>
          </div>
          {said && (
            <p class={said.bad ? "note bad" : "note good"} role="status">
              {said.text}
            </p>
          )}
          {model.pinned && <p class="note odd">The configuration names version {model.pinned}, so that one answers until it does not.</p>}
          {model.damaged.length > 0 && <p class="note bad">These versions cannot be read: {model.damaged.join(", ")}.</p>}
          {model.refused && (
            <p class="note odd">
              The gate refused the version that was trained at {moment(model.refused.trained)}, so it is not kept. {sentence(model.refused.message)}
            </p>
          )}
          {model.versions.length === 0 && <p>It has no version that is kept. {model.purpose === "order" ? "A model of this kind needs none." : "Train it on the overview."}</p>}
          {model.versions.length > 0 && <Versions model={model} run={run} />}
          {model.versions.length > 0 && <Details model={model} />}
          <p class="tools">
            <Curl call={get("/models")} />
            <Download name={`versions-of-${model.name}`} json={() => model} />
          </p>
        </>
      )}
    </>
  );
}

function outcome({ version, serving, pinned }: Promoted): { bad: boolean; text: string } {
  if (serving === version) return { bad: false, text: `${version} answers now.` };
  if (pinned && serving === pinned) return { bad: false, text: `${version} is the current version now. The configuration names ${pinned}, which answers all the same.` };
  return { bad: true, text: `${version} is the current one, but does not answer here: see Overview.` };
}

function Versions({ model, run }: { model: Model; run: (call: ReturnType<typeof post>) => void }) {
  const now = useNow();
  const { name, versions, serving, current } = model;
  const newest = [...versions].reverse();
  const metrics = [...new Set(newest.flatMap(({ metrics }) => Object.keys(metrics)))];
  const path = `/models/${part(name)}`;
  const at = versions.findIndex(({ version }) => version === current);
  return (
    <section aria-labelledby="versions">
      <h2 id="versions">Versions, the newest first</h2>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="versions">
        <table>
          <thead>
            <tr>
              <th scope="col">version</th>
              <th scope="col">trained</th>
              {metrics.map((metric) => (
                <th scope="col" class="right" key={metric}>
                  {metric}
                </th>
              ))}
              <th scope="col" class="right">
                learned from
              </th>
              <td />
            </tr>
          </thead>
          <tbody>
            {newest.map((known) => (
              <tr key={known.version}>
                <th scope="row">
                  <code>{known.version}</code>
                </th>
                <td title={moment(known.trained)}>{ago(known.trained, now)}</td>
                {metrics.map((metric) => (
                  <td class="right" key={metric}>
                    {known.metrics[metric] == null ? "–" : known.metrics[metric]!.toFixed(4)}
                  </td>
                ))}
                <td class="right">{known.data ? count(known.data.rankings, "list") : "–"}</td>
                <td>
                  {known.version === serving && <b class="good-text">answers</b>}
                  {known.version === current && known.version !== serving && "current"}
                  {known.version !== current && has("POST /models/{name}/promote") && (
                    <Sure label="Promote" question={`Version ${known.version} of ${name} answers from now on, in place of ${serving ?? "none"}.`} run={() => run(post(`${path}/promote`, { version: known.version }))} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {at > 0 && has("POST /models/{name}/rollback") && (
        <p class="tools">
          <Sure label="Roll back" question={`${name} goes back to the version that was current before ${current}.`} run={() => run(post(`${path}/rollback`))} />
        </p>
      )}
    </section>
  );
}

/** One version, or two and how they differ. */
function Details({ model: { name, versions, serving } }: { model: Model }) {
  const { params } = route.value;
  const known = (id?: string) => versions.find(({ version }) => version === id);
  const after = known(params.after) ?? known(serving ?? undefined) ?? versions.at(-1)!;
  const before = params.before === "none" ? undefined : (known(params.before) ?? [...versions].reverse().find(({ version }) => version < after.version));
  const choice = (label: string, key: string, value?: string) => (
    <label>
      {label}
      <select name={key} value={value ?? "none"} onChange={({ currentTarget: { value } }) => change({ [key]: value })}>
        {key === "before" && <option value="none">no other version</option>}
        {[...versions].reverse().map(({ version }) => (
          <option key={version} value={version}>
            {version}
            {version === serving ? " (answers)" : ""}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <section aria-labelledby="details">
      <h2 id="details">{before ? "How two versions differ" : "About the version"}</h2>
      <div class="row">
        {choice("Version", "after", after.version)}
        {versions.length > 1 && choice("Compare with", "before", before?.version)}
      </div>
      <Facts after={after} before={before} />
      <Curve name={name} after={after} before={before} />
      <Importance name={name} after={after} before={before} />
    </section>
  );
}

type Fact = [string, string | undefined, string | undefined];

function Facts({ after, before }: { after: ModelVersion; before?: ModelVersion }) {
  const data = (version?: ModelVersion) => version?.data;
  const span = (version?: ModelVersion) => (data(version)?.first != null && data(version)?.last != null ? `${moment(data(version)!.first!)} and ${moment(data(version)!.last!)}` : undefined);
  const keys = (pick: (version: ModelVersion) => object) => [...new Set([after, ...(before ? [before] : [])].flatMap((version) => Object.keys(pick(version))))];
  const facts: Fact[] = [
    ...keys(({ metrics }) => metrics).map((metric): Fact => [metric, told(after.metrics[metric]), told(before?.metrics[metric])]),
    ["lists learned from", data(after) ? whole(data(after)!.rankings) : undefined, data(before) ? whole(data(before)!.rankings) : undefined],
    ["shown between", span(after), span(before)],
    ["why its gate took it", gate(after), gate(before)],
    ["trees", whole(after.trees), before && whole(before.trees)],
    ["rounds of training", rounds(after), rounds(before)],
    ["size", bytes(after.bytes), before && bytes(before.bytes)],
    ...keys(({ settings }) => settings).map((key): Fact => [key, after.settings[key], before?.settings[key]]),
  ];
  const shown = facts.filter(([, after, before]) => after !== undefined || before !== undefined);
  return (
    <table class="facts">
      <thead>
        <tr>
          <td />
          <th scope="col">
            <code>{after.version}</code>
          </th>
          {before && (
            <th scope="col">
              <code>{before.version}</code>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {shown.map(([label, after, other]) => (
          <tr key={label} class={before && after !== other ? "differs" : undefined}>
            <th scope="row">{broken(label)}</th>
            <td>{after ?? "–"}</td>
            {before && <td>{other ?? "–"}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const gate = (version?: ModelVersion) => version?.gate?.message && sentence(version.gate.message);

const rounds = (version?: ModelVersion) => {
  const last = version?.curve?.rounds.at(-1);
  return last && whole(last.round);
};

const told = (value?: number | null) => (value == null ? undefined : value.toFixed(4));

const FEW = 15; // features that are shown at first

/** How much each feature gives to the model, as a part of the whole. */
function Importance({ name, after, before }: { name: string; after: ModelVersion; before?: ModelVersion }) {
  const all = showsAll();
  if (after.features.length === 0) return null;
  const of = shares(after);
  const other = before && shares(before);
  const differs = (feature: string) => other !== undefined && other.has(feature) !== of.has(feature);
  const known = [...new Set([...of.keys(), ...(other?.keys() ?? [])])];
  // what one version alone has comes first
  const names = [...known.filter(differs), ...known.filter((feature) => !differs(feature))];
  const most = Math.max(...of.values(), ...(other?.values() ?? []), 1e-9);
  return (
    <>
      <table class="room">
        <caption>How much each feature helps the model to order lists: its part of the gain of all trees</caption>
        <thead>
          <tr>
            <th scope="col">feature</th>
            <th scope="col" class="right">
              part
            </th>
            {other && (
              <th scope="col" class="right">
                in the other
              </th>
            )}
            <td />
          </tr>
        </thead>
        <tbody>
          {names.slice(0, all ? undefined : FEW).map((feature) => (
            <tr key={feature} class={differs(feature) ? "differs" : undefined}>
              <th scope="row">{broken(feature)}</th>
              <td class="right">{percent(of.get(feature))}</td>
              {other && <td class="right">{percent(other.get(feature))}</td>}
              <td class="wide">
                <Bar share={(of.get(feature) ?? 0) / most} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="tools">
        {names.length > FEW && <All more={`Show all ${names.length} features`} />}
        <Download name={`importance-of-${name}`} rows={() => [["feature", after.version, before?.version], ...names.map((feature) => [feature, of.get(feature), other?.get(feature)])]} />
      </p>
    </>
  );
}

/** Each feature's part of the gain of a version. */
export function shares({ features }: Pick<ModelVersion, "features">): Map<string, number> {
  const sum = features.reduce((sum, { gain }) => sum + (gain ?? 0), 0) || 1;
  return new Map(features.map(({ name, gain }) => [name, (gain ?? 0) / sum]));
}
