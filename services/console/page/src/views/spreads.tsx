// The values of one feature, in training and now, side by side.

import { All, Download, showsAll } from "../parts";
import { number, percent } from "../text";
import type { FeatureColumn } from "../types";
import { rows } from "./spread";

const FEW = 12; // columns that are shown at first

/** Names are those of categories. */
export function Spreads({ feature, columns, names }: { feature: string; columns: FeatureColumn[]; names: unknown[] }) {
  const told = (value: number) => number(Math.abs(value) >= 10000 ? value : Number(value.toPrecision(4)));
  const known = columns.filter(({ training, now }) => training || now);
  const shown = showsAll(feature) ? known : known.slice(0, FEW);
  return (
    <>
      {shown.length === 0 && <p>Nothing is known of its values{columns.length > 0 ? " yet" : ""}.</p>}
      <div class="spreads">
        {shown.map((column) => (
          <Spread key={column.name} column={column} of={columns.length} names={names} told={told} />
        ))}
      </div>
      {shown.length > 0 && (
        <p class="tools">
          {known.length > FEW && <All of={feature} more={`Show all ${known.length} columns`} less="Show the first ones" />}
          <Download
            name={`values-of-${feature}`}
            rows={() => [
              ["column", "values", "training", "now"],
              ...known.flatMap((column) => [
                [column.name, "missing", column.training?.missing, column.now?.missing],
                ...rows(column, names, String).map(({ label, training, now }) => [column.name, label, training, now]),
              ]),
            ]}
          />
        </p>
      )}
    </>
  );
}

type SpreadProps = { column: FeatureColumn; of: number; names: unknown[]; told: (value: number) => string };

function Spread({ column, of, names, told }: SpreadProps) {
  const { name, training, now } = column;
  const bins = rows(column, names, told);
  const most = Math.max(...bins.flatMap(({ training = 0, now = 0 }) => [training, now]), 1e-9);
  const heads = [...(training ? [["before", "in training"]] : []), ...(now ? [["after", "now"]] : [])];
  const lacks = [training, now].some((spread) => spread && spread.missing > 0);
  return (
    <table class="spread">
      <caption>
        {of > 1 ? `${name}: ` : ""}the items with a value, by that value
        {lacks ? "; below, the items without one" : ""}
      </caption>
      <thead>
        <tr>
          <th scope="col">{column.categorical ? "category" : "value"}</th>
          {heads.map(([kind, head]) => (
            <th scope="col" class="right" key={kind}>
              <i class={kind} aria-hidden="true" /> {head}
            </th>
          ))}
          <td class="wide" />
        </tr>
      </thead>
      <tbody>
        {bins.map(({ label, training: before, now: after }) => (
          <tr key={label}>
            <th scope="row">
              <bdi>{label}</bdi>
            </th>
            {training && <td class="right">{percent(before)}</td>}
            {now && <td class="right">{percent(after)}</td>}
            <td class="wide">
              {training && <Share kind="before" share={(before ?? 0) / most} />}
              {now && <Share kind="after" share={(after ?? 0) / most} />}
            </td>
          </tr>
        ))}
      </tbody>
      {lacks && (
        <tfoot>
          <tr>
            <th scope="row">missing</th>
            {training && <td class="right">{percent(training.missing)}</td>}
            {now && <td class="right">{percent(now.missing)}</td>}
            <td />
          </tr>
        </tfoot>
      )}
    </table>
  );
}

const Share = ({ kind, share }: { kind: string; share: number }) => (
  <span class={`bar ${kind}`} aria-hidden="true">
    <span style={{ width: `${share * 100}%` }} />
  </span>
);
