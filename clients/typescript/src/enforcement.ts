/** Enforces decisions on an agent's tools: the core of the guard and of every adapter. */

import type { Decision } from "./answers.js";
import { snapshot, write } from "./arguments.js";
import type { Remit } from "./client.js";
import { ApprovalPending, Denied, NotAnOutage, RemitError, Unavailable } from "./errors.js";

const LARGE_BYTES = 64 * 1024;
const SETTLED = ["approved", "consumed"];
const bytes = new TextEncoder();

export type Context = Readonly<Record<string, unknown>>;
export type Outcome = "executed" | "failed" | "not_executed";

/** Options of `guard` and of every adapter. */
export interface EnforcerOptions {
  /** What the caller vouches for and the agent cannot choose; a function is called for every decision. */
  context?: Context | (() => Context);
  /** How long an escalated call waits for a person, in milliseconds. */
  waitMs?: number;
  /**
   * With "allow", calls of up to 64 KiB go through without a decision during an outage, each with a warning. What the
   * agent itself can cause is no outage (`NotAnOutage`).
   */
  onUnavailable?: "deny" | "allow";
  /** Report to the log whether the tool ran or failed; one more request for each call. */
  reportOutcome?: boolean;
  /** From the framework's names of tools to those in policies; a mapping leaves others as they are. */
  toolName?: Readonly<Record<string, string>> | ((tool: string) => string);
}

/** What was judged, and may run. */
export interface Allowed<A> {
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
    const { decision, parameters: judged } = await this.check(tool, parameters, context);
    return this.reporting(decision, async () => run(judged));
  }

  /**
   * The decision that allows this call, and the snapshot that was judged: run the tool with nothing else.
   *
   * Throws Denied, ApprovalPending or another RemitError, or TypeError if a parameter is not JSON: do not run it.
   */
  async check<A>(tool: string, parameters: A, context?: Context, signal?: AbortSignal): Promise<Allowed<A>> {
    const name = this.policyName(tool);
    const judged = snapshot(parameters);
    const own = this.#options.context;
    const vouched = snapshot({ ...context, ...(typeof own === "function" ? own() : own) });
    const asking = this.#ask(name, judged, vouched, signal);
    let decision = await asking.catch((error: unknown) => this.#withoutDecision(name, judged, error));
    if (decision.result === "escalated") decision = await this.#askAPerson(name, judged, vouched, decision, signal);
    if (!decision.allowed) throw new Denied(name, decision);
    return { decision, parameters: judged };
  }

  /** What `run` answers, after the outcome is reported if `reportOutcome` is on. */
  async reporting<R>(decision: Decision, run: () => Promise<R>): Promise<Awaited<R>> {
    let answer: Awaited<R>;
    try {
      answer = await run();
    } catch (error) {
      await this.report(decision, "failed");
      throw error;
    }
    await this.report(decision, "executed");
    return answer;
  }

  /** Reports the outcome of the call if `reportOutcome` is on. If that fails, there is only a warning. */
  async report(decision: Decision, status: Outcome): Promise<void> {
    if (!this.#options.reportOutcome || !decision.id) return;
    try {
      await this.remit.reportOutcome(decision, status);
    } catch (error) {
      this.remit.warn(`The outcome of decision ${decision.id} was not reported: ${String(error)}`);
    }
  }

  #ask(tool: string, parameters: unknown, context: Context, signal: AbortSignal | undefined): Promise<Decision> {
    return this.remit.authorize(this.agent, tool, parameters, {
      ...(Object.keys(context).length ? { context } : {}),
      ...(signal ? { signal } : {}),
    });
  }

  /** The decision after a person has approved the call. Throws Denied or ApprovalPending. */
  async #askAPerson(
    tool: string,
    parameters: unknown,
    context: Context,
    escalated: Decision,
    signal: AbortSignal | undefined,
  ): Promise<Decision> {
    const until = performance.now() + (this.#options.waitMs ?? 0);
    let decision = escalated;
    let asked: string | undefined;
    while (decision.result === "escalated") {
      const waitMs = until - performance.now();
      const id = decision.approval?.id;
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
      decision = await this.#ask(tool, parameters, context, signal);
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
