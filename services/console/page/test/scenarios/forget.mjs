// A visitor and an item are forgotten: run(visitor, token). The service has stored something of the visitor jane and of the item a.
export async function run(visitor, token) {
  visitor.refusals.add(401).add(404);
  await visitor.ask("/rank/keep", { id: "r1", timestamp: String(Date.now()), user: "jane", items: [{ id: "a" }, { id: "b" }] });
  const page = await visitor.open("#/try");
  await page.locator("input[name=token]").fill(token);
  await page.getByRole("button", { name: "Use it" }).click();
  await page.getByRole("listbox", { name: "Order of keep" }).waitFor();
  await page.waitForURL((url) => url.hash.includes("request="));
  const looked = page.url();
  await page.goto(`${visitor.url}/#/look-up?kind=users&id=jane`);
  await page.locator(".stored").waitFor();
  await page.locator("section:has(#newest) tbody tr", { hasText: /click\s*A boot/ }).waitFor();
  await forget(visitor, page, "jane");
  await page.goto(looked);
  await page.getByText("The service no longer keeps the request of this address.").waitFor();
  visitor.equal(await page.getByRole("listbox").count(), 0, "no copy of her request is left");
  await page.goBack();
  await page.locator("select[name=kind]").selectOption("an item");
  await page.getByLabel("Its id").fill("a");
  await page.getByLabel("Its id").press("Enter");
  await page.locator(".about .title", { hasText: "A boot" }).waitFor();
  await forget(visitor, page, "a");
  await page.getByLabel("Its id").fill("b");
  await page.getByLabel("Its id").press("Enter");
  await page.locator(".stored").waitFor();
  visitor.equal(await page.locator(".note").count(), 0, "another item is there, and nothing is said of it");
  await visitor.close(page);
}

async function forget(visitor, page, id) {
  await page.getByRole("button", { name: "Forget", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.locator(".stored").waitFor();
  await page.getByRole("button", { name: "Forget", exact: true }).click();
  await visitor.accessible(page, "the question before forgetting");
  await page.getByRole("dialog").getByRole("button", { name: "Forget" }).click();
  const said = page.locator(".note.good");
  visitor.matches(await said.innerText(), new RegExp(`^${id} is forgotten\\.\\s+removed: \\d+ entities of the state`));
  await page.locator(".stored").waitFor({ state: "detached" });
  await visitor.accessible(page, "what was forgotten");
  await page.reload();
  await page.getByText("Nothing is stored under this id.").waitFor();
}
