// The page in a browser, against a running service: browser.mjs SCENARIO URL [FILE OR FOLDER]... e2e/tests/console.rs starts the services.
// RANKWRIGHT_CHROMIUM is the browser.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Visitor } from "./visitor.mjs";

const [scenario, url, ...more] = process.argv.slice(2);
const folder = join(dirname(fileURLToPath(import.meta.url)), "scenarios");
const names = readdirSync(folder).map((name) => name.replace(/\.mjs$/, ""));
if (!names.includes(scenario) || !url) {
  console.error(`usage: browser.mjs ${names.join(" | ")} URL [FILE OR FOLDER]...`);
  process.exit(2);
}
const { run } = await import(pathToFileURL(join(folder, `${scenario}.mjs`)));
const visitor = await Visitor.start(url);
try {
  await run(visitor, ...more);
  console.log(`${scenario}: ${visitor.checks} checks passed`);
} finally {
  await visitor.end();
}
