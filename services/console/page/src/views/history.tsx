// Metrics of a model from version to version, as each training measured them.

import { get, has } from "../api";
import { type Cell, Curl, Download, Which } from "../parts";
import { change, href, route } from "../route";
import { count, moment } from "../text";
import type { Model } from "../types";
import { Plot } from "./plot";

const MOST = 50; // versions in the table, the newest

export function History({ models }: { models: Model[] }) {
  const { params } = route.value;
  const model = models.find(({ name }) => name === params.history) ?? models[0];
  if (!model) return null;
  const { versions, serving } = model;
  const metrics = [...new Set(versions.flatMap(({ metrics }) => Object.keys(metrics)))];
  return (
    <section aria-labelledby="history">
      <h2 id="history">From version to version</h2>
      <p class="quiet">As each training measured it, on the newest lists of its own day: a step may come from other lists as well as from another model.</p>
      {models.length > 1 && <Which label="Model" names={models.map(({ name }) => name)} chosen={models.indexOf(model)} choose={(at) => change({ history: models[at]!.name }, true)} />}
      {metrics.map((metric) => (
        <Course key={metric} metric={metric} values={versions.map(({ metrics }) => metrics[metric] ?? null)} />
      ))}
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="history">
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
              <td />
            </tr>
          </thead>
          <tbody>
            {[...versions].reverse().slice(0, MOST).map(({ version, trained, metrics: of }) => (
              <tr key={version}>
                <th scope="row">
                  <code>{version}</code>
                </th>
                <td>{moment(trained)}</td>
                {metrics.map((metric) => (
                  <td class="right" key={metric}>
                    {of[metric]?.toFixed(4) ?? "–"}
                  </td>
                ))}
                <td>{version === serving && <b class="good-text">answers</b>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {versions.length > MOST && <p class="quiet">{count(versions.length - MOST, "older version")} not shown here; the file has all.</p>}
      <p class="tools">
        {has("GET /models") && <a href={href("models", { model: model.name })}>What changed between two versions</a>}
        {has("GET /models") && <Curl call={get("/models")} />}
        <Download name={`history-of-${model.name}`} rows={() => [["version", "trained", ...metrics], ...versions.map(({ version, trained, metrics: of }): Cell[] => [version, moment(trained), ...metrics.map((metric) => of[metric])])]} />
      </p>
    </section>
  );
}

/** A metric of all versions, from the oldest on; versions without it are left out. */
function Course({ metric, values }: { metric: string; values: (number | null)[] }) {
  const points = values.flatMap((value, at): [number, number][] => (value === null ? [] : [[at, value]]));
  if (points.length < 2) return null;
  const told = `${metric} of ${count(points.length, "version")}`;
  const says = `${told}: from ${points[0]![1].toFixed(4)} of the oldest to ${points.at(-1)![1].toFixed(4)} of the newest`;
  return (
    <figure class="curve">
      <figcaption>{told}</figcaption>
      <Plot lines={[{ kind: "test", points }]} first="the oldest" last="the newest" says={says} />
    </figure>
  );
}
