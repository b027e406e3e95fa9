// A browser that notices what must not be: messages on its console, requests to anywhere else, what axe finds.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const PATIENCE = 120_000; // milliseconds, on a machine that has other things to do

export const WIDE = { width: 1200, height: 900 };
export const NARROW = { width: 360, height: 800 };

export class Visitor {
  checks = 0;
  /** Statuses of refusals that the scenario provokes; a browser reports each on its console. */
  refusals = new Set();
  /** Origins of pictures that the service names. */
  origins = new Set();
  /** Method and path of each endpoint that /openapi.json describes. */
  documented = [];

  static async start(url) {
    const visitor = new Visitor();
    visitor.url = url.replace(/\/$/, "");
    const { paths } = await visitor.ask("/openapi.json");
    const pattern = (path) => path.split(/\{\w+\}/).map((text) => text.replace(/\W/g, "\\$&")).join("[^/]+");
    visitor.documented = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => new RegExp(`^${method} ${pattern(path)}$`, "i")));
    visitor.browser = await chromium.launch({ executablePath: process.env.RANKWRIGHT_CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
    return visitor;
  }

  end = () => this.browser.close();

  /** A new window on a view. */
  async open(fragment = "", { size = WIDE, dark = false } = {}) {
    const context = await this.browser.newContext({
      viewport: size,
      colorScheme: dark ? "dark" : "light",
      locale: "en-GB",
      timezoneId: "UTC",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    this.#watch(page);
    await page.goto(`${this.url}/${fragment}`);
    await page.locator("main h1, main .note, main p").first().waitFor();
    return page;
  }

  #watch(page) {
    page.faults = [];
    page.on("pageerror", (error) => page.faults.push(`the page fails: ${error.stack}`));
    page.on("console", (message) => {
      const refused = /^Failed to load resource: .* status of (\d+)/.exec(message.text());
      if (refused && this.refusals.has(Number(refused[1]))) return;
      if (["error", "warning"].includes(message.type())) page.faults.push(`the console says: ${message.text()}`);
    });
    page.on("request", (request) => {
      const url = request.url();
      const picture = request.resourceType() === "image" && this.origins.has(new URL(url).origin);
      if (!url.startsWith(`${this.url}/`) && !/^(data|blob):/.test(url) && !picture) page.faults.push(`a request to ${url}`);
      const call = `${request.method()} ${new URL(url).pathname}`;
      if (request.resourceType() === "fetch" && !this.isDocumented(call)) page.faults.push(`${call} is not documented`);
    });
  }

  isDocumented = (call) => this.documented.some((endpoint) => endpoint.test(call));

  /** Asserts that nothing was noticed, and closes the window. */
  async close(page) {
    this.equal(page.faults, [], "nothing is noticed");
    await page.context().close();
  }

  /** What axe finds, and a view that is wider than its window. */
  async accessible(page, view) {
    // what is dimmed while it is asked for again has less contrast
    await page.waitForFunction(() => !document.querySelector("[aria-busy=true]") && document.getAnimations().length === 0);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    const told = serious.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`));
    this.equal(told, [], `axe finds nothing serious in ${view}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    this.check(wide <= 0, `${view} fits into its window, by ${wide} pixels`);
  }

  /** Every control of a view is reached with the tab key, from the top on, and its focus is seen. */
  async reached(page, view) {
    const controls = page.locator("a[href], button:not(:disabled), select, input, textarea, summary, [role=listbox], [tabindex='0']");
    await page.evaluate(() => document.activeElement.blur());
    const wanted = await controls.evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one, at) => (one.dataset.reach = String(at))));
    const found = new Set();
    const unseen = [];
    for (let at = 0; at < 2 * wanted.length + 2 && found.size < wanted.length; at++) {
      await page.keyboard.press("Tab");
      const focus = await page.evaluate(() => {
        const one = document.activeElement;
        const seen = getComputedStyle(one).outlineStyle !== "none" && one.getBoundingClientRect().height > 0;
        return { at: one.dataset.reach, seen, html: one.outerHTML.slice(0, 100) };
      });
      if (focus.at === undefined) continue;
      found.add(focus.at);
      if (!focus.seen) unseen.push(focus.html);
    }
    this.equal([found.size, unseen], [wanted.length, []], `each control of ${view} is reached with the tab key, and seen`);
  }

  check(so, what) {
    assert.ok(so, what);
    this.checks++;
  }

  equal(found, expected, what) {
    assert.deepEqual(found, expected, what);
    this.checks++;
  }

  matches(found, pattern, what = String(pattern)) {
    assert.match(found, pattern, what);
    this.checks++;
  }

  /** Asks the service without the page. */
  async ask(path, body, headers = {}) {
    const response = await fetch(this.url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { accept: "application/json", "content-type": "application/json", ...headers },
      body: typeof body === "object" ? JSON.stringify(body) : body,
    });
    assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
    return response.json();
  }

  /** Texts of all elements that a selector finds, once there is one. */
  async texts(page, selector) {
    await page.locator(selector).first().waitFor();
    return page.locator(selector).allInnerTexts();
  }

  /** The commands of all buttons of a view that copy one; each calls a documented endpoint. */
  async commands(page, view) {
    const buttons = page.getByRole("button", { name: /^Copy as curl|^Copied$/ });
    const known = await buttons.count();
    this.check(known > 0, `${view} has a command of curl`);
    for (let at = 0; at < known; at++) {
      await buttons.nth(at).click();
      await page.waitForFunction((button) => button.innerText === "Copied", await buttons.nth(at).elementHandle());
      const text = await page.evaluate(() => navigator.clipboard.readText());
      const [, url] = /^curl -s .*'(http:\S+)'$/s.exec(text) ?? [];
      const call = url?.startsWith(`${this.url}/`) && `${/ -(X POST|d) /.test(text) ? "POST" : "GET"} ${new URL(url).pathname}`;
      this.check(call && this.isDocumented(call), `${view}: ${text}`);
    }
  }

  /** The text that a button copies. */
  async copied(page, button) {
    await button.click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    return page.evaluate(() => navigator.clipboard.readText());
  }

  /** The text of the file that a button saves. */
  async saved(page, button) {
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
  }
}
