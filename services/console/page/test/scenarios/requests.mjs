// Requests of two tenants, of which the service keeps the newest of each model alone: run(visitor). It has two models, keep and mix.
const lists = (page, number) => page.waitForFunction((number) => document.querySelectorAll("[role=listbox]").length === number, number);
const heads = (page) => page.locator(".list h2").allInnerTexts();
const titles = (page) => page.locator("[role=listbox]").first().locator(".title").allInnerTexts();

export async function run(visitor) {
  const time = String(Date.now());
  const item = (tenant, at) => ({
    event: "item",
    id: `${tenant} ${at}`,
    item: `i${at}`,
    tenant,
    timestamp: time,
    fields: [
      { name: "title", value: `${tenant} title ${at}` },
      { name: "price", value: 1299.95 + at },
    ],
  });
  await visitor.ask("/feedback", ["default", "other"].flatMap((tenant) => [0, 1, 2].map((at) => item(tenant, at))));
  await tenants(visitor, time);
  await models(visitor);
  await late(visitor);
  await gone(visitor, time);
  await agreement(visitor);
  await twice(visitor);
}

const request = (id, time, items, more = {}) => ({ id, timestamp: time, user: "jane", items: items.map((id) => ({ id })), ...more });

/** Titles are those of the tenant that is meant, in each view. */
async function tenants(visitor, time) {
  await visitor.ask("/rank/keep", request("r1", time, ["i0", "i1"], { tenant: "other" }));
  visitor.refusals.add(404);
  const page = await visitor.open("#/try");
  await page.getByText("other title 0").first().waitFor();
  visitor.equal(await titles(page), ["other title 0", "other title 1"], "titles of the tenant of the request");
  visitor.matches(await page.locator(".context").innerText(), /tenant other/);
  visitor.matches(await page.locator(".context").innerText(), /^asked (just now|\d+ .* ago)/);
  visitor.matches(await page.locator("[role=listbox]").first().innerText(), /i0 · 1299\.95/, "a price has all its digits");

  await page.goto(`${visitor.url}/#/look-up?id=i1`);
  await page.locator(".about .title", { hasText: "default title 1" }).waitFor();
  await page.locator("input[name=tenant]").fill("other");
  await page.locator("input[name=tenant]").press("Enter");
  await page.locator(".about .title", { hasText: "other title 1" }).waitFor();
  visitor.matches(await page.locator(".stored").innerText(), /other title 1/, "and what is stored");
  visitor.matches(await page.locator(".stored").innerText(), /\b1300\.95\b/, "with all digits");
  visitor.matches((await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }).first())).text, /^item\.price,1300\.95,/m, "a file has numbers as they are");
  visitor.matches(await visitor.copied(page, page.getByRole("button", { name: "Copy as curl" })), /items\/i1\?tenant=other'/);
  await visitor.accessible(page, "an item of another tenant");
  await page.reload();
  await page.locator(".about .title", { hasText: "other title 1" }).waitFor();
  await page.locator("input[name=tenant]").fill("nobody");
  await page.locator("input[name=tenant]").press("Enter");
  await page.getByText("Nothing is stored under this id.").waitFor();
  visitor.equal(await page.locator(".about").count(), 0, "nothing of another tenant is left");
  await page.getByLabel("Its id").fill("..");
  await page.getByLabel("Its id").press("Enter");
  await page.getByText("Browsers take this id for a part of an address").waitFor();
  await visitor.close(page);
}

/** A model is not compared with itself. */
async function models(visitor) {
  const page = await visitor.open("#/try?model=mix&other=mix");
  await lists(page, 2);
  visitor.equal(await heads(page), ["As sent", "mix"], "one order");
  await page.locator("select[name=other]").selectOption("keep");
  await lists(page, 3);
  await page.locator("select[name=model]").selectOption("keep");
  await lists(page, 2);
  visitor.equal(await heads(page), ["As sent", "keep"], "nor where both choices come to be the same");
  await visitor.close(page);
}

/** An answer stands under the name of its model, however long the next one takes. */
async function late(visitor) {
  const page = await visitor.open("#/try?model=keep&other=none");
  await lists(page, 2);
  let go;
  const wait = new Promise((resolve) => (go = resolve));
  await page.route("**/rank/mix*", async (route) => {
    await wait;
    await route.continue();
  });
  await page.locator("select[name=model]").selectOption("mix");
  await page.locator("[aria-busy=true]").waitFor();
  visitor.equal(await heads(page), ["As sent", "keep"], "what is there has its own name");
  visitor.matches(await page.locator(".summary").innerText(), /^keep /);
  go();
  await page.locator("[aria-busy=false]").waitFor();
  visitor.equal(await heads(page), ["As sent", "mix"], "then what was asked for");
  await visitor.close(page);
}

/** A request that the service keeps no longer is ordered from a copy. */
async function gone(visitor, time) {
  const page = await visitor.open("#/try?model=keep&other=none");
  await lists(page, 2);
  const [old] = (await visitor.ask("/requests")).requests;
  await page.waitForURL((url) => url.hash.includes(`request=${old.number}`));
  await visitor.ask("/rank/keep", request("r2", time, ["i2", "i1"]));
  const { requests } = await visitor.ask("/requests");
  visitor.equal(requests.map(({ request: { id } }) => id), ["r2"], "the newer one took its place");
  await page.locator("select[name=model]").selectOption("mix");
  const note = page.locator(".note.odd");
  visitor.matches(await note.innerText(), /no longer keeps this request.* a copy of it, which goes without its visitor\./s);
  await page.getByRole("listbox", { name: "Order of mix" }).waitFor();
  visitor.equal(await titles(page), ["other title 0", "other title 1"], "the same request");
  visitor.equal(await page.locator("[role=alert]").count(), 0, "nothing has failed");
  visitor.matches(await visitor.copied(page, page.getByRole("button", { name: "Copy as curl: mix" })), /rank\/mix\?explain=contributions/, "curl takes the copy as well");
  await visitor.accessible(page, "a copy of a request");
  await page.reload();
  await note.waitFor();
  await page.getByRole("listbox", { name: "Order of mix" }).waitFor();
  visitor.equal(await titles(page), ["other title 0", "other title 1"], "after a reload, too");
  await page.locator("select[name=request]").selectOption({ index: 1 });
  await page.getByText("default title 2").first().waitFor();
  visitor.equal(await note.count(), 0, "another request is there");
  await visitor.close(page);
  const other = await visitor.open(`#/try?request=${old.number}`);
  visitor.matches(await other.locator(".note.bad").innerText(), /no longer keeps the request of this address/, "another tab never saw it");
  await visitor.close(other);
}

/** How far an order agrees with the one as sent, in words. */
async function agreement(visitor) {
  const ids = ["a", "b", "c", "d", "e", "f"];
  let order = ids;
  const page = await visitor.open("#/try?model=keep&other=none");
  await page.route("**/rank/keep*", (route) => route.fulfill({ json: { took: 1, items: order.map((item) => ({ item, score: 0 })) } }));
  await page.getByRole("button", { name: "Change the request" }).click();
  await page.locator("textarea[name=written]").fill(ids.join());
  await page.getByRole("button", { name: "Rank it" }).click();
  await page.waitForURL((url) => url.hash.includes("written="));
  const said = [
    [0, "equals", "1.00"],
    [1, "is close to", "0.87"],
    [4, "partly agrees with", "0.47"],
    [7, "has little to do with", "0.07"],
    [10, "partly opposes", "−0.33"],
    [14, "nearly reverses", "−0.87"],
    [15, "reverses", "−1.00"],
  ];
  for (const [pairs, words, tau] of said) {
    order = swapped(ids, pairs);
    await page.reload();
    await page.locator(".summary").getByText(`Its order ${words} the order as sent (Kendall's tau ${tau}).`).waitFor();
    visitor.equal(await shown(page), order, `${pairs} pairs stand the other way round`);
  }
  await visitor.close(page);
}

const shown = (page) => page.locator("[role=listbox]").nth(1).locator("[role=option]").evaluateAll((rows) => rows.map((row) => row.dataset.item));

/** An item that is listed twice is two places of a list. */
async function twice(visitor) {
  const page = await visitor.open("#/try?model=keep&other=none");
  await lists(page, 2);
  await page.getByRole("button", { name: "Change the request" }).click();
  await page.locator("textarea[name=written]").fill("a, a, b");
  await page.getByRole("button", { name: "Rank it" }).click();
  await page.locator(".summary").getByText("keeps the order of all 3 items. Its order equals the order as sent (Kendall's tau 1.00).").waitFor();
  visitor.equal([await shown(page), await page.locator(".moved").count()], [["a", "a", "b"], 0], "nothing has moved");
  const lines = await page.locator("svg.lines path:not(.chosen)").evaluateAll((paths) => paths.flatMap((path) => path.getAttribute("d").split("M").slice(1)));
  visitor.equal([lines.length, new Set(lines).size], [3, 3], "a line for each place");
  const marked = () => page.locator("[role=option]").evaluateAll((rows) => rows.map((row) => row.ariaSelected === "true"));
  await page.locator("[role=listbox]").nth(1).focus();
  await page.keyboard.press("Home");
  for (const place of [2, 3]) {
    await page.keyboard.press("ArrowDown");
    await page.getByText(`Number ${place} of 3 by keep, number ${place} as sent.`).waitFor();
    const one = [1, 2, 3].map((at) => at === place);
    visitor.equal(await marked(), [...one, ...one], `number ${place} alone is marked`);
  }
  await page.keyboard.press("ArrowUp");
  await page.waitForURL((url) => url.hash.includes("item=a%0A1"));
  await page.reload();
  await page.getByText("Number 2 of 3 by keep, number 2 as sent.").waitFor();
  const { text } = await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }).last());
  visitor.equal(text.trim().split("\n").map((line) => line.split(",").slice(0, 3).join()), ["item,as sent,keep", "a,1,1", "a,2,2", "b,3,3"], "the file has all places");
  await visitor.close(page);
}

/** The same in another order: of all pairs, so many stand the other way round. */
function swapped(ids, pairs) {
  const order = [...ids];
  for (let left = pairs, at = 0; left > 0; at = (at + 1) % (order.length - 1)) {
    if (order[at] > order[at + 1]) continue;
    [order[at], order[at + 1]] = [order[at + 1], order[at]];
    left--;
  }
  return order;
}
