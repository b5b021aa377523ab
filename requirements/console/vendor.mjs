// Makes the files of the console that are libraries, from the versions in package-lock.json. `make vendor` runs it.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../../app/http/console/static/vendor"));
const tests = resolve(process.argv[3] ?? join(here, "../../tests/console/vendor"));
mkdirSync(out, { recursive: true });
mkdirSync(tests, { recursive: true });

/** The packages that a bundle has parts of. */
function packagesOf(inputs) {
  const names = inputs
    .map((input) => input.split("node_modules/").pop())
    .filter((path) => !path.startsWith("entries/"))
    .map((path) =>
      path
        .split("/")
        .slice(0, path.startsWith("@") ? 2 : 1)
        .join("/"),
    );
  return [...new Set(names)].sort().map((name) => {
    const { version, license } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
    return { name, version, license };
  });
}

const files = {};
function note(name, inputs) {
  const bytes = readFileSync(join(out, name));
  const gzip = gzipSync(bytes, { level: 9 }).length;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  files[name] = { bytes: bytes.length, gzip, sha256, packages: packagesOf(inputs) };
}

for (const name of ["preact.js", "codemirror.js", "yaml.js"]) {
  const { metafile } = await build({
    absWorkingDir: here,
    entryPoints: [`entries/${name}`],
    outfile: join(out, name),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    logLevel: "error",
  });
  note(name, Object.keys(metafile.inputs));
}
const packages = new Map(
  Object.values(files)
    .flatMap((file) => file.packages)
    .map((each) => [each.name, each]),
);
const notices = [...packages.values()]
  .sort((a, b) => (a.name < b.name ? -1 : 1))
  .map(({ name, version, license }) => {
    const folder = join(here, "node_modules", name);
    const text = readdirSync(folder)
      .filter((file) => /^licen[cs]e/i.test(file))
      .map((file) => readFileSync(join(folder, file), "utf8").trim());
    return `${name} ${version} (${license})\n\n${text.join("\n\n")}\n`;
  });
writeFileSync(join(out, "LICENSES.txt"), notices.join(`\n${"-".repeat(80)}\n\n`));
writeFileSync(join(out, "VENDOR.json"), `${JSON.stringify(files, null, 2)}\n`);
copyFileSync(join(here, "node_modules/axe-core/axe.min.js"), join(tests, "axe.min.js"));
