/** Random histories of the AI SDK with a real service: no tool runs more often than the log has allowed it. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { z } from "zod";

import { guardTools } from "../../src/ai-sdk.js";
import { Remit } from "../../src/index.js";
import { PATIENT_MS } from "../faults.js";
import { service } from "../service.js";
import { AI_SDKS, modelThat, NAME } from "./scripted.js";

/** By hand: HISTORIES=10000, and SEED for others. */
const HISTORIES = Number(process.env["HISTORIES"] ?? 15);
const SEED = Number(process.env["SEED"] ?? 1);
const AT_ONCE = 6;
const STEPS = 5;

/** Numbers below `below`, the same for the same seed (mulberry32). */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A conversation that a browser keeps: it is sent back as a whole, and may be sent back again as it was before. */
class Conversation {
  completed = 0;
  #saved: any[] = [];
  readonly #earlier: any[][] = [];
  #ids = 0;

  constructor(
    readonly sdk: any,
    readonly mocks: object,
    readonly remit: Remit,
    readonly agent: string,
    readonly random: (below: number) => number,
    /** Ids are unique, the user says yes, and nothing is sent back twice. */
    readonly isPlain: boolean,
  ) {}

  /** The SDK's requests for approval that nobody has answered. */
  get waiting(): { approvalId: string }[] {
    const parts = this.#saved.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    const answered = new Set(parts.flatMap((part) => (part.type === "tool-approval-response" ? [part.approvalId] : [])));
    return parts.filter(({ type, approvalId }) => type === "tool-approval-request" && !answered.has(approvalId));
  }

  /** calls: whether the model calls anything more once it has read the answers. */
  async step(calls: boolean) {
    const { random } = this;
    if (!this.isPlain && this.#earlier.length && random(4) === 0) {
      this.#saved = structuredClone(this.#earlier[random(this.#earlier.length)]!);
    }
    const content = this.waiting.map(({ approvalId }) => {
      const approved = this.isPlain || random(5) > 0;
      return { type: "tool-approval-response", approvalId, approved };
    });
    this.#saved.push(content.length ? { role: "tool", content } : { role: "user", content: "refund" });
    this.#earlier.push(structuredClone(this.#saved));
    await this.#go(calls ? 1 + random(2) : 0);
  }

  async #go(turns: number) {
    const { random } = this;
    const execute = async () => ((this.completed += 1), "paid");
    const tool = this.sdk.tool({ inputSchema: z.any(), execute, needsApproval: random(3) === 0 });
    const tools = guardTools(this.remit, this.agent, { [NAME]: tool }, { pause: true, context: { session: "s1" } });
    const calls = (): [string, number][] =>
      turns-- > 0
        ? Array.from({ length: 1 + random(3) }, () => [
            this.isPlain ? `c${(this.#ids += 1)}` : `c${random(2)}`,
            this.isPlain ? this.#ids : 1 + random(2),
          ])
        : [];
    const model = modelThat(this.mocks, calls);
    const stopWhen = (this.sdk.stepCountIs ?? this.sdk.isStepCount)(4);
    const ended = await this.sdk.generateText({ model, tools, messages: structuredClone(this.#saved), stopWhen });
    const added = ended.responseMessages ?? ended.response.messages;
    this.#saved = JSON.parse(JSON.stringify([...this.#saved, ...added]));
  }
}

async function play(seed: number, sdk: any, mocks: object, person: Remit): Promise<number> {
  const random = randomly(seed);
  const { admin, remit, newAgent } = await service();
  const tools = [NAME];
  const kind = random(3);
  const isPlain = random(3) === 0;
  const agent = await newAgent([
    { type: "tool_allowlist", tools },
    ...(kind === 1 ? [{ type: "approval_required", tools }] : []),
    ...(kind === 2 ? [{ type: "rate_limit", tools, rateLimit: { maxCalls: 1 + random(3), windowSeconds: 3600 } }] : []),
  ]);
  const talk = new Conversation(sdk, mocks, remit, agent, random, isPlain);
  for (let step = 0; step < STEPS || (isPlain && talk.waiting.length); step += 1) {
    await talk.step(step < STEPS).catch((error: unknown) => {
      if (isPlain || !/approval|tool.?call|result/i.test(String(error))) throw error; // a conversation that the SDK refuses
    });
    const query = { status: "pending", agent_id: agent } as const;
    for (const { id } of kind === 1 ? await person.request("GET", "/v1/approvals", { query }) : []) {
      const decision = isPlain ? 0 : random(3);
      if (decision === 0) await person.approve(id);
      else if (decision === 1) await person.deny(id);
    }
  }
  const log = await admin.request("GET", "/v1/audit-logs", { query: { agent_id: agent, result: "allowed", limit: 1000 } });
  const counted = log.length;
  assert.ok(talk.completed <= counted, `seed ${seed}: ran ${talk.completed} times, allowed ${counted} times`);
  if (isPlain) assert.equal(talk.completed, counted, `seed ${seed}`);
  return talk.completed;
}

for (const [version, sdk, mocks] of AI_SDKS) {
  describe(`AI SDK ${version}`, () => {
    test("of random histories, no tool runs more often than it was allowed, and none that is plain less often", async () => {
      const { url, admin } = await service();
      const made = await admin.request("POST", "/v1/api-keys", { body: { name: "Eve", scopes: ["approve"] } });
      const person = new Remit({ url, key: made.key, timeoutMs: PATIENT_MS });
      let next = SEED;
      let completed = 0;
      const worker = async () => {
        while (next < SEED + HISTORIES) {
          const ran = await play(next++, sdk, mocks, person);
          completed += ran;
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      assert.ok(completed > HISTORIES, "tools run at all");
      if (process.env["HISTORIES"]) console.log(`AI SDK ${version}: ${HISTORIES} histories, ${completed} runs of tools`);
    });
  });
}
