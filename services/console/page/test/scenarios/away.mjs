// A service whose store went away: run(visitor). It has learned from clicks on i0 to i19: m orders lists, popular recommends, and keep
// keeps lists. One list was asked for.
export async function run(visitor) {
  visitor.refusals.add(503);
  const page = await visitor.open();
  await page.locator(".note.bad").waitFor();
  const { store } = await visitor.ask("/status");
  const text = (await page.locator(".note.bad").innerText()).toLowerCase();
  visitor.check(text.includes("the store of feature values"), text);
  if (store.problem) visitor.check(text.includes(store.problem.toLowerCase().slice(0, 40)), `${store.problem} in ${text}`);
  await visitor.accessible(page, "the overview without a store");

  await page.goto(`${visitor.url}/#/try?model=m&other=none`);
  const kept = page.locator(".summary p", { hasText: /^m kept the order as sent\. \S/ });
  await kept.waitFor();
  visitor.matches(await page.getByRole("complementary", { name: "Why" }).innerText(), /There are no reasons to show\. \S/);
  await page.getByRole("button", { name: "Change the request" }).click();
  await page.locator("textarea[name=written]").fill("a, b, c");
  await page.getByRole("button", { name: "Rank it" }).click();
  await page.waitForFunction(() => document.querySelector("[role=listbox]")?.children.length === 3);
  await kept.waitFor();
  await visitor.accessible(page, "a ranking without a store");

  const views = [
    ["look-up?id=i1", "[role=alert]"],
    ["features?model=m", "[role=alert]"],
    // what it recommends is in memory
    ["recommend", ".recommended tbody tr"],
  ];
  for (const [view, shown] of views) {
    await page.goto(`${visitor.url}/#/${view}`);
    await page.locator(`main ${shown}`).first().waitFor();
    await visitor.accessible(page, `${view} without a store`);
  }

  for (const link of await page.locator("nav a").all()) {
    await link.click();
    await page.locator("main h1").waitFor();
    await page.waitForFunction(() => !document.querySelector("main").innerText.includes("Loading…"));
    await visitor.accessible(page, `${await page.locator("main h1").innerText()} without a store`);
  }
  await visitor.close(page);
}
