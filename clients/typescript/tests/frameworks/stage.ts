/** Where drivers play: an agent with a policy in a real service, and what people do. */

import assert from "node:assert/strict";

import { Remit } from "../../src/index.js";
import { PATIENT_MS } from "../faults.js";
import { type Service, service } from "../service.js";
import type { Calls, Driver, Made } from "./drivers.js";
import { NAME } from "./scripted.js";

const SLOT_MS = 4 * 3_600_000;
const NAMES_MAX = 1_000_000;

/** As in clients/adapters.json. */
export interface Setting {
  limit?: number;
  budget?: number;
  asks?: boolean;
  asksAbove?: number;
  max?: number;
  calls: Calls;
  pauses: number;
  delegates?: boolean;
}

function rulesOf({ limit, budget, asks, asksAbove, max }: Setting): any[] {
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

/** An agent's runtime with a key of its own, and a person who decides approvals. */
export interface Cast extends Service {
  keyId: string;
  person: Remit;
}

export async function cast(): Promise<Cast> {
  const running = await service();
  const keyOf = (name: string, scope: "read" | "approve") =>
    running.admin.request("POST", "/v1/api-keys", { body: { name, scopes: [scope] } });
  const [runtime, eve] = await Promise.all([keyOf("runtime", "read"), keyOf("Eve", "approve")]);
  const client = (key: string) => new Remit({ url: running.url, key, timeoutMs: PATIENT_MS });
  return { ...running, keyId: runtime.id, remit: client(runtime.key), person: client(eve.key) };
}

/** Where a row is played. The steps that are not the driver's own have its methods' names. */
export class Stage {
  private constructor(
    readonly desk: Driver,
    readonly setting: Setting,
    readonly cast: Cast,
  ) {}

  static async of(Made: Made, setting: Setting, given?: Cast): Promise<Stage> {
    const played = given ?? (await cast());
    const agent = await played.newAgent(rulesOf(setting));
    const desk = new Made(played.remit, agent, setting.calls, setting.pauses, setting.delegates);
    return new Stage(desk, setting, played);
  }

  async suspend() {
    const body = { status: "suspended" } as const;
    await this.cast.admin.request("PATCH", "/v1/agents/{agent_id}", { path: { agent_id: this.desk.agent }, body });
  }

  async edit() {
    const { admin } = this.cast;
    const [policy] = await admin.request("GET", "/v1/policies", { query: { agent_id: this.desk.agent } });
    const path = { policy_id: policy!.id };
    await admin.request("PATCH", "/v1/policies/{policy_id}", { path, body: { name: "edited" } });
  }

  async move() {
    this.desk.agent = await this.cast.newAgent(rulesOf(this.setting));
    this.desk.restart();
  }

  async approve(id?: string) {
    await this.cast.person.approve(id ?? (await this.#pending()));
  }

  async deny(id?: string) {
    await this.cast.person.deny(id ?? (await this.#pending()), { note: "not today" });
  }

  async cancel() {
    await this.cast.remit.cancel(await this.#pending());
  }

  /** Instead of a wait of a minute or more. */
  async expire() {
    assert.equal(await this.cast.store(`HSET {}approval:${await this.#pending()} expires_ms 1`), ":0");
  }

  /** As many names as a key may have, as lua/commit_decision/first_answers.lua counts them. */
  async fill() {
    const slot = Math.floor(Date.now() / SLOT_MS);
    const filled = `HSET {}key:${this.cast.keyId}:answers ${slot % 8} "${slot} ${NAMES_MAX}"`;
    assert.equal(await this.cast.store(filled), ":1");
  }

  restart() {
    this.desk.restart();
  }

  /** The ids of approvals. */
  async pending(): Promise<string[]> {
    const query = { status: "pending", agent_id: this.desk.agent } as const;
    return (await this.cast.person.request("GET", "/v1/approvals", { query })).map(({ id }) => id);
  }

  /** How many decisions of the log say so. */
  async allowed(): Promise<number> {
    const query = { agent_id: this.desk.agent, result: "allowed", limit: 1000 } as const;
    return (await this.cast.admin.request("GET", "/v1/audit-logs", { query })).length;
  }

  async #pending(): Promise<string> {
    return (await this.pending())[0]!;
  }
}
