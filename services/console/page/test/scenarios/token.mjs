// A service with a token: run(visitor, token). It has one model, keep.
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
  await page.reload();
  await page.getByRole("listbox", { name: "Order of keep" }).waitFor();
  visitor.check(!(await page.locator("body").innerText()).includes("jane"), "visitors stay hidden");
  const command = await visitor.copied(page, page.getByRole("button", { name: "Copy as curl: keep" }));
  visitor.check(!command.includes(token) && command.includes("$RANKWRIGHT_API_TOKEN"), `the command has no token: ${command}`);
  await page.getByRole("button", { name: "Forget the token" }).click();
  await page.getByText("This part needs the service's token").waitFor();
  await visitor.close(page);
}
