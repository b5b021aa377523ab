/** For frameworks that ask whether a call needs approval before they run it: both questions are one request. */

import { ApprovalPending, NotAllowed } from "./errors.js";
import type { Allowed, Context, Enforcer } from "./enforcement.js";
import { write } from "./arguments.js";

const MAX_KEPT = 1000;
/** A framework runs the tool at once, unless something else pauses it; then the call is judged anew. */
const KEPT_MS = 10_000;

/** The answer to the first question about a call is kept for the second one. */
export class AskedOnce {
  readonly #kept = new Map<string, { answer: Allowed<unknown> | NotAllowed; until: number }>();

  constructor(
    readonly enforcer: Enforcer,
    readonly keptMs = KEPT_MS,
  ) {}

  /** Whether a person must approve the call. Throws as `check` does if there is no decision. */
  async isPending(callId: string | undefined, tool: string, parameters: unknown, context?: Context): Promise<boolean> {
    let answer: Allowed<unknown> | NotAllowed;
    try {
      answer = await this.enforcer.check(tool, parameters, context);
    } catch (error) {
      if (error instanceof ApprovalPending) return true; // asked again, once the person has answered
      if (!(error instanceof NotAllowed)) throw error;
      answer = error;
    }
    if (callId === undefined) return false;
    this.#kept.set(write([callId, tool, parameters]), { answer, until: performance.now() + this.keptMs });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return false;
  }

  /** What `check` answers, or has just answered to `isPending` about the same call. */
  async check<A>(callId: string | undefined, tool: string, parameters: A, context?: Context): Promise<Allowed<A>> {
    const call = write([callId ?? null, tool, parameters]);
    const kept = this.#kept.get(call);
    this.#kept.delete(call);
    if (kept === undefined || performance.now() > kept.until) return this.enforcer.check(tool, parameters, context);
    const { answer } = kept;
    if (answer instanceof NotAllowed) throw answer;
    return answer as Allowed<A>;
  }
}
