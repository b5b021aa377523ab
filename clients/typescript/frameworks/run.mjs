// Compiles the adapters and their tests against the frameworks of a folder, with the pages' programs, and runs them:
// `node frameworks/run.mjs lowest`. The sources are copied there, because modules are looked up from where they stand.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";

const folder = new URL(`./${process.argv[2]}/`, import.meta.url).pathname;
const root = new URL("..", import.meta.url).pathname;
const build = `${folder}build/`;
const run = (...command) => execFileSync(process.execPath, command, { cwd: folder, stdio: "inherit" });
const PAGES = ["ai-sdk", "openai-agents", "langchain", "claude-agent-sdk", "mcp", "mastra"];

rmSync(build, { recursive: true, force: true });
mkdirSync(`${build}code/tests`, { recursive: true });
cpSync(`${root}src`, `${build}code/src`, { recursive: true });
for (const name of ["frameworks", "faults.ts", "pages.ts", "service.ts"]) {
  cpSync(`${root}tests/${name}`, `${build}code/tests/${name}`, { recursive: true });
}
rmSync(`${folder}node_modules/remit-client`, { force: true });
symlinkSync(root, `${folder}node_modules/remit-client`);
if (process.argv[2] === "newest") run(`${root}pages.mjs`, `${build}code/tests/pages`, ...PAGES);
const compilerOptions = {
  rootDir: "code",
  outDir: "js",
  skipLibCheck: true,
  typeRoots: [`${root}node_modules/@types`],
};
writeFileSync(
  `${build}tsconfig.json`,
  JSON.stringify({ extends: `${root}tsconfig.json`, compilerOptions, include: ["code"], exclude: [] }),
);
run(`${root}node_modules/typescript/bin/tsc`, "--project", build);
run("--test", `--test-reporter=${process.env["REPORTER"] ?? "dot"}`, `${build}js/tests/frameworks/all.js`);
