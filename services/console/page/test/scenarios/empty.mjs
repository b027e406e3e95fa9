// A service with nothing in it: run(visitor).
import { NARROW } from "../visitor.mjs";

export async function run(visitor) {
  for (const size of [undefined, NARROW]) {
    const page = await visitor.open("", { size });
    await page.getByText("The configuration has no models.").waitFor();
    await visitor.accessible(page, "the overview of an empty service");
    for (const link of await page.locator("nav a").all()) {
      await link.click();
      await page.locator("main h1").waitFor();
      await visitor.accessible(page, `${await page.locator("main h1").innerText()} of an empty service`);
    }
    await page.getByRole("link", { name: "Try a ranking" }).click();
    await page.getByText("The configuration has no model that orders lists.").waitFor();
    await visitor.close(page);
  }
}
