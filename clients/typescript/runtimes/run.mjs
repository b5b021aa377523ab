// The client in Deno, Bun and workerd, which runs Cloudflare's workers: every fault of clients/cases.json, and calls of a
// real service. `make test-typescript-runtimes` compiles the tests whose servers are used here.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { build } from "../node_modules/esbuild/lib/main.js";
import { at, HURRY_MS, KEY, PATIENT_MS, SHARED } from "../build/tests/faults.js";
import { service } from "../build/tests/service.js";
import { Log, LogLevel, Miniflare } from "miniflare";

const here = new URL(".", import.meta.url).pathname;
const folder = mkdtempSync(path.join(tmpdir(), "remit-runtimes-"));
const bundle = path.join(folder, "asks.js");
await build({
  entryPoints: [`${here}asks.mjs`],
  alias: { "remit-client": `${here}../src/index.ts` },
  bundle: true,
  outfile: bundle,
  format: "esm",
  platform: "neutral",
  target: "es2022",
});

function program(name, ...options) {
  return async (questions) => {
    const asked = path.join(folder, `${name}.jsonl`);
    writeFileSync(asked, questions.map((each) => JSON.stringify(each)).join("\n"));
    const words = ["run", ...options, bundle, asked];
    const { stdout } = await promisify(execFile)(`${here}node_modules/.bin/${name}`, words);
    return stdout.trim().split("\n").map((line) => JSON.parse(line));
  };
}

async function worker(questions) {
  const miniflare = new Miniflare({
    modules: true,
    script: readFileSync(bundle, "utf8"),
    compatibilityDate: "2026-04-01",
    log: new Log(LogLevel.NONE),
    handleRuntimeStdio: (stdout, stderr) => [stdout, stderr].forEach((stream) => stream.resume()), // stacks of each fault
  });
  try {
    const answers = [];
    for (const body of questions.map((each) => JSON.stringify(each))) {
      answers.push(await (await miniflare.dispatchFetch("http://worker/", { method: "POST", body })).text());
    }
    return answers;
  } finally {
    await miniflare.dispose();
  }
}

const RUNTIMES = { deno: program("deno", "--quiet", "--allow-net", "--allow-read", "--allow-env"), bun: program("bun"), worker };
/** A worker is not told why it cannot connect, so it takes no such failure for an outage. */
const UNTOLD = ["its own authority", "another host's certificate", "plain text where TLS is wanted"];
const UNREACHED = ["closed port", "no such host"];
const CASES = SHARED.cases.filter(({ fault }) => fault !== "refusing proxy"); // fetch reads no proxy from the environment

for (const [name, answersOf] of Object.entries(RUNTIMES)) {
  test(`${name}: a tool runs if Remit says so`, async () => {
    const { url, key, newAgent } = await service();
    const common = { url, key, timeoutMs: PATIENT_MS, agent: await newAgent() };
    const answers = await answersOf([
      { ...common, tool: "refund.create", parameters: { amount: 120 } },
      { ...common, tool: "refund.create", parameters: { amount: 900 } },
      { ...common, tool: "mail.send", parameters: { to: "ann@example.com" } },
    ]);
    assert.deepEqual(answers.map((each) => each.split(":")[0]), ["ran", "Denied", "ApprovalPending"]);
  });

  for (const onUnavailable of ["deny", "allow"]) {
    test(`${name}: no fault lets a call through that should fail, with onUnavailable ${onUnavailable}`, async () => {
      const servers = await Promise.all(CASES.map((each) => at(each)));
      const answers = await answersOf(
        CASES.map(({ hurry }, place) => ({
          url: servers[place].url,
          key: KEY,
          timeoutMs: hurry ? HURRY_MS : PATIENT_MS,
          agent: "bot",
          tool: "tool",
          parameters: { a: 1 },
          onUnavailable,
        })),
      );
      servers.forEach((server) => server.close());
      const wrong = CASES.map(({ name: fault, fault: kind, raised, says }, place) => {
        const wanted = name === "worker" && UNTOLD.includes(kind) ? ["NotAnOutage", "certificate"] : [name === "worker" && UNREACHED.includes(kind) ? "NotAnOutage" : raised, says];
        const lets = onUnavailable === "allow" && wanted[0] === "Unavailable";
        const got = answers[place];
        const right = lets
          ? got === "ran"
          : got.startsWith(`${wanted[0]}: `) && got.includes(wanted[1]) && !got.endsWith(" and ran");
        return right ? [] : [`${fault}: wanted ${lets ? "ran" : wanted.join(": … ")}, got ${got}`];
      });
      assert.deepEqual(wrong.flat(), []);
    });
  }
}
