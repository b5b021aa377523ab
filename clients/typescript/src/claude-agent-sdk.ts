/** Claude Agent SDK: a PreToolUse hook for every call, and `canUseTool` for calls that would prompt. */

import type { Remit } from "./client.js";
import type { EnforcerOptions } from "./enforcement.js";
import { forAgent } from "./errors.js";
import { Gate, told } from "./gate.js";

const HOOK_S = 60;

interface PreToolUse {
  tool_name: string;
  tool_input: unknown;
  session_id: string;
}

export interface ClaudeOptions extends EnforcerOptions {
  /** After Remit allows a call, ask the SDK's own permissions, too ("continue", the default), or run the tool ("allow"). */
  allowed?: "continue" | "allow";
  /** If a call needs a person's approval in Remit, deny it for now ("deny") or let the SDK prompt ("ask"). */
  pending?: "deny" | "ask";
}

type Answer =
  | Record<string, never>
  | {
      hookSpecificOutput: {
        hookEventName: "PreToolUse";
        permissionDecision: "allow" | "deny" | "ask";
        permissionDecisionReason: string;
        updatedInput?: Record<string, unknown>;
      };
    };

/**
 * For `query({ options: { hooks } })`: a tool of any kind runs only if Remit allows the call, with the input that was
 * judged. If anything goes wrong, the call is denied, with a message that says what to do.
 */
export function remitHooks(remit: Remit, agent: string, options: ClaudeOptions = {}) {
  const { pending = "deny" } = options;
  const gate = new Gate(remit, agent, options);

  // The SDK calls hooks with the events of all kinds; this one is registered for a single kind.
  async function beforeTool(event: unknown): Promise<Answer> {
    try {
      const { tool_name: tool, tool_input: input, session_id: session } = event as PreToolUse;
      const verdict = await gate.judge(tool, input as Record<string, unknown>, { context: { session } });
      if (verdict.kind !== "run") return answer(verdict.kind === "waits" ? pending : "deny", verdict.text);
      return options.allowed === "allow" ? answer("allow", "Allowed by Remit", verdict.arguments) : {};
    } catch (error) {
      return answer("deny", forAgent(error)); // the SDK continues if a hook throws
    }
  }
  const timeout = HOOK_S + (options.waitMs ?? 0) / 1000;
  // Without `onFailure`, the tool runs if a hook does not answer in time. Old versions ignore it.
  return { PreToolUse: [{ hooks: [beforeTool], timeout, onFailure: "block" as const }] };
}

/** For `query({ options: { canUseTool } })`, which the SDK calls only when it would otherwise prompt. */
export function canUseTool(remit: Remit, agent: string, options: EnforcerOptions = {}) {
  const gate = new Gate(remit, agent, options);

  return async function decide(tool: string, input: Record<string, unknown>, given?: { signal?: AbortSignal }) {
    const verdict = await gate.judge(tool, input, given?.signal ? { signal: given.signal } : {}).catch(told);
    if (verdict.kind === "run") return { behavior: "allow" as const, updatedInput: verdict.arguments };
    return { behavior: "deny" as const, message: verdict.text };
  };
}

function answer(decision: "allow" | "deny" | "ask", reason: string, input?: Record<string, unknown>): Answer {
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: decision,
      permissionDecisionReason: reason,
      ...(input ? { updatedInput: input } : {}),
    },
  };
}
