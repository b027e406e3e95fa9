// How values are spread over bins, in training and now.

import type { FeatureColumn, ValueSpread } from "../types";

/** What the configuration says of a feature. */
export interface Definition {
  name: string;
  type?: string;
  /** Of categories. */
  values?: unknown[];
}

export interface Row {
  label: string;
  training?: number;
  now?: number;
}

/** Items without a value, of all columns of a feature together. */
export function missing(spreads: (ValueSpread | null)[]): number | undefined {
  const known = spreads.filter((spread) => spread !== null);
  return known.length === 0 ? undefined : known.reduce((sum, { missing }) => sum + missing, 0) / known.length;
}

/** The part of the values that lies elsewhere now than in training; of several columns, where most does. */
export function moved(columns: FeatureColumn[]): number | undefined {
  const parts = columns.flatMap(({ training, now }) => (training && now ? [distance(training, now)] : []));
  return parts.length === 0 ? undefined : Math.max(...parts);
}

/** Half of what shares differ by, all together: what is missing is a bin of its own, and so is what lies in none. */
function distance(training: ValueSpread, now: ValueSpread): number {
  const shares = ({ missing, bins }: ValueSpread) => {
    const present = bins.map(({ share }) => share * (1 - missing));
    const inside = present.reduce((sum, share) => sum + share, 0);
    return [missing, ...present, Math.max(0, 1 - missing - inside)];
  };
  const [before, after] = [shares(training), shares(now)];
  return before.reduce((sum, share, at) => sum + Math.abs(share - after[at]!), 0) / 2;
}

/** A row for each bin, for what lies in none, and for what is missing; names are those of categories. */
export function rows({ training, now, categorical }: FeatureColumn, names: unknown[], told: (value: number) => string): Row[] {
  const spread = training ?? now;
  if (!spread) return [];
  const rows: Row[] = spread.bins.map(({ from, to }, at) => ({
    label: categorical ? category(from, names) : from === to ? told(from) : `${told(from)} to ${told(to)}`,
    training: training?.bins[at]?.share,
    now: now?.bins[at]?.share,
  }));
  const rest = (spread: ValueSpread | null) => spread && Math.max(0, 1 - spread.bins.reduce((sum, { share }) => sum + share, 0));
  const others = { label: categorical ? "other categories" : "outside of these", training: valued(training) ? rest(training)! : undefined, now: valued(now) ? rest(now)! : undefined };
  if ((others.training ?? 0) > 0.001 || (others.now ?? 0) > 0.001) rows.push(others);
  return rows;
}

const valued = (spread: ValueSpread | null) => spread !== null && spread.missing < 1;

/** Categories are numbered from 1 on, in the order of the configuration. */
const category = (place: number, names: unknown[]) => (place === 0 ? "none of the known ones" : String(names[place - 1] ?? `category ${place}`));
