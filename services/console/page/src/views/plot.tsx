// Lines over a scale, with what stands at the ends of both axes.

export interface Line {
  kind: "test" | "train" | "other";
  points: [number, number][];
}

interface Props {
  lines: Line[];
  /** The ends of the axis across. */
  first: string;
  last: string;
  /** A place on it. */
  mark?: number;
  /** What the lines show, for those who do not see them. */
  says: string;
}

export function Plot({ lines, first, last, mark, says }: Props) {
  const points = lines.flatMap(({ points }) => points);
  const [across, up] = [scale(points.map(([at]) => at)), scale(points.map(([, value]) => value))];
  const x = (at: number) => across.place(at).toFixed(2);
  const path = (points: Line["points"]) => points.map(([at, value], place) => `${place ? "L" : "M"}${x(at)} ${(100 - up.place(value)).toFixed(2)}`).join("");
  return (
    <div class="plot">
      <span>{up.most.toFixed(4)}</span>
      <span class="low">{up.least.toFixed(4)}</span>
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={says}>
        {mark !== undefined && <path class="best" d={`M${x(mark)} 0V100`} />}
        {lines.map(({ kind, points }) => (
          <path key={kind} class={kind} d={path(points)} />
        ))}
      </svg>
      <span class="first">{first}</span>
      <span class="last">{last}</span>
    </div>
  );
}

/** Places of values in percent, from the least to the most. */
function scale(values: number[]) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return { least, most, place: (value: number) => (most > least ? (100 * (value - least)) / (most - least) : 50) };
}
