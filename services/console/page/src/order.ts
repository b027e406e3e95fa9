// Comparing orders.

/**
 * Kendall's tau of the items that both lists have: 1 for the same order, -1 for the reverse; null for fewer than two items.
 * Inversions are counted while a copy is merge sorted.
 */
export function kendall(first: readonly string[], second: readonly string[]): number | null {
  const at = places(second);
  const order = first.flatMap((item) => at.get(item) ?? []);
  const n = order.length;
  return n < 2 ? null : 1 - (4 * inversions(order)) / (n * (n - 1));
}

function inversions(values: number[]): number {
  if (values.length < 2) return 0;
  const middle = values.length >> 1;
  const [left, right] = [values.slice(0, middle), values.slice(middle)];
  let found = inversions(left) + inversions(right);
  for (let at = 0, l = 0, r = 0; at < values.length; at++) {
    if (r >= right.length || (l < left.length && left[l]! <= right[r]!)) values[at] = left[l++]!;
    else {
      found += left.length - l;
      values[at] = right[r++]!;
    }
  }
  return found;
}

/** Where each item of a list stands, from 0. */
export const places = (list: readonly string[]) => new Map(list.map((item, place) => [item, place]));

/** Names of items: their ids, and after that of one that was there already, how often it was. */
export function apart(ids: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return ids.map((id) => {
    const before = seen.get(id) ?? 0;
    seen.set(id, before + 1);
    return before === 0 ? id : `${id}\n${before}`;
  });
}
