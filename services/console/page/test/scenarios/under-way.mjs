// Imports, trainings, writers and problems, as a service tells them that has some: run(visitor). It keeps no requests, its configuration
// has a warning, and its models are keep, which keeps lists, m, which learns, and popular, which recommends.
import { NARROW } from "../visitor.mjs";

export async function run(visitor) {
  const status = await visitor.ask("/status");
  const at = (seconds) => Date.now() - seconds * 1000;
  const time = (seconds) => new Date(at(seconds)).toISOString();
  let over = false;
  // as old at each answer
  const now = () => ({
    ...status,
    models: { popular: { ...status.models.popular, state: "loaded", version: "v1", trainedAt: time(7300), refused: { version: "v2", reason: "its file is damaged" }, lost: true } },
    store: { ...status.store, emptied: true },
    ingest: { ...status.ingest, problem: "the disk is full", evictedRankings: 3, unknownRankings: { interactions: 1200, share: 0.25, examples: ["r1", "r2"] } },
    stream: {
      partitions: {
        "clicks/0": { lagEvents: 12345, lagSeconds: 130, unreadable: 0, events: 9 },
        "clicks/1": { lagEvents: null, lagSeconds: 7300, unreadable: 1, events: 9 },
        "clicks/2": { lagEvents: 3, lagSeconds: null, unreadable: 1234, events: 9 },
      },
    },
    size: { ...status.size, features: {}, problem: "it does not answer", forecast: { bytesPerDay: 3 * 2 ** 20, fullInDays: 3.7 } },
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
    visitor.matches(await card.innerText(), /^trained 2 hours ago$/m);
    const cells = (table) => page.locator("table", { hasText: table }).locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const read = [
      ["clicks/0", "12,345", "2 minutes"],
      ["clicks/1", "not known yet", "2 hours"],
      ["clicks/2", "3", "not known yet"],
    ];
    visitor.equal(await cells("How far the stream is read"), read, "the partitions");
    visitor.equal((await cells("last seen")).slice(0, 2), [["shop/0", "2 hours ago", "just now"], ["import events.jsonl", "read to its end", "11 minutes ago"]], "the writers");
    const problems = [
      "The store of feature values was emptied while this process ran. Import the events again.",
      "Version v2 of the model popular should answer, and does not. Its file is damaged.",
      "The version of the model popular is in memory alone: where versions are kept, none is left. Train it again.",
      "Click-throughs cannot be stored. The disk is full.",
      "Events of clicks/0 arrive 2 minutes late: 12,345 events wait to be read.",
      "Events of clicks/1 arrive 2 hours late.",
      "1 message of clicks/1 could not be read as an event.",
      "1,234 messages of clicks/2 could not be read as an event.",
      "The writer shop/0 is 2 hours behind: newer events wait to be read.",
      "The writer shop/2 was last seen 21 minutes ago. Rankings stay open until it goes on.",
      "1,200 interactions (25 %) name a ranking that the service has not seen, such as r1 and r2. Check the ids that the shop sends.",
      "3 rankings closed early, because too many were open.",
      "The size of the state is not known. It does not answer.",
      "The store is full in about 3 days: it grows by 3.0 MiB a day.",
    ];
    visitor.equal(await page.locator(".note li").allInnerTexts(), problems, "all that is wrong; imports, and requests that do not come, are not");
    await visitor.accessible(page, "what is under way");
    if (size) {
      over = true;
      await card.getByText(/Training for/).waitFor({ state: "detached" });
      visitor.check(await card.getByRole("button", { name: "Train" }).isEnabled(), "when it is over, another one may begin");
    }
    await visitor.close(page);
  }
  await unsampled(visitor);
}

/** No requests are kept, and the configuration has a warning. */
async function unsampled(visitor) {
  const page = await visitor.open("#/try");
  await page.getByText("This service keeps no requests to choose from (api.page.sample). Until then, write one.").waitFor();
  await page.locator("textarea[name=written]").fill("a b");
  await page.getByRole("button", { name: "Rank it" }).click();
  await page.getByRole("listbox", { name: "Order of keep" }).waitFor();
  await page.getByRole("link", { name: "Features" }).click();
  await page.getByText("Requests are not kept, because api.page.sample is 0. So there are no values of now.").waitFor();
  await page.getByRole("link", { name: "Configuration" }).click();
  await page.getByRole("heading", { name: "1 warning" }).waitFor();
  const { warnings } = await visitor.ask("/configuration");
  const [told, ...others] = await page.locator(".note.odd li").allInnerTexts();
  visitor.equal([warnings.length, others], [1, []], "one warning");
  visitor.check(told.toLowerCase().startsWith(warnings[0].toLowerCase()), told);
  await visitor.accessible(page, "a warning of the configuration");
  await visitor.close(page);
}
