/** What the package contains, and what it weighs. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

import { ROOT } from "./faults.js";

const PACKAGE = path.join(ROOT, "clients/typescript");
const MOST_BYTES = 12_600;
const manifest = JSON.parse(readFileSync(path.join(PACKAGE, "package.json"), "utf8")) as Record<string, any>;
const sources = readdirSync(path.join(PACKAGE, "src")).map((name) => path.basename(name, ".ts"));

test("all of the package, adapters included, has at most 12.6 kB and imports nothing", async () => {
  const everything = Object.values(manifest["exports"] as Record<string, { types: string }>)
    .map(({ types }) => types.replace("./dist/", `${PACKAGE}/src/`).replace(".d.ts", ".ts"))
    .map((file, place) => `export * as part${place} from ${JSON.stringify(file)};`);
  const { outputFiles } = await build({
    stdin: { contents: everything.join("\n"), resolveDir: PACKAGE },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2022",
  });
  const bytes = gzipSync(outputFiles[0]!.contents).length;
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`);
  assert.equal(manifest["dependencies"], undefined);
});

test("it contains the compiled sources, their types, the README and the licence, and nothing else", () => {
  const out = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: PACKAGE,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [packed] = JSON.parse(out.slice(out.search(/^\[|^\{/m))) as { files: { path: string }[] }[];
  const compiled = sources.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
  const found = packed!.files.map((file) => file.path).sort();
  assert.deepEqual(found, [...compiled, "LICENSE", "README.md", "package.json"].sort());
  assert.equal(readFileSync(path.join(PACKAGE, "LICENSE"), "utf8"), readFileSync(path.join(ROOT, "LICENSE"), "utf8"));
  const exported = Object.values(manifest["exports"] as Record<string, Record<string, string>>).flatMap(Object.values);
  for (const file of exported as string[]) assert.ok(found.includes(file.slice(2)), file);
});
