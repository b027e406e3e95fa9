// A rank server, which does not train, evaluate or forget: run(visitor). Its models keep and mix lists. One of four items was asked for.
export async function run(visitor) {
  const page = await visitor.open();
  for (const link of await page.locator("nav a").all()) {
    await link.click();
    await page.locator("main h1").waitFor();
    await page.waitForFunction(() => !document.querySelector("main").innerText.includes("Loading…"));
    await visitor.accessible(page, `${await page.locator("main h1").innerText()} of a rank server`);
  }

  await page.goto(`${visitor.url}/#/try?model=keep&other=mix`);
  await page.waitForFunction(() => document.querySelector("[role=listbox]")?.children.length === 4);

  // an item is picked, and a link followed before the address has the item: the link counts
  await page.evaluate(() => {
    const own = setTimeout;
    globalThis.late = [];
    globalThis.setTimeout = (run, after, ...more) => (after === 150 ? late.push(run) : own(run, after, ...more));
  });
  await page.locator("[role=option]").nth(1).click();
  await page.evaluate(() => {
    location.hash = "#/evaluation";
    late.forEach((run) => run());
  });
  visitor.check(await page.evaluate(() => late.length > 0), "the address was to have the item");
  const reason = page.locator(".note", { hasText: "There is nothing to compare here." });
  await reason.waitFor();
  visitor.matches(await reason.innerText(), /rankwright evaluate --config/);
  visitor.equal(await page.getByRole("button", { name: "Evaluate", exact: true }).count(), 0, "nothing can be begun");
  await visitor.close(page);
}
