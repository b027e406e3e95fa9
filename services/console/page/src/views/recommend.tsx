// What a recommender names: items that go with others, or that many visitors want at the moment.

import { ask, get, has, part, post, sentence } from "../api";
import { Bar, Curl, Download, Loading, Problem, Tenant, useAnswer, useFields } from "../parts";
import { change, href, route } from "../route";
import { number, ordersLists, purpose } from "../text";
import type { ItemFields, RecommendAnswer, Status } from "../types";
import { About } from "./lists";

const COUNT = 20;
const EXAMPLES = 6;

export function Recommend() {
  const { params } = route.value;
  const status = useAnswer("status", () => ask<Status>(get("/status")));
  const models = Object.entries(status.data?.models ?? {}).filter(([, model]) => !ordersLists(model));
  const [name, model] = models.find(([name]) => name === params.model) ?? models[0] ?? ["", null];
  const trending = models.find(([, { purpose }]) => purpose === "popular")?.[0];
  const similar = models.find(([, { purpose }]) => purpose === "similar")?.[0];
  const needsItems = model?.purpose === "similar";
  const { tenant } = params;
  const items = ids(params.items ?? "");
  const count = Math.min(1000, Math.max(1, Number(params.count) || COUNT));

  const call = post(`/recommend/${part(name)}`, { count, items: needsItems ? items : [], tenant });
  const wants = model !== null && (!needsItems || items.length > 0);
  const answer = useAnswer(wants ? JSON.stringify(call) : "", () => ask<RecommendAnswer>(call));
  const popular = useAnswer(needsItems && items.length === 0 && trending ? `popular ${trending}` : "", () => ask<RecommendAnswer>(post(`/recommend/${part(trending!)}`, { count: EXAMPLES })));
  const named = [...new Set([...items, ...[...(wants ? (answer.data?.items ?? []) : []), ...(popular.data?.items ?? [])].map(({ item }) => item)])];
  const fields = useFields(named, tenant);
  const like = (item: string) => href("recommend", { model: similar, items: list([item]), count: params.count, tenant });

  return (
    <>
      <h1>Recommendations</h1>
      {status.error && <Problem error={status.error} />}
      {status.data && models.length === 0 && <p class="note odd">The configuration has no model that recommends items: one of the type als, semantic or trending.</p>}
      {model && (
        <>
          <section class="chooser" aria-label="What to recommend">
            <div class="row">
              <label>
                Model
                <select name="model" value={name} onChange={({ currentTarget: { value } }) => change({ model: value })}>
                  {models.map(([name, { type }]) => (
                    <option key={name} value={name}>
                      {name}: {purpose(type)}
                    </option>
                  ))}
                </select>
              </label>
              {needsItems && (
                <label class="grow">
                  Items that others should go with: ids, separated by commas
                  <input key={params.items} name="items" defaultValue={list(items, ", ")} onChange={({ currentTarget: { value } }) => change({ items: list(ids(value)) })} />
                </label>
              )}
              <label>
                How many
                <input type="number" name="count" min={1} max={1000} value={count} onChange={({ currentTarget: { value } }) => change({ count: value })} />
              </label>
              <Tenant value={tenant} onChange={(tenant) => change({ tenant })} />
            </div>
          </section>
          {needsItems && items.length > 0 && (
            <p class="context">
              {items.map((item) => (
                <span key={item}>
                  goes with <bdi>{fields[item]?.title || item}</bdi>
                </span>
              ))}
            </p>
          )}
          {needsItems && items.length === 0 && (
            <div>
              <p>Name an item to see similar items.{popular.data?.items.length ? " These are popular at the moment:" : ""}</p>
              <p class="tools">
                {popular.data?.items.map(({ item }) => (
                  <a key={item} href={like(item)}>
                    <bdi>{fields[item]?.title || item}</bdi>
                  </a>
                ))}
              </p>
            </div>
          )}
          {wants && answer.error && <Problem error={answer.error} />}
          {wants && answer.loading && !answer.data && <Loading />}
          {wants && answer.data && <Answer answer={answer.data} call={call} name={name} fields={fields} tenant={tenant} like={similar ? like : undefined} />}
        </>
      )}
    </>
  );
}

interface Props {
  answer: RecommendAnswer;
  call: ReturnType<typeof post>;
  name: string;
  fields: Record<string, ItemFields>;
  tenant?: string;
  like?: (item: string) => string;
}

function Answer({ answer: { items, fallback }, call, name, fields, tenant, like }: Props) {
  const most = Math.max(...items.map(({ score }) => score), 0) || 1;
  return (
    <>
      {fallback && <p class="note odd">{sentence(fallback)}</p>}
      {items.length === 0 && <p>The model names no items.</p>}
      {items.length > 0 && (
        <table class="recommended">
          <thead>
            <tr>
              <th scope="col">item</th>
              <th scope="col" class="right">
                score
              </th>
              <td class="wide" />
              <td />
            </tr>
          </thead>
          <tbody>
            {items.map(({ item, score }) => (
              <tr key={item}>
                <th scope="row">
                  <About item={item} fields={fields[item]} />
                </th>
                <td class="right">{number(score)}</td>
                <td class="wide">
                  <Bar share={score / most} />
                </td>
                <td>
                  <span class="tools">
                    {like && <a href={like(item)}>similar items</a>}
                    {has("GET /items/{id}") && <a href={href("look-up", { kind: "items", id: item, tenant })}>look it up</a>}
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <p class="tools">
        <Curl call={call} />
        {items.length > 0 && <Download name={`recommended-by-${name}`} rows={() => [["item", "title", "score"], ...items.map(({ item, score }) => [item, fields[item]?.title, score])]} json={() => items} />}
      </p>
    </>
  );
}

const ODD = /[\s,;]|^\[/;

/** Ids as text: as JSON where one has what stands between them. */
export const list = (ids: string[], between = ",") => (ids.some((id) => ODD.test(id)) ? JSON.stringify(ids) : ids.join(between));

/** Such a text's ids, each once. */
function ids(text: string): string[] {
  let found = text.split(/[\s,;]+/);
  if (text.trim().startsWith("["))
    try {
      found = (JSON.parse(text) as unknown[]).map(String);
    } catch {} // ids that begin like a list
  return [...new Set(found.filter(Boolean))];
}
