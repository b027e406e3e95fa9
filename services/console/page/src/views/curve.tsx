// A learning curve: the metric after each round of a training, on the lists that it learned from and on those that it was tested on.

import { Download } from "../parts";
import type { ModelVersion } from "../types";
import { type Line, Plot } from "./plot";

interface Named extends Line {
  name: string;
}

export function Curve({ name, after, before }: { name: string; after: ModelVersion; before?: ModelVersion }) {
  const { curve, trees } = after;
  if (!curve || curve.rounds.length < 2) return null;
  const line = (version: ModelVersion, of: "test" | "train") => (version.curve?.rounds ?? []).flatMap((point): [number, number][] => (point[of] === null ? [] : [[point.round, point[of]!]]));
  const other = before?.curve?.metric === curve.metric ? line(before, "test") : [];
  const lines: Named[] = [
    { name: "lists it learned from", kind: "train" as const, points: line(after, "train") },
    { name: "lists it was tested on", kind: "test" as const, points: line(after, "test") },
    { name: `lists that ${before?.version} was tested on`, kind: "other" as const, points: other },
  ].filter(({ points }) => points.length > 1);
  if (lines.length === 0) return null;
  const best = curve.rounds.find(({ round }) => round === trees);
  const last = Math.max(...lines.map(({ points }) => points.at(-1)![0]));
  return (
    <figure class="curve">
      <figcaption>
        How {curve.metric} went from round to round of the training. {ends(trees, curve.rounds.at(-1)!.round)}
      </figcaption>
      <Plot lines={lines} first="round 1" last={`round ${last}`} mark={best?.round} says={spoken(lines)} />
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

const spoken = (lines: Named[]) => lines.map(({ name, points }) => `${name}: from ${points[0]![1].toFixed(4)} in round ${points[0]![0]} to ${points.at(-1)![1].toFixed(4)} in round ${points.at(-1)![0]}`).join("; ");
