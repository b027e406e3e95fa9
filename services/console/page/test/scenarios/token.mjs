// A service with a token: run(visitor, token). It has two models: keep, and m, which learns from the events that are there.
export async function run(visitor, token) {
  visitor.refusals.add(401);
  const page = await visitor.open("#/try");
  await page.getByText("This part needs the service's token").waitFor();
  const field = page.locator("input[name=token]");
  await visitor.accessible(page, "a view that needs the token");
  await field.fill("another one");
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByText("The service does not take the token that this tab has.").waitFor();
  await field.fill(token);
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByText("No ranking has been asked for yet.").waitFor();
  visitor.equal(await page.locator("input[name=token]").count(), 0, "the token is not asked for again");
  await page.reload();
  await page.getByText("No ranking has been asked for yet.").waitFor();

  await visitor.ask("/rank/keep", { id: "r1", timestamp: "1636993834000", user: "jane", items: [{ id: "a" }, { id: "b" }] });
  // it looks for a first request by itself
  await page.getByRole("listbox", { name: "Order of keep" }).waitFor();
  visitor.check(!(await page.locator("body").innerText()).includes("jane"), "visitors stay hidden");
  const choice = page.locator("select[name=request]");
  const number = await choice.inputValue();
  await visitor.ask("/rank/keep", { id: "r2", timestamp: "1636993834000", items: [{ id: "b" }, { id: "a" }, { id: "c" }] });
  await choice.focus();
  await choice.locator("option", { hasText: "3 items" }).waitFor({ state: "attached" });
  visitor.equal([await choice.inputValue(), await choice.locator("option").count()], [number, 2], "newer requests are there to choose, and the choice is kept");
  const command = await visitor.copied(page, page.getByRole("button", { name: "Copy as curl: keep" }));
  visitor.check(!command.includes(token) && command.includes("$RANKWRIGHT_API_TOKEN"), `the command has no token: ${command}`);
  await changes(visitor, page, token);
  await page.getByRole("link", { name: "Try a ranking" }).click();
  await page.getByRole("listbox", { name: "Order of keep" }).waitFor();
  await page.getByRole("button", { name: "Forget the token" }).click();
  await page.getByText("This part needs the service's token").first().waitFor();
  visitor.equal(await page.evaluate(() => Object.keys(sessionStorage)), [], "with the token, all that it showed is gone from the tab");

  await page.getByRole("link", { name: "Overview" }).click();
  const card = page.locator(".card").filter({ has: page.getByRole("heading", { name: /^m / }) });
  await card.getByRole("button", { name: "Train" }).click();
  await page.locator("input[name=token]").waitFor();
  await card.getByText("This call needs the bearer token").waitFor();
  await visitor.accessible(page, "a training that needs the token");
  await visitor.close(page);
}

/** Two trainings, a step back and a promotion. */
async function changes(visitor, page, token) {
  const serving = async () => (await visitor.ask("/status")).models.m.version;
  const versions = [];
  for (let round = 0; round < 2; round++) {
    await page.getByRole("link", { name: "Overview" }).click();
    const card = page.locator(".card").filter({ has: page.getByRole("heading", { name: /^m / }) });
    await card.getByRole("button", { name: "Train" }).click();
    await card.getByText(/Trained in/).waitFor();
    versions.push(await serving());
    visitor.check(versions[round], "it was trained");
    await page.reload(); // what a training came to is no longer said
  }
  const [first, second] = versions;
  visitor.check(first !== second, "twice");
  await page.goto(`${visitor.url}/#/models?model=m`);
  const answers = (version) => page.locator("tr:has(.good-text) th code", { hasText: version }).waitFor();
  const sure = async (button) => {
    await button.click();
    await page.getByRole("dialog").getByRole("button").first().click();
  };
  await answers(second);
  await sure(page.getByRole("button", { name: "Roll back" }));
  await answers(first);
  visitor.equal(await serving(), first, "the service went back");
  await sure(page.locator("tr", { has: page.locator("th code", { hasText: second }) }).getByRole("button", { name: "Promote" }));
  await answers(second);
  visitor.equal(await serving(), second, "the service has the newer one again");
  const { models } = await visitor.ask("/models", undefined, { authorization: `Bearer ${token}` });
  visitor.equal(models.find(({ name }) => name === "m").current, second, "everywhere");
}
