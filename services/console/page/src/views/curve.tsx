// A learning curve: the metric after each round of a training, on the lists that it learned from and on those that it was tested on.

import { Download } from "../parts";
import { number } from "../text";
import type { ModelVersion } from "../types";

interface Line {
  name: string;
  kind: "test" | "train" | "other";
  points: [number, number][];
}

export function Curve({ name, after, before }: { name: string; after: ModelVersion; before?: ModelVersion }) {
  const { curve, trees } = after;
  if (!curve || curve.rounds.length < 2) return null;
  const line = (version: ModelVersion, of: "test" | "train") => (version.curve?.rounds ?? []).flatMap((point): [number, number][] => (point[of] === null ? [] : [[point.round, point[of]!]]));
  const other = before?.curve?.metric === curve.metric ? line(before, "test") : [];
  const lines: Line[] = [
    { name: "lists it learned from", kind: "train" as const, points: line(after, "train") },
    { name: "lists it was tested on", kind: "test" as const, points: line(after, "test") },
    { name: `lists that ${before?.version} was tested on`, kind: "other" as const, points: other },
  ].filter(({ points }) => points.length > 1);
  if (lines.length === 0) return null;
  const all = lines.flatMap(({ points }) => points);
  const values = all.map(([, value]) => value);
  const [low, high, last] = [Math.min(...values), Math.max(...values), Math.max(...all.map(([round]) => round))];
  const x = (round: number) => (100 * (round - 1)) / (last - 1);
  const y = (value: number) => 100 - (high > low ? (100 * (value - low)) / (high - low) : 50);
  const best = curve.rounds.find(({ round }) => round === trees);
  const end = curve.rounds.at(-1)!;
  return (
    <figure class="curve">
      <figcaption>
        How {curve.metric} went from round to round of the training. {ends(trees, end.round)}
      </figcaption>
      <div class="plot">
        <span>{number(Number(high.toFixed(4)))}</span>
        <span class="low">{number(Number(low.toFixed(4)))}</span>
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={spoken(lines)}>
          {best && <path class="best" d={`M${x(best.round)} 0V100`} />}
          {lines.map(({ kind, points }) => (
            <path key={kind} class={kind} d={points.map(([round, value], at) => `${at ? "L" : "M"}${x(round).toFixed(2)} ${y(value).toFixed(2)}`).join("")} />
          ))}
        </svg>
        <span class="first">round 1</span>
        <span class="last">round {last}</span>
      </div>
      <p class="legend">
        {lines.map(({ name, kind }) => (
          <span key={kind}>
            <i class={kind} aria-hidden="true" /> {name}
          </span>
        ))}
        {best && (
          <span>
            <i class="best" aria-hidden="true" /> its last round, {trees}
          </span>
        )}
      </p>
      <p class="tools">
        <Download name={`learning-curve-of-${name}`} rows={() => [["round", `${curve.metric} test`, `${curve.metric} train`], ...curve.rounds.map(({ round, test, train }) => [round, test, train])]} />
      </p>
    </figure>
  );
}

const ends = (trees: number, last: number) =>
  trees === last ? "It rose on the lists that it was tested on up to the last round." : `On the lists that it was tested on, it was best after round ${trees}: the version ends there.`;

/** What the lines show, for those who do not see them. */
const spoken = (lines: Line[]) => lines.map(({ name, points }) => `${name}: from ${points[0]![1].toFixed(4)} in round ${points[0]![0]} to ${points.at(-1)![1].toFixed(4)} in round ${points.at(-1)![0]}`).join("; ");
