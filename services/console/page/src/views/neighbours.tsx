// Items that go with one, by each recommender that serves.

import { ask, get, has, itemFields, part, post, sentence } from "../api";
import { Curl, Problem, useAnswer } from "../parts";
import { href } from "../route";
import { number } from "../text";
import type { ItemFields, RecommendAnswer, Status } from "../types";

const COUNT = 8;
const SIMILAR = ["als", "semantic"];

export function Neighbours({ item }: { item: string }) {
  const status = useAnswer(has("POST /recommend/{model}") ? "status" : "", () => ask<Status>(get("/status")));
  const models = Object.entries(status.data?.models ?? {}).filter(([, { type, state }]) => SIMILAR.includes(type) && state === "loaded");
  return (
    <>
      {models.map(([name]) => (
        <By key={name} name={name} item={item} />
      ))}
    </>
  );
}

const NONE: Record<string, ItemFields> = {};

function By({ name, item }: { name: string; item: string }) {
  const call = post(`/recommend/${part(name)}`, { count: COUNT, items: [item] });
  const { data, error } = useAnswer(`${name} ${item}`, () => ask<RecommendAnswer>(call));
  const ids = data?.items.map(({ item }) => item) ?? [];
  const fields = useAnswer(ids.length ? `items ${ids.join()}` : "", () => itemFields(ids)).data ?? NONE;
  const id = `near-${name}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        What goes with it, by <bdi>{name}</bdi>
      </h2>
      {error && <Problem error={error} />}
      {data?.fallback && <p class="note odd">{sentence(data.fallback)}</p>}
      {data && ids.length === 0 && <p>The model names no items.</p>}
      {ids.length > 0 && (
        <table class="near">
          <thead>
            <tr>
              <th scope="col">item</th>
              <th scope="col" class="right">
                score
              </th>
            </tr>
          </thead>
          <tbody>
            {data!.items.map(({ item, score }) => (
              <tr key={item}>
                <th scope="row">
                  <a href={href("look-up", { kind: "items", id: item })}>
                    <bdi>{fields[item]?.title || item}</bdi>
                  </a>
                </th>
                <td class="right">{number(score)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="tools">
        <a href={href("recommend", { model: name, items: item })}>More of them</a>
        <Curl call={call} />
      </p>
    </section>
  );
}
