// Before a training and after it, begun on the page: run(visitor, file of a request). The model is called lightgbm; nothing is trained yet.
import { readFileSync } from "node:fs";

export async function run(visitor, file) {
  const request = JSON.parse(readFileSync(file, "utf8"));
  const sent = request.items.map(({ id }) => id);
  await visitor.ask("/rank/lightgbm", request);

  const page = await visitor.open("#/try");
  const list = page.getByRole("listbox", { name: "Order of lightgbm" });
  await list.waitFor();
  visitor.equal(await items(list), sent, "without a training the order stays");
  visitor.matches(await page.locator(".summary").innerText(), /kept the order as sent/);
  visitor.matches(await page.getByRole("complementary", { name: "Why" }).innerText(), /There are no reasons to show/);
  await visitor.accessible(page, "a ranking before the training");

  await page.goto(`${visitor.url}/#/features?model=lightgbm`);
  visitor.matches(await page.locator(".note.odd").innerText(), /no version that answers/);
  visitor.matches((await visitor.texts(page, ".spread thead"))[0], /now/, "values of now are shown all the same");
  await visitor.accessible(page, "features before the training");

  const views = page.locator("nav a");
  visitor.equal(await views.count(), 8, "all views");
  for (const view of await views.all()) {
    await view.click();
    await page.locator("main h1").waitFor();
    await page.waitForFunction(() => !document.querySelector("main").innerText.includes("Loading…"));
    visitor.equal(await page.locator("[role=alert]").allInnerTexts(), [], "nothing fails");
    await visitor.accessible(page, `${await page.locator("main h1").innerText()} before the training`);
  }

  await page.getByRole("link", { name: "Overview" }).click();
  const card = page.locator(".card").filter({ hasText: "lightgbm" });
  visitor.matches(await card.innerText(), /Not trained yet/);
  visitor.matches(await page.locator(".note").first().innerText(), /The model lightgbm gives no answers of its own/);
  await visitor.accessible(page, "the overview before the training");

  await card.getByRole("button", { name: "Train" }).click();
  await card.getByText(/Trained in/).waitFor();
  await card.getByText(/NDCG@10/).waitFor();
  const { models } = await visitor.ask("/status");
  visitor.check((await card.innerText()).includes(models.lightgbm.version), "the new version is shown");
  await visitor.accessible(page, "the overview after the training");

  await card.getByRole("link", { name: "Try it" }).click();
  // the other model is not trained
  await page.locator(".summary p", { hasText: "lightgbm moves" }).waitFor();
  await page.locator(".reasons").waitFor();
  const order = (await visitor.ask("/rank/lightgbm?explain=true", request)).items.map(({ item }) => item);
  visitor.equal(await items(list), order, "after the training the model orders");
  visitor.check(order.join() !== sent.join(), "in another way than the list was sent");
  await visitor.close(page);
  await versions(visitor, models.lightgbm.version);
}

/** Both versions on the same lists. */
async function compared(visitor, first, second) {
  const page = await visitor.open("#/evaluation?compare=lightgbm");
  await page.locator("section:has(#history) .plot").first().waitFor();
  await page.getByRole("button", { name: "Evaluate", exact: true }).click();
  await page.locator("#metrics").waitFor();
  const orders = await page.locator(".figures").first().locator("tbody th").allInnerTexts();
  visitor.equal(orders, [`lightgbm@${first}`, `lightgbm@${second}`, "the order as visitors saw it", "a random order"], "the versions are compared");
  visitor.check((await page.getByText(/^Evaluated /).innerText()).includes(`: lightgbm@${first}, lightgbm@${second}. The service`), "what the report compared");
  visitor.equal((await page.locator("section:has(#history) tbody th").allInnerTexts()).slice(0, 2), [second, first], "the history has them, the newest first");
  await visitor.accessible(page, "a comparison of versions");
  await page.getByRole("group", { name: "Order" }).getByRole("button", { name: `lightgbm@${first}` }).click();
  await page.locator("section:has(#worst)").getByRole("link", { name: "Try it" }).first().click();
  await page.locator(".reasons").waitFor();
  visitor.equal(
    await page.locator(".note.odd").innerText(),
    `Ordered by version ${second}, which answers now. The evaluation took version ${first}, which may have ordered this list in another way.`,
    "a worst list of an old version is ordered by the one that answers",
  );
  await visitor.accessible(page, "a worst list of an old version");
  await page.goBack();
  await page.getByRole("group", { name: "Order" }).getByRole("button", { name: `lightgbm@${second}` }).click();
  await page.locator("section:has(#worst)").getByRole("link", { name: "Try it" }).first().click();
  await page.locator(".reasons").waitFor();
  visitor.equal(await page.locator(".note.odd").count(), 0, "one of the version that answers is as the evaluation had it");
  await visitor.close(page);
}

/** A second version, and back to the first one. */
async function versions(visitor, first) {
  await visitor.ask("/train/lightgbm", "");
  const second = (await visitor.ask("/status")).models.lightgbm.version;
  const page = await visitor.open("#/models?model=lightgbm");
  const answers = (version) => page.locator("tr:has(.good-text) th code", { hasText: version }).waitFor();
  await answers(second);
  visitor.matches(await page.locator("#details").innerText(), /How two versions differ/);
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await answers(first);
  visitor.equal((await visitor.ask("/status")).models.lightgbm.version, first, "the service went back");
  await page.locator("tr", { has: page.locator("th code", { hasText: second }) }).getByRole("button", { name: "Promote" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Promote" }).click();
  await answers(second);
  visitor.equal((await visitor.ask("/status")).models.lightgbm.version, second, "the service has the newer one again");
  await visitor.accessible(page, "two versions");
  visitor.equal(await page.locator("figure.curve path.other").count(), 1, "the curve of the other version");
  for (const [after, before] of [[first, second], [first, "none"], [second, "none"]]) {
    const other = await visitor.open(`#/models?model=lightgbm&after=${after}&before=${before}`);
    visitor.equal([await other.locator("[name=after]").inputValue(), await other.locator("[name=before]").inputValue()], [after, before], "the address has the versions");
    await visitor.close(other);
  }
  // a version that does not work here, as the service tells it
  await page.route("**/models/lightgbm/rollback", (route) => route.fulfill({ json: { model: "lightgbm", version: first, serving: second, pinned: null } }));
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  visitor.equal(await page.locator(".note.bad").innerText(), `${first} is the current one, but does not answer here: see Overview.`, "what does not answer");
  await visitor.close(page);
  await differing(visitor, second);
  await compared(visitor, first, second);
  await gated(visitor, second);
}

/** How two versions differ, cell by cell: in a metric, a setting, and a feature that each has alone. */
async function differing(visitor, serving) {
  const answer = await visitor.ask("/models");
  const model = answer.models.find(({ name }) => name === "lightgbm");
  const [before] = model.versions;
  const [setting, value] = Object.entries(before.settings)[0];
  const last = before.features.at(-1);
  const after = {
    ...before,
    version: serving,
    metrics: { ...before.metrics, "NDCG@10": 0.1234 },
    settings: { ...before.settings, [setting]: "another" },
    features: [...before.features.slice(0, -1), { name: "new", gain: 0 }],
  };
  model.versions = [before, after];
  const page = await visitor.open("#/models?model=lightgbm");
  await page.route("**/models", (route) => route.fulfill({ json: answer }));
  await page.reload();
  await page.locator(".facts").waitFor();
  const cells = (rows) => page.locator(rows).evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const differ = [
    ["NDCG@10", "0.1234", before.metrics["NDCG@10"].toFixed(4)],
    [setting, "another", value],
  ];
  visitor.equal(await cells(".facts tbody .differs"), differ, "what differs is marked");
  const gain = before.features.reduce((sum, { gain }) => sum + gain, 0);
  const alone = [
    ["new", "0 %", "–", ""],
    [last.name, "–", last.gain === 0 ? "0 %" : `${((last.gain / gain) * 100).toFixed(1)} %`, ""],
  ];
  visitor.check(before.features.length > 15, "not all features are shown at first");
  visitor.equal(await cells(".room tbody .differs"), alone, "features that one version alone has");
  visitor.equal((await cells(".room tbody tr")).slice(0, 2), alone, "they come first");
  await visitor.accessible(page, "two versions that differ");
  await visitor.close(page);
}

/** What a gate decided, as a service tells it whose versions come from training jobs. */
async function gated(visitor, serving) {
  const answer = await visitor.ask("/models");
  const model = answer.models.find(({ name }) => name === "lightgbm");
  model.versions.find(({ version }) => version === serving).gate = { reason: "NotWorse", message: "NDCG@10 0.6000, the running version 0.5900; margin 0.01" };
  model.refused = { trained: Date.now() - 7_300_000, reason: "Worse", message: "NDCG@10 0.4000 is worse than 0.6000 of the running version by more than 0.01" };
  const page = await visitor.open();
  await page.route("**/models", (route) => route.fulfill({ json: answer }));
  await page.reload();
  const card = page.locator(".card").filter({ hasText: "lightgbm" });
  await card.getByText("taken by its gate: NDCG@10 0.6000, the running version 0.5900; margin 0.01").waitFor();
  visitor.matches(await card.innerText(), /The gate refused the version that was trained 2 hours ago: NDCG@10 0.4000 is worse/);
  await visitor.accessible(page, "a version that the gate refused");
  await card.getByRole("link", { name: "Versions" }).click();
  visitor.matches(await page.locator(".note.odd").innerText(), /The gate refused the version .* NDCG@10 0.4000 is worse than 0.6000 of the running version by more than 0.01\./);
  visitor.matches(await page.locator(".facts").innerText(), /why its gate took it\s+NDCG@10 0.6000, the running version 0.5900; margin 0.01\./);
  await visitor.close(page);
}

const items = (list) => list.locator("[role=option]").evaluateAll((rows) => rows.map((row) => row.dataset.item));
