// Strings of a shop that means harm stay text, and break no view: run(visitor). The service has two models, keep and mix.
import { NARROW } from "../visitor.mjs";

const LONG = "long ".repeat(2048); // 10 KB
const STRINGS = [
  "<script>window.hacked = 1</script>",
  "<img src=x onerror=window.hacked=1>",
  "'\"><svg/onload=window.hacked=1>",
  "javascript:window.hacked=1",
  "👩‍👩‍👧‍👦 emoji 🇫🇮",
  "\u202eright to left \u202c",
  "متجر عربي للأحذية",
  "Z\u0351\u036b\u0343algo\u0300\u0301\u0302\u0303",
  "a,b;c d",
  "=cmd|' /C calc'!A0",
];

/** Another one than the id of an item is. */
const titleOf = (at) => (at < STRINGS.length ? `${STRINGS[(at + 1) % STRINGS.length]} ` : at === STRINGS.length ? LONG : "x".repeat(10240));
const COUNT = STRINGS.length + 2;

export async function run(visitor) {
  const time = Date.now();
  const id = (at) => STRINGS[at] ?? `i${at}`;
  const all = Array.from({ length: COUNT }, (_, at) => at);
  const event = (at, item = id(at), title = titleOf(at)) => ({
    event: "item",
    id: `e${at}`,
    item,
    timestamp: String(time),
    fields: [
      { name: "title", value: title },
      { name: "price", value: at },
    ],
  });
  await visitor.ask("/feedback", all.map((at) => event(at)));
  const items = all.map((at) => ({ id: id(at) }));
  const fields = [
    { name: "query", value: STRINGS[0] },
    { name: "long", value: LONG },
    { name: STRINGS[1], value: STRINGS[2] },
  ];
  await visitor.ask("/rank/keep", { id: "r1", timestamp: String(time), user: STRINGS[0], session: STRINGS[5], fields, items });
  const click = (at) => ({ event: "interaction", id: `c${at}`, type: "click", item: id(at), user: STRINGS[0], session: STRINGS[5], timestamp: String(time) });
  await visitor.ask("/feedback", all.map(click));

  for (const size of [undefined, NARROW]) {
    const page = await visitor.open("#/try", { size });
    await page.locator("[role=listbox]").nth(2).waitFor({ state: "attached" });
    const shown = await page.locator("[role=listbox]").first().locator("[role=option]").evaluateAll((rows) => rows.map((row) => row.dataset.item));
    visitor.equal(shown, items.map(({ id }) => id), "ids are as they were sent");
    const known = await page.evaluate(() => fetch("/page").then((answer) => answer.json()));
    visitor.equal(known.item.title, "title", "the service shows titles");
    await page.locator("[role=listbox]").first().locator(".title", { hasText: "xxxxxxxxxx" }).waitFor({ state: "attached" });
    const titles = await page.locator("[role=listbox]").first().locator(".title").evaluateAll((titles) => titles.map((title) => title.textContent));
    visitor.equal(titles, all.map(titleOf), "titles are as they came, also of ids that have commas");
    for (const at of all) {
      await page.locator("[role=option]:visible").nth(at).click();
      await page.getByRole("complementary", { name: "Why" }).locator(".title").waitFor();
    }
    const { text } = await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }).last());
    visitor.check(text.includes("\"'=cmd|") || text.includes("'=cmd|"), "a spreadsheet does not compute what is text");
    await harmless(visitor, page);
  }
  await many(visitor, event);
  await lookedUp(visitor, all, id);
  for (const view of ["#/recommend", "#/features", "#/evaluation", "#/models", "#/configuration", ""]) {
    const page = await visitor.open(view);
    await page.locator("main h1").waitFor();
    await harmless(visitor, page);
  }
  const page = await visitor.open(`#/${encodeURIComponent(STRINGS[1])}?model=${encodeURIComponent(STRINGS[0])}&item=${encodeURIComponent(STRINGS[2])}`);
  await page.getByText("This page has no such view.").waitFor();
  await harmless(visitor, page);
}

/** Each item, and the visitor who chose them all. */
async function lookedUp(visitor, all, id) {
  for (const at of all) {
    const page = await visitor.open(`#/look-up?id=${encodeURIComponent(id(at))}`);
    await page.locator(".stored").waitFor();
    await page.waitForFunction((title) => document.querySelector(".about .title")?.textContent === title, titleOf(at));
    const stored = await page.locator(".stored tr", { hasText: "item.title" }).locator("td bdi").first().textContent();
    visitor.check(titleOf(at).startsWith(stored.replace(/…$/, "")), `the title of ${id(at)} is ${stored}`);
    await harmless(visitor, page);
  }
  const page = await visitor.open(`#/look-up?kind=users&id=${encodeURIComponent(STRINGS[0])}`);
  await page.locator(".stored").waitFor();
  visitor.equal(await page.locator(".about .title").textContent(), STRINGS[0], "the visitor");
  const seen = page.locator("section:has(#newest) tbody a");
  await seen.filter({ hasText: "xxxxxxxxxx" }).waitFor();
  visitor.equal((await seen.allTextContents()).sort(), all.map(titleOf).sort(), "what the visitor chose");
  await seen.filter({ hasText: STRINGS[9] }).click();
  await page.waitForFunction((title) => document.querySelector(".about .title")?.textContent === title, titleOf(8));
  visitor.check((await page.url()).includes(encodeURIComponent("a,b;c d").replaceAll("%20", "+")), "a link to an item whose id has a comma");
  await harmless(visitor, page);
}

/** More ids than the address of one call takes. */
async function many(visitor, event) {
  const ids = Array.from({ length: 200 }, (_, at) => `${"ö".repeat(90)}${at}`);
  await visitor.ask("/feedback", ids.map((item, at) => ({ ...event(at, item, `title ${at}`), id: `m${at}` })));
  await visitor.ask("/rank/keep", { id: "r2", timestamp: String(Date.now()), items: ids.map((id) => ({ id })) });
  const page = await visitor.open("#/try");
  const titles = page.locator("[role=listbox]").first().locator(".title");
  await titles.filter({ hasText: /^title 199$/ }).waitFor();
  visitor.equal(await titles.allTextContents(), ids.map((_, at) => `title ${at}`), "each has its title");
  await harmless(visitor, page);
}

async function harmless(visitor, page) {
  visitor.equal(await page.evaluate(() => globalThis.hacked), undefined, "nothing ran");
  visitor.equal(await page.locator("script").count(), 1, "no script is added");
  visitor.equal(await page.locator("main img").count(), 0, "no picture is added");
  await visitor.accessible(page, `${page.url()} with hostile strings`);
  await visitor.close(page);
}
