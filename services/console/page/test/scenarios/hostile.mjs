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

export async function run(visitor) {
  const time = Date.now();
  const titled = [...STRINGS, LONG, "x".repeat(10240)];
  const event = (title, at) => ({
    event: "item",
    id: `e${at}`,
    item: STRINGS[at] ?? `i${at}`,
    timestamp: String(time),
    fields: [
      { name: "title", value: title },
      { name: "price", value: at },
    ],
  });
  await visitor.ask("/feedback", titled.map(event));
  const items = titled.map((_, at) => ({ id: STRINGS[at] ?? `i${at}` }));
  const fields = [
    { name: "query", value: STRINGS[0] },
    { name: "long", value: LONG },
    { name: STRINGS[1], value: STRINGS[2] },
  ];
  await visitor.ask("/rank/keep", { id: "r1", timestamp: String(time), user: STRINGS[0], session: STRINGS[5], fields, items });

  for (const size of [undefined, NARROW]) {
    const page = await visitor.open("#/try", { size });
    await page.locator("[role=listbox]").nth(2).waitFor({ state: "attached" });
    const shown = await page.locator("[role=listbox]").first().locator("[role=option]").evaluateAll((rows) => rows.map((row) => row.dataset.item));
    visitor.equal(shown, items.map(({ id }) => id), "ids are as they were sent");
    const titles = await page.locator("[role=listbox]").first().locator(".title").evaluateAll((titles) => titles.map((title) => title.textContent));
    const known = await page.evaluate(() => fetch("/page").then((answer) => answer.json()));
    const paths = (await visitor.ask("/openapi.json")).paths;
    visitor.equal(titles, known.item && paths["/items"] ? titled.map((title) => title.trim() && title) : items.map(({ id }) => id), "titles are as they came");
    for (const [at] of items.entries()) {
      await page.locator("[role=option]:visible").nth(at).click();
      await page.getByRole("complementary", { name: "Why" }).locator(".title").waitFor();
    }
    const { text } = await visitor.saved(page, page.getByRole("button", { name: "Download CSV" }).last());
    visitor.check(text.includes("\"'=cmd|") || text.includes("'=cmd|"), "a spreadsheet does not compute what is text");
    await harmless(visitor, page);
  }
  await many(visitor, event);
  for (const view of ["#/recommend", "#/look-up?item=", "#/models", "#/configuration", ""]) {
    const page = await visitor.open(view && view + (view.endsWith("=") ? encodeURIComponent(STRINGS[0]) : ""));
    await harmless(visitor, page);
  }
  const page = await visitor.open(`#/${encodeURIComponent(STRINGS[1])}?model=${encodeURIComponent(STRINGS[0])}&item=${encodeURIComponent(STRINGS[2])}`);
  await page.getByText("This page has no such view.").waitFor();
  await harmless(visitor, page);
}

/** More ids than the address of one call takes. */
async function many(visitor, event) {
  const ids = Array.from({ length: 200 }, (_, at) => `${"ö".repeat(90)}${at}`);
  await visitor.ask("/feedback", ids.map((item, at) => ({ ...event(`title ${at}`, at), id: `m${at}`, item })));
  await visitor.ask("/rank/keep", { id: "r2", timestamp: String(Date.now()), items: ids.map((id) => ({ id })) });
  const page = await visitor.open("#/try");
  const titles = page.locator("[role=listbox]").first().locator(".title");
  const known = await page.evaluate(() => fetch("/page").then((answer) => answer.json()));
  await titles.filter({ hasText: known.item ? /^title 199$/ : ids[199] }).waitFor();
  visitor.equal(await titles.allTextContents(), known.item ? ids.map((_, at) => `title ${at}`) : ids, "each has its title");
  await harmless(visitor, page);
}

async function harmless(visitor, page) {
  visitor.equal(await page.evaluate(() => globalThis.hacked), undefined, "nothing ran");
  visitor.equal(await page.locator("script").count(), 1, "no script is added");
  visitor.equal(await page.locator("main img").count(), 0, "no picture is added");
  await visitor.accessible(page, `${page.url()} with hostile strings`);
  await visitor.close(page);
}
