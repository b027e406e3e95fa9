// Comparing orders.

/**
 * Kendall's tau of the items that both lists have: 1 for the same order, -1 for the reverse; null for fewer than two items.
 * Inversions are counted while a copy is merge sorted.
 */
export function kendall(first: readonly string[], second: readonly string[]): number | null {
  const places = new Map(second.map((id, place) => [id, place]));
  const seen = new Set<string>();
  const order: number[] = [];
  for (const id of first) {
    const place = places.get(id);
    if (place !== undefined && !seen.has(id)) order.push(place);
    seen.add(id);
  }
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

/** Where each item of a list stands, from 0; of an item that is there twice, its first place. */
export function places(list: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  list.forEach((id, place) => found.has(id) || found.set(id, place));
  return found;
}
