// Items that go with one, by each recommender that serves.

import { ask, get, has, part, post, sentence } from "../api";
import { Curl, Download, Problem, useAnswer, useFields } from "../parts";
import { href } from "../route";
import { number } from "../text";
import type { RecommendAnswer, Status } from "../types";
import { list } from "./recommend";

const COUNT = 8;

export function Neighbours({ item, tenant }: { item: string; tenant?: string }) {
  const status = useAnswer(has("POST /recommend/{model}") ? "status" : "", () => ask<Status>(get("/status")));
  const models = Object.entries(status.data?.models ?? {}).filter(([, { purpose, state }]) => purpose === "similar" && state === "loaded");
  return (
    <>
      {models.map(([name]) => (
        <By key={name} name={name} item={item} tenant={tenant} />
      ))}
    </>
  );
}

function By({ name, item, tenant }: { name: string; item: string; tenant?: string }) {
  const call = post(`/recommend/${part(name)}`, { count: COUNT, items: [item], tenant });
  const { data, error } = useAnswer(JSON.stringify(call), () => ask<RecommendAnswer>(call));
  const ids = data?.items.map(({ item }) => item) ?? [];
  const fields = useFields(ids, tenant);
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
                  <a href={href("look-up", { kind: "items", id: item, tenant })}>
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
        <a href={href("recommend", { model: name, items: list([item]), tenant })}>More of them</a>
        <Curl call={call} />
        {ids.length > 0 && <Download name={`near-${item}-by-${name}`} rows={() => [["item", "title", "score"], ...data!.items.map(({ item, score }) => [item, fields[item]?.title, score])]} json={() => data!.items} />}
      </p>
    </section>
  );
}
