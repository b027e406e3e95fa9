// Imports, trainings and writers, as a service tells them that has some: run(visitor). It has one model, popular.
import { NARROW } from "../visitor.mjs";

export async function run(visitor) {
  const status = await visitor.ask("/status");
  const at = (seconds) => Date.now() - seconds * 1000;
  const time = (seconds) => new Date(at(seconds)).toISOString();
  let over = false;
  // as old at each answer
  const now = () => ({
    ...status,
    work: over
      ? []
      : [
          { kind: "import", model: null, began: at(125), events: 12345 },
          { kind: "training", model: "popular", began: at(65), events: null },
        ],
    writers: [
      { writer: "shop/0", watermark: time(7300), ended: false, seen: time(1) },
      { writer: "import events.jsonl", watermark: null, ended: true, seen: time(700) },
      { writer: "shop/1", watermark: time(1), ended: false, seen: time(1) },
      { writer: "shop/2", watermark: time(1300), ended: false, seen: time(1300) },
      { writer: "import more.jsonl", watermark: time(90_000_000), ended: false, seen: time(1) },
      { writer: "feedback:serve-1", watermark: time(90_000), ended: false, seen: time(90_000) },
    ],
  });
  for (const size of [undefined, NARROW]) {
    const page = await visitor.open("", { size });
    await page.route("**/status", (route) => route.fulfill({ json: now() }));
    await page.reload();
    await page.getByText("Importing events for 2 minutes, 12,345 events so far…").waitFor();
    const card = page.locator(".card").filter({ hasText: "popular" });
    await card.getByText("Training for 1 minute…").waitFor();
    visitor.check(await card.getByRole("button", { name: "Train" }).isDisabled(), "a second training has to wait");
    const rows = await page.locator("table", { hasText: "last seen" }).locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    visitor.equal(rows.slice(0, 2), [["shop/0", "2 hours ago", "just now"], ["import events.jsonl", "read to its end", "11 minutes ago"]], "the writers");
    const problems = (await page.locator(".note.bad li").allInnerTexts()).filter((text) => text.startsWith("The writer"));
    const expected = ["The writer shop/0 is 2 hours behind: newer events wait to be read.", "The writer shop/2 was last seen 21 minutes ago. Rankings stay open until it goes on."];
    visitor.equal(problems, expected, "writers that are behind or gone are a problem; imports, and requests that do not come, are none");
    await visitor.accessible(page, "what is under way");
    if (size) {
      over = true;
      await card.getByText(/Training for/).waitFor({ state: "detached" });
      visitor.check(await card.getByRole("button", { name: "Train" }).isEnabled(), "when it is over, another one may begin");
    }
    await visitor.close(page);
  }
}
