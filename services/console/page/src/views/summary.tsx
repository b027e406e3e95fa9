// What differs between orders, in a sentence and a number.

import { sentence } from "../api";
import { kendall, places } from "../order";
import { count } from "../text";
import type { Column } from "./lists";

export function Summary({ columns }: { columns: Column[] }) {
  const [sent, ...orders] = columns;
  return (
    <div class="summary">
      {orders.map(({ name, items, answer }) => (
        <p key={name}>
          <b>
            <bdi>{name}</bdi>
          </b>{" "}
          {answer!.fallback ? (
            <span class="odd-text">kept the order as sent. {sentence(answer!.fallback)}</span>
          ) : (
            <>
              {moved(sent!.items, items)} <Tau first={sent!.items} second={items} sent />
            </>
          )}
        </p>
      ))}
      {orders.length === 2 && (
        <p>
          The two models <Tau first={orders[0]!.items} second={orders[1]!.items} />
        </p>
      )}
    </div>
  );
}

function moved(sent: string[], items: string[]): string {
  const before = places(sent);
  const moved = items.filter((id, place) => before.get(id) !== place).length;
  const missing = sent.length - items.length;
  const left = missing > 0 ? ` It leaves ${count(missing, "item")} out.` : "";
  if (moved === 0) return `keeps the order of all ${count(items.length, "item")}.${left}`;
  const top = before.get(items[0]!);
  const first = top ? ` Its first item was number ${top + 1}.` : " The first item stays first.";
  return `moves ${moved} of ${count(items.length, "item")}.${first}${left}`;
}

/** How much two orders agree. */
function Tau({ first, second, sent }: { first: string[]; second: string[]; sent?: boolean }) {
  const tau = kendall(first, second);
  if (tau === null) return <>There is nothing to compare.</>;
  const [one, two] = WORDS.find(([least]) => tau >= least)!.slice(1) as [string, string];
  return (
    <span title="Kendall's tau: 1 is the same order, 0 no relation, −1 the reverse">
      {sent ? `Its order ${one} the order as sent` : two} (Kendall's tau {tau.toFixed(2).replace("-", "−")}).
    </span>
  );
}

/** From which tau on, what an order has to do with the one as sent, and two models with each other. */
const WORDS: [number, string, string][] = [
  [0.999, "equals", "order items the same way"],
  [0.7, "is close to", "are close to each other"],
  [0.3, "partly agrees with", "partly agree"],
  [-0.3, "has little to do with", "have little in common"],
  [-0.7, "partly opposes", "partly oppose each other"],
  [-0.999, "nearly reverses", "nearly reverse each other"],
  [-1, "reverses", "reverse each other"],
];
