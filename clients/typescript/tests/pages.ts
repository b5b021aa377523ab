/** Runs a page's program against a real service: it prints what the page shows, but for ids. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { promisify } from "node:util";

import { ROOT } from "./faults.js";
import { ADMIN_KEY, service } from "./service.js";

const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** Its program lies beside this module, where `pages.mjs` and the compiler have put it. */
export function testPage(page: string): void {
  const text = readFileSync(path.join(ROOT, `docs/clients/typescript/${page}.md`), "utf8");
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, kind, block]) => ({
    kind,
    block: block as string,
  }));

  test(`${page}.md does what it says`, async () => {
    const { url, key, admin, newAgent } = await service();
    const agent = await newAgent();
    // The page names its agent by an alias, which only one agent can have.
    const { alias } = await admin.request("PATCH", "/v1/agents/{agent_id}", {
      path: { agent_id: agent },
      body: { alias: "refund-bot" },
    });
    assert.equal(alias, "refund-bot");
    const program = fileURLToPath(new URL(`pages/${page}.js`, import.meta.url));
    const env = { PATH: process.env["PATH"], REMIT_URL: url, REMIT_API_KEY: key, PERSON_KEY: ADMIN_KEY };
    const cwd = mkdtempSync(path.join(tmpdir(), "remit-page-"));
    const ran = await promisify(execFile)(process.execPath, [program], { env, cwd }).finally(() =>
      admin.request("DELETE", "/v1/agents/{agent_id}", { path: { agent_id: agent } }),
    );
    const shown = blocks.filter(({ kind }) => kind === "text").map(({ block }) => block);
    assert.equal(ran.stdout.replace(UUID, "{id}"), shown.join("").replace(UUID, "{id}"));
  });

  test(`${page}.md gates a tool in a few lines and ends with a run`, () => {
    const lines = (blocks[0]?.block ?? "").split("\n").filter((line) => line.trim() && !line.startsWith("import "));
    assert.ok(lines.length <= 5, "a function takes five");
    assert.ok(blocks.slice(1).some(({ kind }) => kind === "text"));
    assert.ok(text.includes("person.approve("));
  });
}
