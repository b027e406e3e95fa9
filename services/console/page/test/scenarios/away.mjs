// A service whose store went away: run(visitor). It has one model, keep.
export async function run(visitor) {
  visitor.refusals.add(503);
  const page = await visitor.open();
  await page.locator(".note.bad").waitFor();
  const { store } = await visitor.ask("/status");
  const text = (await page.locator(".note.bad").innerText()).toLowerCase();
  visitor.check(text.includes("the store of feature values"), text);
  if (store.problem) visitor.check(text.includes(store.problem.toLowerCase().slice(0, 40)), `${store.problem} in ${text}`);
  await visitor.accessible(page, "the overview without a store");

  await page.getByRole("link", { name: "Try a ranking" }).click();
  await page.locator("textarea[name=written]").fill("a, b, c");
  await page.getByRole("button", { name: "Rank it" }).click();
  await page.getByText(/kept the order as sent|keeps the order/).waitFor();
  await visitor.accessible(page, "a ranking without a store");

  for (const link of await page.locator("nav a").all()) {
    await link.click();
    await page.locator("main h1").waitFor();
    await page.waitForFunction(() => !document.querySelector("main").innerText.includes("Loading…"));
    await visitor.accessible(page, `${await page.locator("main h1").innerText()} without a store`);
  }
  await visitor.close(page);
}
