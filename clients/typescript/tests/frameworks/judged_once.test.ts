/** The rows of clients/adapters.json, played by each adapter that names calls, with a real service. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { Remit } from "../../src/index.js";
import { PATIENT_MS, ROOT } from "../faults.js";
import { service } from "../service.js";
import { type Calls, CANNOT, DRIVERS } from "./drivers.js";
import { NAME } from "./scripted.js";

const SLOT_MS = 4 * 3_600_000;
const NAMES_MAX = 1_000_000;

interface Row {
  name: string;
  limit?: number;
  budget?: number;
  asks?: boolean;
  asksAbove?: number;
  max?: number;
  calls: Calls;
  pauses: number;
  delegates?: boolean;
  steps: string[];
  ran: number[];
  allowed: number;
  says: string;
}

const { rows } = JSON.parse(readFileSync(path.join(ROOT, "clients/adapters.json"), "utf8")) as { rows: Row[] };

function rulesOf({ limit, budget, asks, asksAbove, max }: Row): any[] {
  const tools = [NAME];
  const atMost = (most: number, effect: string) =>
    ({ type: "parameter_constraint", tools, parameters: { amount: { max: most } }, effect });
  return [
    { type: "tool_allowlist", tools },
    ...(limit ? [{ type: "rate_limit", tools, rateLimit: { maxCalls: limit, windowSeconds: 3600 } }] : []),
    ...(budget ? [{ type: "budget", tools, budget: { parameter: "amount", max: budget, windowSeconds: 3600 } }] : []),
    ...(asks ? [{ type: "approval_required", tools }] : []),
    ...(max ? [atMost(max, "deny")] : []),
    ...(asksAbove ? [atMost(asksAbove, "escalate")] : []),
  ];
}

for (const [name, Made] of DRIVERS) {
  const reasons = Object.entries(CANNOT).flatMap(([framework, rows]) => (name.startsWith(framework) ? [rows] : []));
  const cannot = Object.assign({}, ...reasons) as Record<string, string>;
  describe(name, () => {
    test("what it cannot play is a row", () => {
      assert.deepEqual(Object.keys(cannot).filter((each) => !rows.some((row) => row.name === each)), []);
    });

    for (const row of rows.filter((each) => !(each.name in cannot))) {
      test(row.name, async () => {
        const { admin, url, store, newAgent } = await service();
        const key = await admin.request("POST", "/v1/api-keys", { body: { name: "runtime", scopes: ["read"] } });
        const remit = new Remit({ url, key: key.key, timeoutMs: PATIENT_MS });
        const made = await admin.request("POST", "/v1/api-keys", { body: { name: "Eve", scopes: ["approve"] } });
        const person = new Remit({ url, key: made.key, timeoutMs: PATIENT_MS });
        const driver = new Made(remit, await newAgent(rulesOf(row)), row.calls, row.pauses, row.delegates);
        const pending = () =>
          person.request("GET", "/v1/approvals", { query: { status: "pending", agent_id: driver.agent } });
        for (const step of row.steps) {
          const note = { note: "not today" };
          if (step === "approve") await person.approve((await pending())[0]!.id, note);
          else if (step === "deny") await person.deny((await pending())[0]!.id, note);
          else if (step === "cancel") await remit.cancel((await pending())[0]!.id, note);
          else if (step === "expire") {
            // Instead of a wait of a minute or more.
            assert.equal(await store(`HSET {}approval:${(await pending())[0]!.id} expires_ms 1`), ":0");
          } else if (step === "fill") {
            // As many names as a key may have, as lua/commit_decision/first_answers.lua counts them.
            const slot = Math.floor(Date.now() / SLOT_MS);
            assert.equal(await store(`HSET {}key:${key.id}:answers ${slot % 8} "${slot} ${NAMES_MAX}"`), ":1");
          } else if (step === "move") {
            driver.agent = await newAgent(rulesOf(row));
            driver.restart();
          } else if (step === "suspend") {
            const body = { status: "suspended" } as const;
            await admin.request("PATCH", "/v1/agents/{agent_id}", { path: { agent_id: driver.agent }, body });
          } else if (step === "edit") {
            const [policy] = await admin.request("GET", "/v1/policies", { query: { agent_id: driver.agent } });
            const path = { policy_id: policy!.id };
            await admin.request("PATCH", "/v1/policies/{policy_id}", { path, body: { name: "edited" } });
          } else await driver[step as "start" | "resume" | "refuse" | "amend" | "again" | "restart"]();
        }
        const query = { agent_id: driver.agent, result: "allowed" } as const;
        const log = await admin.request("GET", "/v1/audit-logs", { query });
        assert.deepEqual([[...driver.ran].sort((one, other) => one - other), log.length], [row.ran, row.allowed]);
        assert.match(driver.said.replaceAll('\\"', '"').replaceAll('\\"', '"'), new RegExp(row.says, "i"));
        assert.deepEqual(await pending(), []);
      });
    }
  });
}
