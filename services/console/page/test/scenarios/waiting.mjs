// A service that waits for a store that is not there yet: run(visitor).
import { NARROW } from "../visitor.mjs";

export async function run(visitor) {
  for (const size of [undefined, NARROW]) {
    const page = await visitor.open("", { size });
    await page.getByText("The rest is shown here when it is ready.").waitFor();
    const { store } = await visitor.ask("/status");
    const text = await page.locator(".note.bad").innerText();
    visitor.check(text.includes("The store of feature values has a problem.") && text.toLowerCase().includes(store.problem.toLowerCase().slice(0, 30)), text);
    visitor.equal(await page.locator("nav a").allInnerTexts(), ["Overview"], "the other views come when it is ready");
    await visitor.accessible(page, "the overview of a service that waits");
    await visitor.close(page);
  }
  const page = await visitor.open("#/try");
  await page.getByText("The service is not ready yet.").waitFor();
  // as it is when the store has come
  await page.route("**/openapi.json", (route) => route.fulfill({ json: { paths: { "/status": { get: {} }, "/rank/{model}": { post: {} } } } }));
  await page.getByRole("link", { name: "Try a ranking" }).waitFor();
  await visitor.close(page);
}
