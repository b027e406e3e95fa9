// Every view over the generated shop, trained: run(visitor, file of a request, folder for the pictures of the documentation, folder for
// those of all views).
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { smaller } from "../png.mjs";
import { NARROW, WIDE } from "../visitor.mjs";

const MANY = 1000;

export async function run(visitor, file, folder, all) {
  const request = JSON.parse(readFileSync(file, "utf8"));
  await visitor.ask("/rank/lightgbm", request);
  await overview(visitor);
  await tried(visitor, request);
  await reasons(visitor, request);
  await keyboard(visitor);
  await copied(visitor);
  await written(visitor, request);
  await many(visitor, request);
  await recommended(visitor);
  await manyRecommended(visitor);
  await features(visitor, request, join(dirname(file), "events.jsonl"));
  await versions(visitor);
  await evaluated(visitor);
  await lookedUp(visitor);
  await configured(visitor);
  await addressed(visitor);
  await accessible(visitor, all);
  await narrow(visitor, all);
  await pictures(visitor, folder);
}

async function overview(visitor) {
  const page = await visitor.open();
  const { models } = await visitor.ask("/status");
  visitor.equal(await visitor.texts(page, ".note"), [(await page.locator(".note.good").innerText()).trim()], "nothing is wrong");
  visitor.equal(await page.locator(".card").count(), Object.keys(models).length, "each model has a card");
  for (const [name, { version, metrics }] of Object.entries(models)) {
    const card = page.locator(".card").filter({ has: page.getByRole("heading", { name: new RegExp(`^${name} `) }) });
    const text = await card.innerText();
    visitor.check(text.includes(version), `${name}: ${text}`);
    for (const [metric, value] of Object.entries(metrics)) visitor.check(text.includes(`${value.toFixed(3)} ${metric}`), `${name}: ${text}`);
  }
  const { text } = await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }));
  visitor.matches(text, /^feature,values,bytes,share\n/);
  visitor.check(JSON.parse(execFileSync("bash", ["-c", await visitor.copied(page, page.getByRole("button", { name: "Copy as curl" }))])).models, "curl answers");
  await page.getByRole("link", { name: "Try a ranking" }).click();
  await page.locator("[role=listbox]").first().waitFor();
  await page.goBack();
  await page.locator(".card").first().waitFor();
  await visitor.close(page);
}

/** The ids of an order, as the page shows it. */
const shown = (page, list) => page.locator("[role=listbox]").nth(list).locator("[role=option]").evaluateAll((rows) => rows.map((row) => row.dataset.item));

const lists = async (page, number) => page.waitForFunction((number) => document.querySelectorAll("[role=listbox]").length === number, number);

async function tried(visitor, request) {
  const page = await visitor.open("#/try");
  await lists(page, 3);
  const sent = request.items.map(({ id }) => id);
  const orders = [];
  for (const model of ["lightgbm", "xgboost"]) orders.push((await visitor.ask(`/rank/${model}?explain=true`, request)).items.map(({ item }) => item));
  visitor.equal(await shown(page, 0), sent, "as sent");
  visitor.equal([await shown(page, 1), await shown(page, 2)], orders, "the orders of both models");

  const moves = await page.locator("[role=listbox]").nth(1).locator("[role=option]").evaluateAll((rows) => rows.map((row) => row.querySelector(".moved")?.textContent ?? ""));
  const by = (id, place) => sent.indexOf(id) - place;
  const told = (by) => (by === 0 ? "" : by > 0 ? `▲up ${by}` : `▼down ${-by}`);
  visitor.equal(moves, orders[0].map((id, place) => told(by(id, place))), "how far items moved");

  const tau = pairs(sent, orders[0]).toFixed(2).replace("-", "−");
  const summary = await page.locator(".summary p").first().innerText();
  visitor.check(summary.includes(`Kendall's tau ${tau}`), `tau is ${tau}`);
  const place = sent.indexOf(orders[0][0]);
  visitor.check(summary.includes(place === 0 ? "The first item stays first." : `Its first item was number ${place + 1}.`), summary);
  const risen = orders[0].find((id, place) => sent.indexOf(id) > place);
  visitor.equal(await chosen(page, 1), risen, "the reasons are those of an item that has risen");
  const tops = await page.locator("[role=listbox]").first().locator("[role=option]").evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().top));
  const middle = (place) => tops[place] - tops[0] + (tops[1] - tops[0]) / 2;
  const lines = { same: "", down: "", up: "" };
  sent.forEach((id, from) => {
    const to = orders[0].indexOf(id);
    lines[to < from ? "up" : to > from ? "down" : "same"] += `M0,${middle(from)}C24,${middle(from)} 24,${middle(to)} 48,${middle(to)}`;
  });
  const drawn = await page.locator("svg.lines").first().locator("path:not(.chosen)").evaluateAll((paths) => paths.map((path) => [path.className.baseVal, path.getAttribute("d")]));
  visitor.equal(drawn, Object.entries(lines), "a line for each item, from its place to its place");

  await page.locator("select[name=other]").selectOption("no other model");
  await lists(page, 2);
  await page.locator("select[name=model]").selectOption("xgboost");
  await page.waitForFunction((first) => document.querySelectorAll("[role=listbox]")[1]?.querySelector("[role=option]")?.dataset.item === first, orders[1][0]);
  await page.reload();
  await lists(page, 2);
  visitor.equal(await shown(page, 1), orders[1], "a reload shows the same");

  const { name, text } = await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }).last());
  visitor.equal(name, "ranking.csv", "the name of the file");
  const [head, ...rows] = text.trim().split("\n").map((line) => line.split(","));
  visitor.equal(head, ["item", "as sent", "xgboost", "score of xgboost"], "columns");
  visitor.equal(rows.map(([item]) => item), sent, "rows");
  visitor.equal(rows.map(([, , place]) => Number(place)), sent.map((id) => orders[1].indexOf(id) + 1), "places");
  await visitor.close(page);
}

const chosen = (page, list) => page.locator("[role=listbox]").nth(list).locator("[aria-selected=true]").evaluate((row) => row.dataset.item);

/** Kendall's tau, pair by pair. */
function pairs(first, second) {
  const at = new Map(second.map((id, place) => [id, place]));
  let sum = 0;
  for (let a = 0; a < first.length; a++) for (let b = a + 1; b < first.length; b++) sum += at.get(first[a]) < at.get(first[b]) ? 1 : -1;
  return (2 * sum) / (first.length * (first.length - 1));
}

/** Milliseconds in the largest unit that is whole. */
function span(time) {
  const [unit, length] = [["second", 1000], ["minute", 60_000], ["hour", 3_600_000], ["day", 86_400_000]].findLast(([unit, length]) => time >= (unit === "day" ? 2 : 1) * length) ?? [];
  const number = Math.floor(time / length);
  return unit ? `${number.toLocaleString("en-GB")} ${unit}${number === 1 ? "" : "s"}` : "less than a second";
}

async function reasons(visitor, request) {
  const page = await visitor.open("#/try");
  await lists(page, 3);
  const { items } = await visitor.ask("/rank/lightgbm?explain=contributions", request);
  const wanted = items[4];
  await page.locator("[role=listbox]").nth(1).locator("[role=option]").nth(4).click();
  const why = page.getByRole("complementary", { name: "Why" });
  await why.getByText(`Number 5 of ${items.length} by lightgbm, number ${request.items.findIndex(({ id }) => id === wanted.item) + 1} as sent.`).waitFor();
  const told = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
  const mean = (of) => items.reduce((sum, item) => sum + of(item) / items.length, 0);
  const brings = (name) => (item) => item.contributions.find((contribution) => contribution.name === name).value;
  const above = wanted.score - mean(({ score }) => score);
  const apart = wanted.contributions.map(({ name, value }) => [name, value - mean(brings(name))]).filter(([, value]) => value * above > 0);
  const most = apart.sort(([, a], [, b]) => Math.abs(b) - Math.abs(a)).slice(0, 3).map(([name, value]) => `${name} ${told(value)}`);
  await why.getByText(`Its score is ${Math.abs(above).toFixed(3)} ${above > 0 ? "above" : "below"} the average of this list. The largest parts of this difference: ${most.join(", ")}.`).waitFor();
  await why.getByRole("button", { name: `Show all ${wanted.features.length} features` }).click();
  await page.waitForURL((url) => url.hash.includes("all=1"));
  const rows = await why.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [row.querySelector(".name").textContent, row.lastElementChild.textContent]));
  const expected = [...wanted.contributions].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).map(({ name, value }) => [name, told(value)]);
  visitor.equal(rows, expected, "what each feature brings, largest first");
  const brought = [0, ...wanted.contributions.map(({ value }) => value)];
  const [low, high] = [Math.min(...brought), Math.max(...brought)];
  const bars = await why.locator("tbody .diverging").evaluateAll((bars) =>
    bars.map((bar) => {
      const [whole, part, nought] = [bar, bar.querySelector("span"), bar.querySelector("i")].map((one) => one.getBoundingClientRect());
      return { whole: whole.width, from: part.left - whole.left, width: part.width, nought: nought.left - whole.left };
    }),
  );
  const values = [...wanted.contributions].map(({ value }) => value).sort((a, b) => Math.abs(b) - Math.abs(a));
  for (const [at, { whole, from, width, nought }] of bars.entries()) {
    const pixels = (value) => (value * whole) / (high - low);
    const off = [from - pixels(Math.min(0, values[at]) - low), width - Math.max(1, pixels(Math.abs(values[at]))), nought - pixels(-low)];
    visitor.check(off.every((by) => Math.abs(by) < 0.5), `the bar of ${expected[at]} is off by ${off}`);
  }
  visitor.equal(await why.locator("tfoot td").allInnerTexts(), [told(wanted.bias), told(wanted.score)], "start and score");
  const missing = wanted.features.filter(({ value }) => [value].flat().every((value) => value === null)).map(({ name }) => name);
  const marked = await why.locator(".missing").evaluateAll((marks) => marks.map((mark) => mark.previousElementSibling.textContent));
  visitor.equal(marked.sort(), missing.sort(), "missing values are marked");
  const stored = wanted.contributions.filter(({ name, time }) => time !== undefined && !missing.includes(name)).map(({ name }) => name);
  const aged = await why.locator("tbody tr:has(.age)").evaluateAll((rows) => rows.map((row) => [row.querySelector(".name").textContent, row.querySelector(".age").textContent]));
  const old = ({ name, time }) => [name, time > Number(request.timestamp) ? "changed since" : `${span(Number(request.timestamp) - time)} old`];
  visitor.equal(aged.sort(), wanted.contributions.filter(({ name }) => stored.includes(name)).map(old).sort(), "each value that was stored has its age");
  for (const name of ["price", "ctr_category", "liked"]) visitor.check(stored.includes(name), `${name} has an age: it is of the item, of a field's value, of the visitor`);
  const value = ({ features }, wanted) => String(features.find(({ name }) => name === wanted).value);
  const alike = wanted.features.map(({ name }) => name).filter((name) => !missing.includes(name) && items.every((item) => value(item, name) === value(wanted, name)));
  const same = await why.locator("tbody tr:has(.same) .name").evaluateAll((names) => names.map((name) => name.textContent));
  visitor.equal(same.sort(), alike.sort(), "what all items share is told");
  for (const name of ["position", "query_words"]) visitor.check(same.includes(name), `${name} is the same for every item`);
  visitor.check(!same.includes("price"), "a price is not");

  await why.locator(".value", { hasText: ": " }).first().waitFor();
  const columns = Object.fromEntries((await visitor.ask("/models/lightgbm/features")).features.map(({ name, columns }) => [name, columns.map(({ name }) => name)]));
  const texts = Object.fromEntries(await why.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [row.querySelector(".name").textContent, row.querySelector(".value").textContent])));
  const several = wanted.features.filter(({ name, value }) => Array.isArray(value) && !missing.includes(name));
  visitor.check(several.some(({ name }) => name === "color"), "a colour has several columns");
  for (const { name } of several) visitor.equal(texts[name].split(", ").map((value) => value.split(": ")[0]), columns[name], `the columns of ${name} have their names`);

  const { text } = await visitor.saved(page, why.getByRole("button", { name: "Download CSV" }));
  const moment = (time) => (time === undefined ? "" : `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC`);
  const times = new Map(wanted.contributions.map(({ name, time }) => [name, time]));
  for (const { name, value } of wanted.features) {
    const json = missing.includes(name) ? "" : JSON.stringify(value);
    const cell = json.includes(",") ? `"${json}"` : json;
    visitor.check(text.includes(`\n${name},${cell},${moment(times.get(name))},`), `the file has ${name} with all digits: ${cell}`);
  }
  const numbers = text.trim().split("\n").slice(1).map((line) => Number(line.split(",").at(-1)));
  const sum = numbers.slice(0, -1).reduce((sum, value) => sum + value, 0);
  visitor.check(Math.abs(sum - wanted.score) < 1e-6, `${sum} is the score ${wanted.score}`);

  await why.getByRole("button", { name: "xgboost" }).click();
  await why.getByText("by xgboost").waitFor();
  await page.waitForURL((url) => url.hash.includes(`item=${wanted.item}`) && url.hash.includes("of=xgboost"));
  await page.reload();
  await why.getByText("by xgboost").waitFor();
  visitor.equal(await page.locator("[aria-selected=true]").count(), 3, "the item is marked in all lists after a reload");
  await why.getByRole("button", { name: "Show the largest" }).waitFor();
  await visitor.close(page);
}

async function keyboard(visitor) {
  const page = await visitor.open("#/try");
  await lists(page, 3);
  const [first, second, third] = await shown(page, 1);
  await page.locator("[role=listbox]").nth(1).focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  visitor.equal(await chosen(page, 1), third, "down and down");
  await page.keyboard.press("ArrowUp");
  visitor.equal(await chosen(page, 1), second, "up");
  await page.keyboard.press("ArrowRight");
  visitor.check(await page.locator("[role=listbox]").nth(2).evaluate((list) => list === document.activeElement), "right is the next list");
  visitor.equal(await chosen(page, 2), second, "with the same item");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Home");
  visitor.equal(await chosen(page, 1), first, "home");
  const outline = await page.locator("[role=listbox]").nth(1).evaluate((list) => getComputedStyle(list).outlineStyle);
  visitor.equal(outline, "solid", "the focus is seen");
  await visitor.close(page);
  for (const view of await present(visitor)) {
    const other = await visitor.open(view);
    await ready(other, view);
    await visitor.reached(other, view || "#/");
    await visitor.close(other);
  }
}

async function copied(visitor) {
  const page = await visitor.open("#/try");
  await lists(page, 3);
  const command = await visitor.copied(page, page.getByRole("button", { name: "Copy as curl: xgboost" }));
  const { items } = JSON.parse(execFileSync("bash", ["-c", command], { maxBuffer: 1 << 26 }));
  visitor.equal(items.map(({ item }) => item), await shown(page, 2), "the command answers what the page shows");
  await visitor.close(page);
}

/** Requests that are written on the page, wrong ones first. */
async function written(visitor, request) {
  visitor.refusals.add(400);
  const page = await visitor.open("#/try");
  await lists(page, 3);
  await page.getByRole("button", { name: "Change the request" }).click();
  const editor = page.locator("textarea[name=written]");
  const mistakes = [
    ["", /nothing here yet/],
    ['{"items": [\n  {"id": "p1"},,\n]}', /not JSON yet. Line 2, column 16/],
    ['{"items": []}', /at least one item/],
  ];
  for (const [text, said] of mistakes) {
    await editor.fill(text);
    await page.getByRole("button", { name: "Rank it" }).click();
    visitor.matches(await page.locator("#editor-error").filter({ hasText: said }).innerText(), said);
  }
  await editor.fill(JSON.stringify({ ...request, items: [{ id: "p1", fields: [{ name: 7 }] }] }));
  await page.getByRole("button", { name: "Rank it" }).click();
  visitor.matches(await page.locator("main > .note.bad").first().innerText(), /items\[0\]\.fields\[0\]/, "the place of the mistake");
  visitor.refusals.clear();

  await page.getByRole("button", { name: /request$/ }).click();
  const ages = [];
  for (const timestamp of [request.timestamp, new Date(Number(request.timestamp)).toISOString(), new Date(Number(request.timestamp)).toISOString().replace("Z", "+00:00[Europe/London]")]) {
    await editor.fill(JSON.stringify({ ...request, timestamp }));
    await page.getByRole("button", { name: "Rank it" }).click();
    await editor.waitFor({ state: "detached" });
    await page.locator("[aria-busy=false]").waitFor();
    ages.push(await visitor.texts(page, ".age"));
    await page.getByRole("button", { name: "Change the request" }).click();
  }
  visitor.check(ages[0].length > 0 && ages[0].every((age) => /^(\d+ .*|less than a second) old$|^changed since$/.test(age)), `ages are ${ages[0]}`);
  visitor.equal([ages[1], ages[2]], [ages[0], ages[0]], "a time of ISO 8601 is the same time");

  await editor.fill("p1, p2\np3 p4");
  await editor.press("Control+Enter");
  await page.waitForFunction(() => document.querySelectorAll("[role=listbox]")[2]?.children.length === 4);
  visitor.equal(await shown(page, 0), ["p1", "p2", "p3", "p4"], "ids alone are a request");
  const address = page.url();
  await visitor.close(page);
  const again = await visitor.open(address.slice(address.indexOf("#")));
  await lists(again, 3);
  visitor.equal(await shown(again, 0), ["p1", "p2", "p3", "p4"], "the address has the request");
  await again.getByRole("button", { name: "Change the request" }).click();
  await again.getByRole("button", { name: "Take the 24 most popular items" }).click();
  await again.waitForFunction(() => document.querySelectorAll("[role=listbox]")[2]?.children.length === 24);
  await visitor.close(again);
}

async function many(visitor, request) {
  const page = await visitor.open("#/try");
  await lists(page, 3);
  await page.getByRole("button", { name: "Change the request" }).click();
  const items = Array.from({ length: MANY }, (_, at) => ({ id: `p${at}`, fields: [{ name: "relevancy", value: 3 - at / 500 }] }));
  await page.locator("textarea[name=written]").fill(JSON.stringify({ ...request, items }));
  const began = Date.now();
  await page.getByRole("button", { name: "Rank it" }).click();
  await page.waitForFunction((many) => document.querySelectorAll("[role=listbox]")[2]?.children.length === many, MANY);
  const drawn = Date.now() - began;
  await page.locator("[role=listbox]").nth(1).focus();
  const moved = Date.now();
  for (let step = 0; step < 20; step++) await page.keyboard.press("ArrowDown");
  const step = (Date.now() - moved) / 20;
  await page.keyboard.press("End");
  await page.getByText("Number 1,000 of 1,000 by lightgbm").waitFor();
  await page.waitForFunction((item) => location.hash.includes(`item=${item}&`) || location.hash.endsWith(`item=${item}`), await chosen(page, 1));
  console.log(`1,000 items: shown after ${drawn} ms, ${step.toFixed(0)} ms for each step with the keyboard`);
  visitor.check(await page.locator("[role=listbox]").nth(1).locator("[aria-selected=true]").evaluate((row) => row.getBoundingClientRect().bottom <= innerHeight), "the last item is in sight");
  await visitor.accessible(page, "a ranking of 1,000 items");
  await page.reload();
  await page.getByText("Number 1,000 of 1,000 by lightgbm").waitFor();
  await visitor.close(page);
}

async function recommended(visitor) {
  const page = await visitor.open("#/recommend");
  const named = async () => (await visitor.texts(page, ".recommended tbody th")).map((text) => /\bp\d+\b/.exec(text)?.[0]);
  const popular = await visitor.ask("/recommend/popular", { count: 20 });
  visitor.equal(await named(), popular.items.map(({ item }) => item), "what is popular");
  await page.locator(".recommended tbody a").first().click();
  await page.getByText("goes with").first().waitFor();
  const similar = await visitor.ask("/recommend/similar", { count: 20, items: [popular.items[0].item] });
  await page.waitForFunction((first) => document.querySelector(".recommended tbody th")?.innerText.includes(first), similar.items[0].item);
  visitor.equal(await named(), similar.items.map(({ item }) => item), "what goes with the most popular item");
  await page.reload();
  visitor.equal(await named(), similar.items.map(({ item }) => item), "a reload shows the same");
  const answer = JSON.parse(execFileSync("bash", ["-c", await visitor.copied(page, page.getByRole("button", { name: "Copy as curl" }))]));
  visitor.equal(answer.items, similar.items, "curl answers the same");
  const { text } = await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }));
  visitor.equal(text.trim().split("\n").length, 21, "a line for each item");
  await page.getByLabel(/^Items that others/).fill("nothing-of-this-name");
  await page.getByLabel(/^Items that others/).press("Enter");
  visitor.matches(await page.locator(".note.odd").innerText(), /popular answers in its place/);
  await visitor.close(page);
}

/** As many as may be asked for. */
async function manyRecommended(visitor) {
  const page = await visitor.open("#/recommend?model=similar&items=p1&count=1000");
  const items = Array.from({ length: MANY }, (_, at) => ({ item: `p${at}`, score: MANY - at }));
  await page.route("**/recommend/similar", (route) => route.fulfill({ json: { took: 1, items } }));
  await page.reload();
  const began = Date.now();
  await page.waitForFunction((many) => document.querySelectorAll(".recommended tbody tr").length === many, MANY);
  console.log(`1,000 recommended items: shown after ${Date.now() - began} ms`);
  await page.locator(".recommended .title", { hasText: /^[^p]/ }).first().waitFor();
  await page.locator(".recommended tbody a").last().focus();
  visitor.check(await page.locator(".recommended tbody a").last().evaluate((link) => link.getBoundingClientRect().bottom <= innerHeight), "the last one is in sight");
  await visitor.accessible(page, "1,000 recommended items");
  await visitor.close(page);
}

/** As many different requests as are compared; the newest one is that of the other tests. */
async function features(visitor, request, events) {
  const rankings = readFileSync(events, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line)).filter(({ event }) => event === "ranking").slice(-50);
  for (const ranking of rankings.slice(0, 5)) await visitor.ask("/rank/lightgbm", ranking);
  const few = await visitor.open("#/features?model=lightgbm");
  await few.getByText("6 requests are too few to compare").waitFor();
  visitor.check((await few.locator(".features tbody td.quiet").count()) > 0, "what has moved is grey");
  await few.goto(`${visitor.url}/#/features?model=xgboost`);
  await few.getByText("6 newest requests for lightgbm, because xgboost has none.").waitFor();
  await visitor.accessible(few, "features of few requests");
  await visitor.close(few);
  for (const ranking of [...rankings.slice(5), request]) await visitor.ask("/rank/lightgbm", ranking);

  const page = await visitor.open("#/features?model=lightgbm");
  const told = await visitor.ask("/models/lightgbm/features");
  const { models } = await visitor.ask("/models");
  const { size } = await visitor.ask("/status");
  const names = await visitor.texts(page, ".features tbody th");
  const percent = (share) => (share === undefined ? "–" : share === 0 ? "0 %" : `${(share * 100).toFixed(1)} %`);
  const helps = (model) => {
    const gains = models.find(({ name }) => name === model).versions.at(-1).features;
    const all = gains.reduce((sum, { gain }) => sum + gain, 0);
    return new Map(gains.map(({ name, gain }) => [name, gain / all]));
  };
  const [own, other] = ["lightgbm", "xgboost"].map(helps);
  const mean = (spreads) => (spreads.includes(null) ? undefined : spreads.reduce((sum, { missing }) => sum + missing, 0) / spreads.length);
  const moved = ({ training, now }) => {
    const shares = ({ missing, bins }) => {
      const inside = bins.map(({ share }) => share * (1 - missing));
      return [missing, ...inside, Math.max(0, 1 - missing - inside.reduce((sum, share) => sum + share, 0))];
    };
    const [before, after] = [training, now].map(shares);
    return before.reduce((sum, share, at) => sum + Math.abs(share - after[at]), 0) / 2;
  };
  const bytes = (size) => (size === undefined ? "–" : size < 1024 ? `${size} bytes` : size < 1024 ** 2 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / 1024 ** 2).toFixed(1)} MiB`);
  const rows = told.features
    .map(({ name, columns }) => [
      name,
      percent(own.get(name)),
      "",
      percent(other.get(name)),
      percent(mean(columns.map(({ training }) => training))),
      percent(mean(columns.map(({ now }) => now))),
      // positions are not compared, because serving has none
      percent(name === "position" ? undefined : Math.max(...columns.map(moved))),
      bytes(size.features[name]?.bytes),
    ])
    .sort(([a], [b]) => (own.get(b) ?? 0) - (own.get(a) ?? 0));
  const cells = await page.locator(".features tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  visitor.equal(cells, rows, "all features of the model, the one that helps most first");
  visitor.check(told.requests > 50 && (await page.getByText(/newest requests?\. Training/).innerText()).includes(`${told.items.toLocaleString("en-GB")} items`), "what now is");
  visitor.equal([await page.getByText("too few to compare").count(), await page.locator(".features tbody td.quiet").count()], [0, 0], "there are enough");
  const of = (name) => told.features.find((feature) => feature.name === name).columns[0];
  await page.getByRole("heading", { name: `Values of ${names[0]}` }).waitFor();
  for (const name of names.slice(0, 3)) {
    await page.locator(".features").getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { name: `Values of ${name}` }).waitFor();
    const shown = await page.locator(".spread").first().locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].slice(1, 3).map((cell) => cell.textContent)));
    await page.waitForFunction(() => document.activeElement.id === "values" && document.activeElement.getBoundingClientRect().top < innerHeight);
    const { training, now } = of(name);
    const shares = training.bins.map(({ share }, at) => [percent(share), percent(now.bins[at].share)]);
    visitor.equal(shown.slice(0, shares.length), shares, `${name} in training and now`);
  }
  await page.reload();
  await page.getByRole("heading", { name: `Values of ${names[2]}` }).waitFor();
  const { text } = await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }).first());
  visitor.equal(text.trim().split("\n").slice(1).map((line) => line.split(",")[0]), names, "a line for each feature");
  visitor.matches((await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }).last())).text, /^column,values,training,now\n/);
  const answer = JSON.parse(execFileSync("bash", ["-c", await visitor.copied(page, page.getByRole("button", { name: "Copy as curl" }))]));
  visitor.equal(answer.features.length, names.length, "curl answers the same");
  await page.locator("select[name=model]").selectOption({ index: 1 });
  await page.waitForFunction((chosen) => document.querySelector("select[name=model]").value !== chosen, "lightgbm");
  await page.locator(".features tbody tr").first().waitFor();
  await visitor.close(page);

  // values that have moved, and a state that does not answer
  const away = await visitor.open("#/features?model=lightgbm");
  const column = { ...of(names[0]), now: { missing: 0.9, bins: of(names[0]).training.bins.map((bin) => ({ ...bin, share: 0 })) } };
  const same = ({ name, columns }) => ({ name, columns: columns.map((column) => ({ ...column, now: column.training })) });
  const features = told.features.map((feature) => (feature.name === names[0] ? { ...feature, columns: [column] } : same(feature)));
  await away.route("**/models/lightgbm/features", (route) => route.fulfill({ json: { ...told, requests: 50, problem: "the store is away", features } }));
  await away.reload();
  visitor.matches(await away.locator(".note.odd").innerText(), new RegExp(`holds other values now than in training: ${names[0]}`));
  visitor.matches(await away.locator(".note.bad").innerText(), /The values of now cannot be read. The store is away\./);
  visitor.check((await away.locator(".spread").first().innerText()).match(/outside of these|other categories/), "what lies in no bin");
  await visitor.accessible(away, "a feature that moved");
  await visitor.close(away);
}

async function versions(visitor) {
  const page = await visitor.open("#/models?model=xgboost");
  const { models } = await visitor.ask("/models");
  const [known] = models.find(({ name }) => name === "xgboost").versions;
  await page.locator("#versions").waitFor();
  const text = await page.locator("section", { has: page.locator("#versions") }).innerText();
  for (const word of [known.version, known.metrics["NDCG@10"].toFixed(4), "answers"]) visitor.check(text.includes(word), `${word} in ${text}`);
  const features = await page.locator(".room tbody th").allInnerTexts();
  visitor.equal(features, known.features.slice(0, features.length).map(({ name }) => name), "features by gain");
  visitor.matches((await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }).last())).text, /^feature,\S+,\n/);

  const curve = page.locator("figure.curve");
  const { rounds } = known.curve;
  const paths = await curve.locator("path.test, path.train").evaluateAll((paths) => paths.map((path) => path.getAttribute("d").split(/[ML]/).length - 1));
  visitor.equal(paths, [rounds.length, rounds.length], "a point for each round, on both splits");
  const end = `to ${rounds.at(-1).test.toFixed(4)} in round ${rounds.at(-1).round}`;
  visitor.check((await curve.getByRole("img").getAttribute("aria-label")).includes(end), `${end} is told`);
  visitor.matches(await curve.innerText(), new RegExp(`its last round, ${known.trees}`));
  const saved = await visitor.saved(page, curve.getByRole("button", { name: "Download CSV" }));
  visitor.equal([saved.name, saved.text.trim().split("\n").length], ["learning-curve-of-xgboost.csv", rounds.length + 1], "the curve as a file");
  await visitor.close(page);
}

/** What an evaluation comes to, and the way from one of the worst lists to the items that visitors chose. */
async function evaluated(visitor) {
  const page = await visitor.open("#/evaluation");
  await page.getByText("Nothing was evaluated since the service was started.").waitFor();
  await page.getByLabel(/^Break down by a field/).fill("category");
  await page.getByLabel(/^Break down by a field/).press("Enter");
  await page.waitForURL((url) => url.hash.includes("by=category"));
  await page.locator("#metrics").waitFor();
  const { last, running } = await visitor.ask("/evaluation");
  const { report } = last;
  visitor.equal([running, last.problem, last.compared], [null, null, { models: [], by: "category" }], "it ended");
  visitor.matches(await page.getByText(/^Evaluated /).innerText(), /^Evaluated (just now|\d+ \w+ ago), in [^:]*: all models, as they answered then; broken down by category\. The service keeps this report until it stops\.$/);
  const names = { shown: "the order as visitors saw it", random: "a random order" };
  const told = (value) => value.toFixed(4).replace("-", "−");
  const named = (ranker) => names[ranker] ?? ranker;
  const rows = (table) => table.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [row.children[0].innerText, row.children[1].innerText]));
  const scores = (metric) => report.scores.filter((score) => score.metric === metric).map(({ ranker, value }) => [named(ranker), told(value)]);
  visitor.equal(await rows(page.locator(".figures").first()), scores(report.metrics[0]), "a figure of each order");
  const differences = report.differences.filter(({ metric }) => metric === report.metrics[0]).map(({ ranker, than, value }) => [`${named(ranker)} − ${named(than)}`, `${value > 0 ? "+" : ""}${told(value)}`]);
  visitor.equal(await rows(page.locator(".figures").nth(1)), differences, "a difference of each two");
  const values = await page.locator("section", { has: page.locator("#segments") }).locator("tbody th").allInnerTexts();
  visitor.equal(values, report.segments.segments.map(({ value }) => value ?? "(none)"), "a line for each category");
  const heads = await page.locator("section", { has: page.locator("#segments") }).locator("thead th").allInnerTexts();
  visitor.equal(heads, ["category", "lists", ...report.rankers.map(({ name }) => named(name))], "orders have one name everywhere");
  const ends = report.scores.filter(({ metric }) => metric === report.metrics[0]).flatMap(({ value, low, high }) => [value, low, high]).filter((end) => end !== null);
  const scale = [Math.min(...ends), Math.max(...ends)].map(told);
  visitor.equal(await page.locator(".figures").first().locator(".scale span").allInnerTexts(), scale, "the ends of the scale");
  visitor.equal(await page.locator(".figures").nth(1).locator(".scale .nought").innerText(), "0", "where two orders are as good");
  visitor.matches(await page.locator("section", { has: page.locator("#metrics") }).innerText(), /: the newest 20 %\. /);
  const { text } = await visitor.saved(page, page.locator("section", { has: page.locator("#metrics") }).getByRole("button", { name: "Download CSV" }));
  visitor.equal(text.trim().split("\n").length, 1 + report.scores.length + report.differences.length, "a line for each figure");
  visitor.equal(JSON.parse(execFileSync("bash", ["-c", await visitor.copied(page, page.getByRole("button", { name: "Copy as curl: the report" }))], { maxBuffer: 1 << 26 })).last.report.model, report.model, "curl answers the report");

  await page.reload();
  const worst = page.locator("section", { has: page.locator("#worst") });
  await worst.getByRole("link", { name: "Try it" }).first().waitFor();
  const [first] = report.worst[0].lists;
  visitor.matches(await worst.locator("tbody tr").first().innerText(), new RegExp(first.ranking));
  await worst.getByRole("link", { name: "Try it" }).first().click();
  await lists(page, 2);
  visitor.equal(await page.evaluate(() => [scrollY, document.activeElement.id]), [0, "main"], "a view begins at its top");
  const { requests } = await visitor.ask("/requests");
  const list = requests.find(({ relevant, request }) => relevant && request.id === first.ranking);
  visitor.equal(await shown(page, 0), list.request.items.map(({ id }) => id), "the list as visitors saw it");
  const starred = await page.locator("[role=listbox]").first().locator("[role=option]").evaluateAll((rows) => rows.filter((row) => row.querySelector(".relevant")).map((row) => row.dataset.item));
  visitor.equal(starred.sort(), [...new Set(list.relevant)].sort(), "what visitors chose is marked");
  visitor.equal(starred.length, first.relevant, "as many as the report says");
  visitor.check(starred.includes(await chosen(page, 1)), "the reasons are those of an item that the visitor chose");
  await visitor.accessible(page, "a worst list");
  // as of a list that takes more than the service keeps
  await page.route("**/requests", (route) => route.fulfill({ json: { requests: requests.filter(({ request }) => request.id !== first.ranking) } }));
  await page.goto(`${visitor.url}/#/evaluation`);
  await worst.getByText("too large to keep").first().waitFor();
  visitor.matches(await worst.locator("tbody tr").first().innerText(), /too large to keep/);
  await visitor.close(page);
}

async function lookedUp(visitor) {
  visitor.refusals.add(404);
  const page = await visitor.open("#/look-up");
  await page.getByLabel("Its id").fill("p1");
  await page.getByRole("button", { name: "Look it up" }).click();
  const stored = await visitor.ask("/items/p1");
  const ages = await page.locator(".stored tbody tr").evaluateAll((rows) => rows.map((row) => [row.cells[0].title, row.cells[2].textContent]));
  visitor.equal(ages.sort(), stored.values.map(({ name, time }) => [name, `${span(Date.now() - time)} ago`]).sort(), "all stored values, with their ages");
  const told = (await visitor.texts(page, ".stored tbody th")).filter((text) => !/^item\.\w+$/.test(text));
  const plain = [
    "item.brand, newest values",
    "item.category, newest values",
    "clicks, all",
    "purchases, all",
    "clicks, counted by day",
    "purchases, counted by day",
    "clicks on shown lists, counted by day",
    "impressions on shown lists, counted by day",
    "purchases on shown lists, counted by day",
    "item.title, pieces of 3 letters in en",
    "item.title, words in en",
  ];
  visitor.equal(told.sort(), plain.sort(), "what the counters are and what is made of texts, in words");
  const brand = stored.values.find(({ name }) => name === "item.brand").value;
  visitor.equal(await page.locator(".stored tr", { hasText: "item.brand, newest values" }).locator("td").first().innerText(), brand, "of a list of values, the values alone");
  const title = stored.values.find(({ name }) => name === "item.title").value;
  visitor.matches(await page.locator(".stored").innerText(), new RegExp(title));
  const near = await visitor.ask("/recommend/similar", { count: 8, items: ["p1"] });
  await page.waitForFunction((number) => document.querySelectorAll(".near tbody tr").length === number, near.items.length);
  const { name, text } = await visitor.saved(page, page.locator("section", { has: page.locator(".near") }).getByRole("button", { name: "Download CSV" }));
  visitor.equal(name, "near-p1-by-similar.csv", "the name of the file");
  visitor.equal(text.trim().split("\n").slice(1).map((line) => line.split(",")[0]), near.items.map(({ item }) => item), "a line for each item");
  visitor.check((await visitor.texts(page, "section:has(#newest) tbody tr")).some((text) => /click/.test(text)), "when it was clicked last");
  await page.reload();
  await page.locator(".stored").waitFor();
  await page.locator("select[name=kind]").selectOption("a visitor");
  await page.getByLabel("Its id").fill("u424");
  await page.getByLabel("Its id").press("Enter");
  await page.locator(".about .title").filter({ hasText: "u424" }).waitFor();
  const known = await visitor.ask("/users/u424");
  const names = known.values.map(({ name }) => name.replace('recent "click" by user', "newest clicks"));
  visitor.equal((await visitor.texts(page, ".stored tbody th")).sort(), names.sort(), "values of a visitor");
  const newest = known.values.flatMap(({ value, times }) => (times ?? []).map((time, at) => [time, value[at]])).sort(([a], [b]) => b - a);
  if (newest.length > 0) visitor.matches((await visitor.saved(page, page.locator("section:has(#newest)").getByRole("button", { name: "Download CSV" }))).text.split("\n")[1], new RegExp(`,${newest[0][1]}$`));
  await page.getByLabel("Its id").fill("u425");
  await page.getByLabel("Its id").press("Enter");
  await page.locator(".about .title").filter({ hasText: "u425" }).waitFor();
  // a state of its own is changed by other means
  visitor.equal(await page.getByRole("button", { name: "Forget" }).count(), 0, "nothing can be forgotten here");
  await page.getByText(/^This visitor cannot be forgotten here\. .*run rankwright forget\.$/).waitFor();
  await page.getByLabel("Its id").fill("never-heard-of");
  await page.getByLabel("Its id").press("Enter");
  await page.getByText("Nothing is stored under this id.").waitFor();
  await visitor.close(page);
  visitor.refusals.clear();
}

async function configured(visitor) {
  const page = await visitor.open("#/configuration");
  const { configuration, defaults } = await visitor.ask("/configuration");
  visitor.check(defaults.includes("api.limits.drainTimeout") && !defaults.includes("api.port"), `defaults are ${defaults}`);
  visitor.equal((await visitor.texts(page, ".keys summary b")).sort(), Object.keys(configuration).sort(), "all sections");
  await page.getByLabel("Find a key or a value").fill("numLeaves");
  await page.waitForFunction(() => document.querySelectorAll(".keys tbody tr").length === 1);
  visitor.equal(await page.locator(".keys tbody tr").innerText(), "models.lightgbm.backend.numLeaves\t32", "what was looked for");
  const { text } = await visitor.saved(page, page.getByRole("button", { name: "Download JSON" }));
  visitor.equal(JSON.parse(text), configuration, "the file is the configuration");
  await page.getByLabel("Find a key or a value").fill("api.limits.drainTimeout");
  await page.waitForFunction(() => document.querySelectorAll(".keys tbody tr").length === 1);
  visitor.equal(await page.locator(".keys tbody tr").innerText(), "api.limits.drainTimeout\t30s default", "a default says that it is one");
  await page.locator("select[name=show]").selectOption("only what is set");
  await page.getByText("No key or value has this text.").waitFor();
  await visitor.close(page);
}

/** Addresses, and what the controls of their views have then. */
async function addressed(visitor) {
  const told = await visitor.ask("/evaluation");
  told.last.report.metrics.push("MRR@5");
  const input = (name) => (page) => page.locator(`[name=${name}]`).inputValue();
  const pressed = (group) => (page) => page.getByRole("group", { name: group, exact: true }).locator("[aria-pressed=true]").innerText();
  const all = [
    ["#/?all=1", [["true", (page) => page.getByRole("button", { name: "Show the largest" }).getAttribute("aria-expanded")]]],
    ["#/configuration?find=price&show=given", [["price", input("find")], ["given", input("show")]]],
    ["#/evaluation?metric=MRR@5&by=brand&of=xgboost&history=xgboost", [["MRR@5", pressed("Metric")], ["brand", input("by")], ["xgboost", pressed("Order")], ["xgboost", pressed("Model")]]],
  ];
  for (const [address, controls] of all) {
    const page = await visitor.open();
    await page.route("**/evaluation", (route) => route.fulfill({ json: told }));
    await page.goto(`${visitor.url}/${address}`);
    await page.reload();
    await ready(page, address);
    for (const [expected, value] of controls) visitor.equal(await value(page), expected, address);
    await visitor.close(page);
  }
}

const VIEWS = ["", "#/try", "#/recommend", "#/recommend?model=similar&items=p1", "#/features", "#/models", "#/evaluation", "#/look-up?id=p1", "#/configuration"];

/** Views that the service has. */
async function present(visitor) {
  const page = await visitor.open();
  await page.locator("nav a").first().waitFor();
  const links = await page.locator("nav a").evaluateAll((links) => links.map((link) => link.getAttribute("href").slice(2)));
  await visitor.close(page);
  return VIEWS.filter((view) => links.includes(view.slice(2).split("?")[0]));
}

/** What a view has once all of it is there. */
const LAST = { "": ".room", try: ".reasons .age", recommend: ".recommended .title", features: ".spread", models: ".facts", evaluation: "#history", "look-up": ".near .title, .near a", configuration: ".keys" };

async function ready(page, view) {
  if (view === "#/try") await lists(page, 3);
  await page.locator(LAST[view.slice(2).split("?")[0]]).first().waitFor();
  await page.waitForFunction(() => !document.querySelector("main").innerText.includes("Loading…"));
}

/** A picture of a view, to be looked at. */
const picture = (page, folder, view, kind = "") => page.screenshot({ path: join(folder, `${(view.slice(2) || "overview").replace(/\W+/g, "-")}${kind}.png`), fullPage: true });

async function accessible(visitor, folder) {
  for (const view of await present(visitor)) {
    for (const dark of [false, true]) {
      const page = await visitor.open(view, { dark });
      await ready(page, view);
      await visitor.accessible(page, `${view || "#/"}${dark ? ", dark" : ""}`);
      await picture(page, folder, view, dark ? "-dark" : "");
      if (!dark) await visitor.commands(page, view || "#/");
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
      visitor.check(dark ? Math.max(...ground) < 60 : Math.min(...ground) > 200, `the ground is ${ground}`);
      await visitor.close(page);
    }
  }
}

async function narrow(visitor, folder) {
  for (const view of await present(visitor)) {
    const page = await visitor.open(view, { size: NARROW });
    await ready(page, view);
    await visitor.accessible(page, `${view || "#/"}, 360 pixels wide`);
    await picture(page, folder, view, "-narrow");
    if (view === "#/try") {
      visitor.equal(await page.locator("[role=listbox]:visible").count(), 1, "one list at a time");
      await page.getByRole("group", { name: "List" }).getByRole("button", { name: "xgboost" }).click();
      visitor.check(await page.getByRole("listbox", { name: "Order of xgboost" }).isVisible(), "the other one");
      await page.waitForURL((url) => url.hash.includes("list=2"));
      await page.reload();
      await lists(page, 3);
      visitor.check(await page.getByRole("listbox", { name: "Order of xgboost" }).isVisible(), "after a reload, too");
      await page.locator("[role=option]:visible").nth(2).click();
      await page.getByRole("complementary", { name: "Why" }).getByText("Number 3 of").waitFor();
    }
    await visitor.close(page);
  }
}

/** Pictures for the documentation. */
async function pictures(visitor, folder) {
  const take = async (name, page, height) => {
    await page.evaluate(() => document.activeElement.blur());
    await page.mouse.move(0, 0);
    await page.setViewportSize({ ...WIDE, height });
    writeFileSync(join(folder, `${name}.png`), smaller(await page.screenshot()));
    await visitor.close(page);
  };
  const page = await visitor.open("#/try");
  await lists(page, 3);
  await page.locator(".age").first().waitFor();
  await take("try", page, 860);

  const features = await visitor.open("#/features?model=lightgbm");
  await features.locator(".spread").first().waitFor();
  await take("features", features, 860);

  const evaluation = await visitor.open("#/evaluation");
  await evaluation.locator("#metrics").waitFor();
  await take("evaluation", evaluation, 860);
}
