/** Enforces decisions on an agent's tools: the core of the guard and of every adapter. */

import type { Approval, Decision } from "./answers.js";
import { snapshot, write } from "./arguments.js";
import type { Remit } from "./client.js";
import { ApprovalPending, Denied, NotAnOutage, Refused, RemitError, Unavailable } from "./errors.js";

const LARGE_BYTES = 64 * 1024;
const SETTLED = ["approved", "consumed"];
/** Why a name cannot be used: the call is then judged, and counted, without one. */
const LOST = ["IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_STALE", "LIMIT_REACHED"];
const bytes = new TextEncoder();

export type Context = Readonly<Record<string, unknown>>;
export type Outcome = "executed" | "failed" | "not_executed";
/** What rules may read of a call's result: by their names, records of texts, numbers and booleans. */
export type Records = Readonly<Record<string, Readonly<Record<string, string | number | boolean | null>>>>;

/** From a tool's name in policies, the parameters that were judged and its result, what rules may read of that. */
export type RecordsOf = (tool: string, parameters: any, result: any) => Records | undefined;

/** Options of `guard` and of every adapter. */
export interface EnforcerOptions {
  /** What the caller vouches for and the agent cannot choose; a function is called for every decision. */
  context?: Context | (() => Context);
  /** How long an escalated call waits for a person, in milliseconds. */
  waitMs?: number;
  /**
   * With "allow", calls of up to 64 KiB go through without a decision during an outage, each with a warning, after
   * Remit has been asked once more. What the agent itself can cause is no outage (`NotAnOutage`).
   */
  onUnavailable?: "deny" | "allow";
  /** Report to the log whether the tool ran or failed; one more request for each call. */
  reportOutcome?: boolean;
  /**
   * What rules may read of the result of a call that was executed; it is reported before the agent sees that, also
   * without `reportOutcome`. The key needs the scope `record`.
   */
  records?: RecordsOf;
  /** From the framework's names of tools to those in policies; a mapping leaves others as they are. */
  toolName?: Readonly<Record<string, string>> | ((tool: string) => string);
  /** Whether a call is named by its place, where it has one (by default); otherwise every question is a call of its own. */
  named?: boolean;
}

/**
 * Where the framework stands: values that are the same whenever it comes back to a call, and different for every other
 * call. Undefined: it never comes back, or there are no such values.
 */
export type Place = readonly unknown[] | undefined;

type Asked = readonly [
  tool: string,
  parameters: unknown,
  context: Context,
  signal: AbortSignal | undefined,
  callName: string | undefined,
];

/** What was judged, and may run. */
export interface Allowed<A> {
  /** The name that policies have for the tool. */
  readonly tool: string;
  readonly decision: Decision;
  readonly parameters: A;
}

/** Lets those calls of one agent through that Remit allows, and throws for all others. */
export class Enforcer {
  readonly #options: EnforcerOptions;

  constructor(
    readonly remit: Remit,
    readonly agent: string,
    options: EnforcerOptions = {},
  ) {
    if (![undefined, "deny", "allow"].includes(options.onUnavailable)) {
      throw new TypeError('onUnavailable must be "deny" or "allow"');
    }
    this.#options = options;
  }

  /** The name that policies have for a tool. */
  policyName(tool: string): string {
    const { toolName } = this.#options;
    if (typeof toolName === "function") return toolName(tool);
    return toolName && Object.hasOwn(toolName, tool) ? (toolName[tool] as string) : tool;
  }

  /**
   * Runs the tool with a frozen snapshot of the parameters, if Remit allows the call; otherwise throws as `check` does.
   *
   * context: for this call only, such as {session}. The enforcer's own context takes precedence.
   */
  async run<A, R>(tool: string, parameters: A, run: (judged: A) => R, context?: Context): Promise<Awaited<R>> {
    const allowed = await this.check(tool, parameters, context);
    return this.reporting(allowed, async () => run(allowed.parameters));
  }

  /**
   * The decision that allows this call, and the snapshot that was judged: run the tool with nothing else.
   *
   * Throws Denied, ApprovalPending or another RemitError, or TypeError if a parameter is not JSON: do not run it.
   */
  async check<A>(
    tool: string,
    parameters: A,
    context?: Context,
    signal?: AbortSignal,
    place?: Place,
  ): Promise<Allowed<A>> {
    const name = this.policyName(tool);
    const judged = snapshot(parameters);
    const own = this.#options.context;
    const vouched = snapshot({ ...context, ...(typeof own === "function" ? own() : own) });
    const callName = place && this.#options.named !== false ? await this.#nameOf(name, judged, place) : undefined;
    const asked = [name, judged, vouched, signal, callName] as const;
    const asking = this.#ask(...asked);
    let decision = await asking.catch((error: unknown) => this.#withoutDecision(name, judged, error));
    if (decision.result === "escalated") decision = await this.#askAPerson(decision, ...asked);
    if (!decision.allowed) throw new Denied(name, decision);
    return { tool: name, decision, parameters: judged };
  }

  /**
   * What `run` answers, after the outcome is reported if there is anything to report.
   *
   * always: asked once it has ended: whether the outcome is reported in any case.
   */
  async reporting<R>(allowed: Allowed<unknown>, run: () => Promise<R>, always = () => false): Promise<Awaited<R>> {
    let answer: Awaited<R>;
    try {
      answer = await run();
    } catch (error) {
      // LangGraph pauses a tool with an error, and comes back to the call.
      const isPause = (error as { is_bubble_up?: unknown } | undefined)?.is_bubble_up === true;
      if (!isPause) await this.report(allowed.decision, "failed", {}, always());
      throw error;
    }
    await this.executed(allowed, answer, always());
    return answer;
  }

  /** Reports that the call was executed, and what rules may read of its result, if there is anything to report. */
  async executed({ tool, decision, parameters }: Allowed<unknown>, result: unknown, always = false): Promise<void> {
    let records: Records | undefined;
    try {
      if (decision.id) records = this.#options.records?.(tool, parameters, result);
    } catch (error) {
      // The tool has run, and its result must not be lost.
      this.remit.warn(`The records of decision ${decision.id} could not be made: ${String(error)}`);
    }
    await this.report(decision, "executed", records, always);
  }

  /**
   * Reports the outcome of the call if `reportOutcome` is on, there are records, or `always`. It ends the call's name. If
   * it fails, this only warns.
   */
  async report(decision: Decision, status: Outcome, records: Records = {}, always = false): Promise<void> {
    const hasRecords = Object.keys(records).length > 0;
    if (!(this.#options.reportOutcome || hasRecords || always) || !decision.id) return;
    try {
      await this.remit.reportOutcome(decision, status, hasRecords ? records : undefined);
    } catch (error) {
      this.remit.warn(`The outcome of decision ${decision.id} was not reported: ${String(error)}`);
    }
  }

  async #ask(...[tool, parameters, context, signal, callName]: Asked): Promise<Decision> {
    const options = {
      ...(Object.keys(context).length ? { context } : {}),
      ...(signal ? { signal } : {}),
    };
    const retries = this.#options.onUnavailable === "allow" ? 1 : 0;
    if (callName !== undefined || retries) {
      try {
        const named = callName === undefined ? { retries } : { retries, idempotencyKey: callName };
        return await this.remit.authorize(this.agent, tool, parameters, { ...options, ...named });
      } catch (error) {
        if (!(error instanceof Refused && LOST.includes(error.code))) throw error;
      }
    }
    return this.remit.authorize(this.agent, tool, parameters, options);
  }

  /**
   * The Idempotency-Key of the call at this place.
   *
   * Ids of calls alone name nothing: some models give every call the same one. Edited arguments are another call.
   */
  async #nameOf(tool: string, parameters: unknown, place: readonly unknown[]): Promise<string> {
    const named = write(sorted([this.agent, tool, parameters, ...place]));
    const digest = await crypto.subtle.digest("SHA-256", bytes.encode(named));
    return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** The decision after a person has approved the call. Throws Denied or ApprovalPending. */
  async #askAPerson(escalated: Decision, ...asking: Asked): Promise<Decision> {
    const [tool, , , signal] = asking;
    const until = performance.now() + (this.#options.waitMs ?? 0);
    let decision = escalated;
    let asked: string | undefined;
    while (decision.result === "escalated") {
      const waitMs = until - performance.now();
      const { id, status = "pending" } = decision.approval ?? {};
      if (id !== undefined && status !== "pending") {
        const ended = await this.remit.approval(id).catch(() => ({ id, status, approvals: [] }) as Approval);
        throw new Denied(tool, decision, ended);
      }
      if (id === undefined || waitMs <= 0 || id === asked) throw new ApprovalPending(tool, decision);
      asked = id;
      const approval = await this.remit
        .approval(id, { waitMs, ...(signal ? { signal } : {}) })
        .catch((cause: unknown) => {
          throw cause instanceof RemitError ? new ApprovalPending(tool, decision, { cause }) : cause;
        });
      if (approval.status === "pending") throw new ApprovalPending(tool, decision);
      if (!SETTLED.includes(approval.status)) throw new Denied(tool, decision, approval);
      // Send the same request again: the approval covers only this call, and policies may have changed.
      decision = await this.#ask(...asking);
    }
    return decision;
  }

  /** The decision to run a tool without one, if `onUnavailable` says so and this is an outage. Throws otherwise. */
  #withoutDecision(tool: string, parameters: unknown, error: unknown): Decision {
    const isOutage = error instanceof Unavailable && !(error instanceof NotAnOutage);
    if (this.#options.onUnavailable !== "allow" || !isOutage) throw error;
    if (bytes.encode(write([tool, parameters])).length > LARGE_BYTES) {
      throw new NotAnOutage(`${error.message} A call this large may itself be the cause.`, { cause: error });
    }
    this.remit.warn(`${error.message} The tool "${tool}" runs without a decision: onUnavailable is "allow".`);
    return { id: "", allowed: true, result: "unavailable", reason: error.message };
  }
}

/** The same value, with the names of each object in order: what a framework saves may have them in another. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, each]) => [name, sorted(each)]));
}
