// Metrics of a model from version to version, as each training measured them.

import { has } from "../api";
import { type Cell, Download, Which } from "../parts";
import { change, href, route } from "../route";
import { count, moment } from "../text";
import type { Model } from "../types";

const MOST = 50; // versions in the table, the newest
const WIDTH = 640;
const HEIGHT = 120;

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
        <Download name={`history-of-${model.name}`} rows={() => [["version", "trained", ...metrics], ...versions.map(({ version, trained, metrics: of }): Cell[] => [version, moment(trained), ...metrics.map((metric) => of[metric])])]} />
      </p>
    </section>
  );
}

/** A metric of all versions, from the oldest on; versions without it are left out. */
function Course({ metric, values }: { metric: string; values: (number | null)[] }) {
  const known = values.flatMap((value, at) => (value === null ? [] : [{ value, at }]));
  if (known.length < 2) return null;
  const [least, most] = [Math.min(...known.map(({ value }) => value)), Math.max(...known.map(({ value }) => value))];
  const x = (at: number) => 8 + (at / (values.length - 1)) * (WIDTH - 16);
  const y = (value: number) => HEIGHT - 12 - ((value - least) / (most - least || 1)) * (HEIGHT - 24);
  const path = known.map(({ value, at }, place) => `${place ? "L" : "M"}${x(at).toFixed(1)},${y(value).toFixed(1)}`).join("");
  const says = `${metric} of ${count(known.length, "version")}, the oldest first: from ${known[0]!.value.toFixed(4)} to ${known.at(-1)!.value.toFixed(4)}, lowest ${least.toFixed(4)}, highest ${most.toFixed(4)}`;
  return (
    <figure class="course">
      <figcaption>{says}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={says}>
        <path d={path} />
        {known.length <= MOST && known.map(({ value, at }) => <circle key={at} cx={x(at)} cy={y(value)} r="3" />)}
      </svg>
    </figure>
  );
}
