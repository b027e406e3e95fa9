// Builds the page: node build.mjs [FOLDER]. The names of the files in FOLDER/assets have a digest of their content, and the same sources
// give the same bytes. Without a folder it is services/console/dist, which the programs embed.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const MOST = 60 * 1024; // bytes after gzip, all files together

const here = dirname(fileURLToPath(import.meta.url));
const target = resolve(process.argv[2] ?? join(here, "../dist"));
const built = await build({
  absWorkingDir: here,
  entryPoints: { main: "src/main.tsx" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  // where packages lie when they are not beside the sources
  nodePaths: process.env.NODE_PATH ? [process.env.NODE_PATH] : [],
  outdir: "out",
  write: false,
});

let page = readFileSync(join(here, "src/index.html"), "utf8");
const files = new Map();
for (const { path, contents } of built.outputFiles) {
  const kind = path.endsWith(".css") ? "css" : "js";
  const digest = createHash("sha256").update(contents).digest("hex").slice(0, 8);
  files.set(`assets/main-${digest}.${kind}`, contents);
  page = page.replaceAll(`main.${kind}`, `main-${digest}.${kind}`);
}
files.set("index.html", page);

rmSync(target, { recursive: true, force: true });
mkdirSync(join(target, "assets"), { recursive: true });
let size = 0;
for (const [name, contents] of files) {
  writeFileSync(join(target, name), contents);
  size += gzipSync(contents, { level: 9 }).length;
}
console.log(`${target}: ${files.size} files, ${(size / 1024).toFixed(1)} KiB after gzip`);
if (size > MOST) {
  console.error(`error: that is more than ${MOST / 1024} KiB`);
  process.exit(1);
}
