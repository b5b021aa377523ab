/** The rows of clients/adapters.json, played by the AI SDK with a real service. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { z } from "zod";

import { guardTools } from "../../src/ai-sdk.js";
import { Remit } from "../../src/index.js";
import { PATIENT_MS, ROOT } from "../faults.js";
import { service } from "../service.js";
import { AI_SDKS, modelThat, NAME } from "./scripted.js";

interface Row {
  name: string;
  limit?: number;
  budget?: number;
  asks?: boolean;
  calls: [string, number][][];
  pauses: number;
  steps: string[];
  ran: number[];
  allowed: number;
  says: string;
}

const { rows } = JSON.parse(readFileSync(path.join(ROOT, "clients/adapters.json"), "utf8")) as { rows: Row[] };
/** By the name of a row, why the SDK cannot play it. */
const CANNOT: Record<string, string> = {
  "an approval lets a call through that then pauses twice": "a tool asks its user at most once, before it runs",
};

class Driver {
  readonly ran: number[] = [];
  said = "";
  #messages: any[] = [];
  #turn = 0;
  #waiting: { approvalId: string }[] = [];

  constructor(
    readonly sdk: any,
    readonly mocks: object,
    readonly remit: Remit,
    readonly agent: string,
    readonly row: Row,
  ) {}

  async start() {
    this.#turn = 0;
    this.#messages.push({ role: "user", content: "refund" });
    await this.#go();
  }

  async resume() {
    const content = this.#waiting.map(({ approvalId }) => ({ type: "tool-approval-response", approvalId, approved: true }));
    this.#messages.push({ role: "tool", content });
    await this.#go();
  }

  /** Every run begins with what was saved, so nothing else is left of the one before. */
  restart() {}

  async #go() {
    const execute = async ({ amount }: { amount: number }) => (this.ran.push(amount), "paid");
    const tool = this.sdk.tool({ inputSchema: z.any(), execute, needsApproval: this.row.pauses > 0 });
    const tools = guardTools(this.remit, this.agent, { [NAME]: tool }, { pause: true, context: { session: "s1" } });
    const model = modelThat(this.mocks, () => this.row.calls[this.#turn++] ?? []);
    const stopWhen = (this.sdk.stepCountIs ?? this.sdk.isStepCount)(5);
    const messages = JSON.parse(JSON.stringify(this.#messages));
    const ended = await this.sdk.generateText({ model, tools, messages, stopWhen });
    this.#messages = JSON.parse(JSON.stringify([...messages, ...(ended.responseMessages ?? ended.response.messages)]));
    this.#waiting = ended.content.filter((part: any) => part.type === "tool-approval-request");
    const read = this.#messages.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
    this.said = JSON.stringify(read.filter(({ type }: any) => type === "tool-result").at(-1)?.output ?? "");
  }
}

function rulesOf({ limit, budget, asks }: Row): any[] {
  const tools = [NAME];
  return [
    { type: "tool_allowlist", tools },
    ...(limit ? [{ type: "rate_limit", tools, rateLimit: { maxCalls: limit, windowSeconds: 3600 } }] : []),
    ...(budget ? [{ type: "budget", tools, budget: { parameter: "amount", max: budget, windowSeconds: 3600 } }] : []),
    ...(asks ? [{ type: "approval_required", tools }] : []),
  ];
}

for (const [version, sdk, mocks] of AI_SDKS) {
  describe(`AI SDK ${version}`, () => {
    for (const row of rows.filter(({ name }) => !(name in CANNOT))) {
      test(row.name, async () => {
        const { admin, remit, url, newAgent } = await service();
        const agent = await newAgent(rulesOf(row));
        const made = await admin.request("POST", "/v1/api-keys", { body: { name: "Eve", scopes: ["approve"] } });
        const person = new Remit({ url, key: made.key, timeoutMs: PATIENT_MS });
        const query = { status: "pending", agent_id: agent } as const;
        const pending = () => person.request("GET", "/v1/approvals", { query });
        const driver = new Driver(sdk, mocks, remit, agent, row);
        for (const step of row.steps) {
          const note = { note: "not today" };
          if (step === "approve") await person.approve((await pending())[0]!.id, note);
          else if (step === "deny") await person.deny((await pending())[0]!.id, note);
          else if (step === "cancel") await remit.cancel((await pending())[0]!.id, note);
          else if (step === "suspend") {
            const body = { status: "suspended" } as const;
            await admin.request("PATCH", "/v1/agents/{agent_id}", { path: { agent_id: agent }, body });
          } else await driver[step as "start" | "resume" | "restart"]();
        }
        const log = await admin.request("GET", "/v1/audit-logs", { query: { agent_id: agent, result: "allowed" } });
        assert.deepEqual([driver.ran, log.length], [row.ran, row.allowed]);
        assert.match(driver.said.replaceAll('\\"', '"').replaceAll('\\"', '"'), new RegExp(row.says, "i"));
        assert.deepEqual(await pending(), []);
      });
    }
  });
}
