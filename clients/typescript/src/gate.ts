/** `Gate`: an adapter finds a call's session and place; a gate judges the call once and says what to do with it. */

import type { Decision } from "./answers.js";
import type { Remit } from "./client.js";
import { type Allowed, type Context, Enforcer, type EnforcerOptions, type Place } from "./enforcement.js";
import { ApprovalPending, forAgent, NotAllowed } from "./errors.js";

/** The tool may run, with these arguments: the frozen snapshot that was judged. */
export interface Run<A = unknown> {
  readonly kind: "run";
  /** The name that policies have for the tool. */
  readonly tool: string;
  readonly arguments: A;
  readonly decision: Decision;
}

/** The tool does not run, and the model reads `text`. */
export interface Refused {
  readonly kind: "refused";
  readonly text: string;
  /** Undefined if there is none. */
  readonly decision: Decision | undefined;
  readonly cause: unknown;
}

/** A person must approve the call. If the framework cannot pause, the model reads `text`. */
export interface Waits {
  readonly kind: "waits";
  /** The name that policies have for the tool. */
  readonly tool: string;
  readonly text: string;
  /** For the people who resume the run. */
  readonly message: string;
  readonly approvalId: string | undefined;
  readonly decision: Decision;
  readonly cause: ApprovalPending;
}

export type Verdict<A = unknown> = Run<A> | Refused | Waits;

/** What the framework knows of a call beside its tool and arguments. */
export interface Known {
  /** For this call only, such as {session}. The gate's own context takes precedence. */
  readonly context?: Context;
  /** Questions about the same call at the same place are one call, which counts once. */
  readonly place?: Place;
  readonly signal?: AbortSignal;
}

/** What the model is told if `judge` throws, for frameworks whose runs go on: `gate.judge(…).catch(told)`. */
export function told(cause: unknown): Refused {
  return { kind: "refused", text: forAgent(cause), decision: undefined, cause };
}

/** Judges each call of one agent once, however often the framework comes back to it. */
export class Gate {
  readonly #enforcer: Enforcer;

  constructor(remit: Remit, agent: string, options: EnforcerOptions = {}) {
    this.#enforcer = new Enforcer(remit, agent, options);
  }

  /** What to do with the call. Throws RemitError if there is no decision, and NotJson: do not run the tool. */
  async judge<A>(tool: string, given: A, { context, place, signal }: Known = {}): Promise<Verdict<A>> {
    try {
      const { parameters, ...allowed } = await this.#enforcer.check(tool, given, context, signal, place);
      return { kind: "run", arguments: parameters, ...allowed };
    } catch (cause) {
      if (!(cause instanceof NotAllowed)) throw cause;
      const { decision, message, tool } = cause;
      const text = cause.forAgent();
      if (!(cause instanceof ApprovalPending)) return { kind: "refused", text, decision, cause };
      return { kind: "waits", tool, text, message, approvalId: cause.approvalId, decision, cause };
    }
  }

  /**
   * What `run` answers, once the outcome is reported if `reportOutcome` is on, and the records of its result.
   *
   * resumable: asked once it has ended: whether the framework saves where it stands before that, and could come back to
   * the call once more. Then the outcome is reported in any case, which ends the call's name: the same leg, sent again, is
   * another call.
   */
  run<R>(judged: Run, run: () => R, resumable?: () => boolean): Promise<Awaited<R>> {
    return this.#enforcer.reporting(allowedBy(judged), async () => run(), resumable);
  }

  /** The tool has run to its end; that is reported if `reportOutcome` is on, and the records of its result. */
  async ended(judged: Run, { failed = false, result }: { failed?: boolean; result?: unknown } = {}): Promise<void> {
    if (failed) await this.#enforcer.report(judged.decision, "failed");
    else await this.#enforcer.executed(allowedBy(judged), result);
  }
}

function allowedBy({ tool, decision, arguments: parameters }: Run): Allowed<unknown> {
  return { tool, decision, parameters };
}
