// A service whose store is away: run(visitor).
export async function run(visitor) {
  const { store, unready } = await visitor.ask("/status");
  const page = await visitor.open();
  const text = await page.locator(".note.bad").first().innerText();
  visitor.check(store.problem && text.toLowerCase().includes(store.problem.toLowerCase()), text);
  visitor.check(!unready || text.toLowerCase().includes(unready.toLowerCase()), text);
  await visitor.accessible(page, "the overview without a store");
  await page.getByRole("link", { name: "Try a ranking" }).click();
  await page.locator("main h1").waitFor();
  await visitor.close(page);
}
