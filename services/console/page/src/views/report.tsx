// The report of an evaluation: metrics, differences, examination of positions, values of a field, worst lists.

import { ask, get, has } from "../api";
import { type Cell, Download, useAnswer, Which } from "../parts";
import { change, href, route } from "../route";
import { count, moment, number, whole } from "../text";
import type { Figure, Report, Sampled, Score, WorstList } from "../types";

export function ReportOf({ report, ended }: { report: Report; ended: number }) {
  const { params } = route.value;
  const metric = report.metrics.includes(params.metric ?? "") ? params.metric! : report.metrics[0]!;
  const scores = report.scores.filter((score) => score.metric === metric);
  const differences = report.differences.filter((difference) => difference.metric === metric);
  const weighted = report.weighted.curve !== null;
  const { lists } = report;
  return (
    <>
      <section aria-labelledby="metrics">
        <h2 id="metrics">How good each order is</h2>
        <p>
          {count(lists.test, "list")} of {count(lists.visitors, "visitor")}, shown from {day(lists.from)} to {day(lists.to)}: {part(report.split)}. {count(lists.train, "other list")} to learn from. The split is that of the model <bdi>{report.model}</bdi>.
        </p>
        {report.notes.length > 0 && (
          <div class="note odd">
            <ul>
              {report.notes.map((note) => (
                <li key={note}>{note}</li>
              ))}
            </ul>
          </div>
        )}
        {report.metrics.length > 1 && <Which label="Metric" names={report.metrics} chosen={report.metrics.indexOf(metric)} choose={(at) => change({ metric: report.metrics[at]! }, true)} />}
        <Figures head={metric} rows={scores.map((score) => ({ ...score, label: told(score.ranker, report) }))} weighted={weighted} />
        <p class="quiet">
          The line beside a figure is its 95 % interval: other visitors would most likely give a figure on it.
          {weighted && " Weighted: a click counts more at a place that visitors seldom look at."}
        </p>
        {differences.length > 0 && (
          <>
            <h3>Differences</h3>
            <Figures head={`difference in ${metric}`} rows={differences.map((difference) => ({ ...difference, label: `${told(difference.ranker, report)} − ${told(difference.than, report)}` }))} weighted={weighted} signed />
          </>
        )}
        <p class="tools">
          <Download name="evaluation" rows={() => table(report)} json={() => report} />
        </p>
      </section>
      {report.segments && <Segments report={report} metric={metric} />}
      <Worst report={report} ended={ended} />
      <Examination report={report} />
    </>
  );
}

/** Which part of all lists is compared. */
function part(split: string): string {
  const older = /^time=([\d.]+)%$/.exec(split)?.[1];
  return older === undefined ? `the test lists of the split ${split}` : `the newest ${number(100 - Number(older))} %`;
}

const day = (time: string | null) => (time ? moment(Date.parse(time)) : "an unknown time");

function told(ranker: string, { rankers }: Report): string {
  const kind = rankers.find(({ name }) => name === ranker)?.kind;
  return kind === "shown" ? "the order as visitors saw it" : kind === "random" ? "a random order" : ranker;
}

interface Row extends Score {
  label: string;
}

const figure = (value: number | null, signed = false) => (value === null ? "–" : `${signed && value > 0 ? "+" : ""}${value.toFixed(4)}`.replace("-", "−"));

function Figures({ head, rows, weighted, signed }: { head: string; rows: Row[]; weighted: boolean; signed?: boolean }) {
  const ends = rows.flatMap(({ value, low, high }) => [value, low, high]).filter((end) => end !== null);
  const [least, most] = [Math.min(...ends, signed ? 0 : Infinity), Math.max(...ends, signed ? 0 : -Infinity)];
  const at = (value: number) => ((value - least) / (most - least || 1)) * 100;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={head}>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">order</th>
            <th scope="col" class="right">
              {head}
            </th>
            <td class="wide">
              {least < most && (
                <span class="scale" aria-hidden="true">
                  <span>{figure(least, signed)}</span>
                  <span>{figure(most, signed)}</span>
                  {signed && (
                    <span class="nought" style={{ left: `${at(0)}%` }}>
                      0
                    </span>
                  )}
                </span>
              )}
            </td>
            <th scope="col">95 % interval</th>
            {weighted && (
              <th scope="col" class="right">
                weighted
              </th>
            )}
            {signed && <th scope="col">verdict</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ label, value, low, high, weighted: second }) => (
            <tr key={label}>
              <th scope="row">
                <bdi>{label}</bdi>
              </th>
              <td class="right">{figure(value, signed)}</td>
              <td class="wide">
                {value !== null && (
                  <svg class="interval" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                    {signed && <path class="zero" d={`M${at(0)},0V10`} />}
                    {low !== null && high !== null && <path class="range" d={`M${at(low)},5H${at(high)}`} />}
                    <path class="at" d={`M${at(value)},1V9`} />
                  </svg>
                )}
              </td>
              <td>{low === null || high === null ? "too few visitors to say" : `${figure(low, signed)} to ${figure(high, signed)}`}</td>
              {weighted && <td class="right">{second ? figure(second.value, signed) : "–"}</td>}
              {signed && <td>{says({ value, low, high })}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function says({ low, high }: Figure) {
  if (low !== null && low > 0) return <b class="good-text">better</b>;
  if (high !== null && high < 0) return <b class="odd-text">worse</b>;
  return <span class="quiet">not clear</span>;
}

function Segments({ report, metric }: { report: Report; metric: string }) {
  const { field, segments, others } = report.segments!;
  return (
    <section aria-labelledby="segments">
      <h2 id="segments">
        {metric} by <bdi>{field}</bdi>
      </h2>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="segments">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <bdi>{field}</bdi>
              </th>
              <th scope="col" class="right">
                lists
              </th>
              {report.rankers.map(({ name }) => (
                <th scope="col" class="right" key={name}>
                  <bdi>{told(name, report)}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {segments.map(({ value, lists, scores }) => (
              <tr key={value ?? ""}>
                <th scope="row">{value === null ? "(none)" : <bdi>{value}</bdi>}</th>
                <td class="right">{whole(lists)}</td>
                {report.rankers.map(({ name }) => (
                  <td class="right" key={name}>
                    {figure(scores.find((score) => score.metric === metric && score.ranker === name)?.value ?? null)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {others > 0 && <p class="quiet">{count(others, "further value")} not shown: those with most lists are.</p>}
      <p class="tools">
        <Download name={`evaluation-by-${field}`} rows={() => [["value", "lists", "visitors", ...report.rankers.map(({ name }) => name)], ...segments.map(({ value, lists, visitors, scores }): Cell[] => [value, lists, visitors, ...report.rankers.map(({ name }) => scores.find((score) => score.metric === metric && score.ranker === name)?.value)])]} />
      </p>
    </section>
  );
}

/** Lists that a model orders worst, with a way to look at each. */
function Worst({ report, ended }: { report: Report; ended: number }) {
  const named = report.worst.filter(({ lists }) => lists.length > 0);
  const chosen = named.find(({ ranker }) => ranker === route.value.params.of) ?? named[0];
  const kept = useAnswer(has("GET /requests") ? `worst ${ended}` : "", () => ask<{ requests: Sampled[] }>(get("/requests")).then(({ requests }) => requests.filter(({ relevant }) => relevant)));
  if (!chosen) return null;
  const { version } = report.rankers.find(({ name }) => name === chosen.ranker) ?? {};
  const model = version && chosen.ranker.endsWith(`@${version}`) ? chosen.ranker.slice(0, -version.length - 1) : chosen.ranker;
  const at = ({ ranking, tenant }: WorstList) => kept.data?.find(({ request }) => request.id === ranking && (request.tenant ?? "default") === tenant);
  return (
    <section aria-labelledby="worst">
      <h2 id="worst">Lists that are ordered worst, by {report.metrics[0]}</h2>
      <p class="quiet">Visitors chose items that the model would show far down. Open one to see why.</p>
      {named.length > 1 && <Which label="Order" names={named.map(({ ranker }) => ranker)} chosen={named.indexOf(chosen)} choose={(at) => change({ of: named[at]!.ranker }, true)} />}
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="worst">
        <table>
          <thead>
            <tr>
              <th scope="col">list</th>
              <td />
              <th scope="col">shown</th>
              <th scope="col" class="right">
                items
              </th>
              <th scope="col" class="right">
                chosen
              </th>
              <th scope="col" class="right">
                by the model
              </th>
              <th scope="col" class="right">
                as shown
              </th>
            </tr>
          </thead>
          <tbody>
            {chosen.lists.map((list) => (
              <tr key={`${list.tenant} ${list.ranking}`}>
                <th scope="row">
                  <bdi>{list.ranking}</bdi>
                  {list.tenant !== "default" && (
                    <>
                      {" "}
                      of <bdi>{list.tenant}</bdi>
                    </>
                  )}
                  {list.segment && (
                    <>
                      {" "}
                      (<bdi>{list.segment}</bdi>)
                    </>
                  )}
                </th>
                <td>
                  {at(list) && <a href={href("try", { request: String(at(list)!.number), model, other: "none", evaluated: version })}>Try it</a>}
                  {!at(list) && kept.data && kept.data.length > 0 && <span class="quiet">too large to keep</span>}
                </td>
                <td>{day(list.time)}</td>
                <td class="right">{whole(list.items)}</td>
                <td class="right">{whole(list.relevant)}</td>
                <td class="right">{figure(list.value)}</td>
                <td class="right">{figure(list.shown)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {kept.data?.length === 0 && <p class="quiet">The lists cannot be opened: they were forgotten, or the service keeps no requests (api.page.sample).</p>}
      <p class="tools">
        <Download name={`worst-lists-of-${model}`} rows={() => [["list", "tenant", "time", "items", "chosen", "by the model", "as shown"], ...chosen.lists.map(({ ranking, tenant, time, items, relevant, value, shown }): Cell[] => [ranking, tenant, time, items, relevant, value, shown])]} />
      </p>
    </section>
  );
}

/** How often visitors look at each position. */
function Examination({ report: { weighted } }: { report: Report }) {
  const { curve, unavailable } = weighted;
  return (
    <section aria-labelledby="examination">
      <h2 id="examination">How far down visitors look</h2>
      {!curve && <p class="quiet">This cannot be estimated, so there are no weighted figures: {unavailable}.</p>}
      {curve && (
        <details class="keys">
          <summary>
            Estimated from {curve.estimatedFrom}: {count(curve.points.length, "position")}
          </summary>
          <table>
            <thead>
              <tr>
                <th scope="col">position</th>
                <th scope="col">looked at (1 at the first)</th>
                <th scope="col">shown</th>
                <th scope="col">clicks</th>
              </tr>
            </thead>
            <tbody>
              {curve.points.map(({ position, examination, low, high, shown, clicks }) => (
                <tr key={position}>
                  <th scope="row">{position}</th>
                  <td>
                    {examination === null ? "–" : number(examination)}
                    {low !== null && high !== null && <span class="quiet"> between {number(low)} and {number(high)}</span>}
                  </td>
                  <td>{whole(shown)}</td>
                  <td>{whole(clicks)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </section>
  );
}

function table({ scores, differences }: Report): Cell[][] {
  const cells = ({ value, low, high, weighted }: Score): Cell[] => [value, low, high, weighted?.value, weighted?.low, weighted?.high];
  return [
    ["metric", "order", "less", "value", "low", "high", "weighted", "weighted low", "weighted high"],
    ...scores.map((score): Cell[] => [score.metric, score.ranker, null, ...cells(score)]),
    ...differences.map((difference): Cell[] => [difference.metric, difference.ranker, difference.than, ...cells(difference)]),
  ];
}
