/** Why a tool was not run. Every message says what to do; none contains a key or a call's parameters. */

import type { Approval, Decision } from "./answers.js";
import { NotJson } from "./arguments.js";

const ADVICE: Readonly<Record<string, string>> = {
  none: "The same call will be denied again, so do not repeat it.",
  change_parameters: "Change the parameters as the reason says and call the tool again.",
  request_approval: "A person must approve this call before it can run.",
};

/** Base class of errors after which the tool has not run. */
export class RemitError extends Error {
  override readonly name: string = "RemitError";

  /** What a model is told in place of the tool's result. */
  forAgent(): string {
    return `The tool was not run. ${this.message}`;
  }
}

/** Remit has answered, but not with `allowed`. `decision` is in its log. */
export class NotAllowed extends RemitError {
  override readonly name: string = "NotAllowed";

  constructor(
    message: string,
    readonly tool: string,
    readonly decision: Decision,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  override forAgent(): string {
    const said = sentence(this.decision.agentMessage || this.decision.reason);
    return `"${this.tool}" was not run. ${said} ${this.advice()}`.trimEnd();
  }

  /** What can be done about it, in one sentence; empty if the service does not say. */
  advice(): string {
    return adviceOf(this.decision);
  }
}

/** A policy, or the person who was asked, has denied the call. `approval` is what the person decided. */
export class Denied extends NotAllowed {
  override readonly name = "Denied";

  constructor(
    tool: string,
    decision: Decision,
    readonly approval?: Approval,
  ) {
    const denial = `"${tool}" is denied: ${approval ? saidOf(approval) : decision.reason}`;
    const advice = approval ? adviceAfter(approval) : adviceOf(decision);
    super(advice ? `${sentence(denial)} ${advice}` : denial, tool, decision);
  }

  override forAgent(): string {
    if (!this.approval) return super.forAgent();
    return `"${this.tool}" was not run. ${sentence(saidOf(this.approval))} ${this.advice()}`;
  }

  override advice(): string {
    return this.approval ? adviceAfter(this.approval) : super.advice();
  }
}

/** A person must approve the call and has not yet done so; once they have, make the same request again. */
export class ApprovalPending extends NotAllowed {
  override readonly name = "ApprovalPending";
  /** Undefined if the service does not say which approval the call waits for. */
  readonly approvalId: string | undefined;
  readonly expiresAt: string | undefined;

  constructor(tool: string, decision: Decision, options?: ErrorOptions) {
    const id = decision.approval?.id;
    const said = sentence(decision.reason);
    const why = said.includes(`"${tool}"`) ? said : `"${tool}" needs a person's approval: ${said}`;
    const where = id ? ` Approval ${id} is pending.` : "";
    super(`${why}${where} Repeat the same call once it is approved.`, tool, decision, options);
    this.approvalId = id;
    this.expiresAt = decision.approval?.expiresAt ?? undefined;
  }

  override advice(): string {
    const waits = this.approvalId ? `Approval ${this.approvalId} waits for a person. ` : "";
    return `${waits}Repeat the very same call once it is approved; do not look for another way to do it.`;
  }
}

/** There is no decision: nothing listens where Remit should be, or Remit or its balancer says that it is away. */
export class Unavailable extends RemitError {
  override readonly name: string = "Unavailable";
}

/**
 * There is no decision, and an agent may be why: `onUnavailable` does not apply.
 *
 * Nobody answered in time, a connection ended before the answer, Remit is overloaded or failed on this call (500), a
 * proxy answered 503 (some do so to whoever asks too fast), this program had too many calls in flight or was too busy to
 * read the answer, or the call has more than 64 KiB.
 */
export class NotAnOutage extends Unavailable {
  override readonly name: string = "NotAnOutage";
}

/** This program itself ended the call, through its `signal` or by closing what `fetch` uses. */
export class Interrupted extends NotAnOutage {
  override readonly name = "Interrupted";
}

/** The answer did not come from Remit, so nothing was allowed; `onUnavailable` does not apply. */
export class MalformedAnswer extends RemitError {
  override readonly name = "MalformedAnswer";
}

/** Remit refused the request itself (4xx): a wrong key, an unknown agent, an invalid field. */
export class Refused extends RemitError {
  override readonly name: string = "Refused";

  /** code: one of docs/errors.md, such as UNAUTHORIZED or AGENT_NOT_FOUND. details: [{path, message}]. */
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly details: readonly unknown[] = [],
  ) {
    super(message);
  }

  override forAgent(): string {
    if (this.code === "PAYLOAD_TOO_LARGE") {
      return "The tool was not run: its arguments are too large to be judged. Send less at a time.";
    }
    // The model can do nothing about the key or the configuration, so it is not told about them.
    return `The tool was not run, because the authorization service refused the request (${this.code}).`;
  }
}

/** 429: too many requests. Not `Unavailable`, or `onUnavailable` would let agents through that ask too fast. */
export class Throttled extends Refused {
  override readonly name = "Throttled";

  constructor(
    message: string,
    code: string,
    readonly retryAfterSeconds: number | undefined,
  ) {
    super(message, 429, code);
  }
}

/** What a model is told when an exception must not leave an adapter. */
export function forAgent(error: unknown): string {
  if (error instanceof RemitError) return error.forAgent();
  if (error instanceof NotJson) return `The tool was not run. ${error.message}`;
  const kind = error instanceof Error ? error.name : typeof error;
  return `The tool was not run, because asking for permission failed (${kind}).`;
}

function adviceOf(decision: Decision): string {
  const seconds = decision.retryAfterSeconds;
  if (decision.nextAction === "retry" || typeof seconds === "number") {
    return typeof seconds === "number" ? `Try again in ${seconds} seconds, not before.` : "Try again later.";
  }
  return ADVICE[decision.nextAction ?? ""] ?? "";
}

function adviceAfter(approval: Approval): string {
  return approval.status === "expired" ? "Calling the tool again asks for a new approval." : (ADVICE["none"] as string);
}

function saidOf(approval: Approval): string {
  if (approval.status !== "denied") return `the approval is ${approval.status}`;
  const decided = approval.approvals?.at(-1);
  const by = decided?.by?.name ? ` by "${decided.by.name}"` : "";
  return `the approval was denied${by}${decided?.note ? `: ${decided.note}` : ""}`;
}

function sentence(text: string): string {
  const begun = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
