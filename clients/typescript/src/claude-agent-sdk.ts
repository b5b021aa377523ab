/** Claude Agent SDK: a PreToolUse hook for every call, and `canUseTool` for calls that would prompt. */

import type { Remit } from "./client.js";
import { Enforcer, type EnforcerOptions } from "./enforcement.js";
import { ApprovalPending, forAgent } from "./errors.js";

const HOOK_S = 60;

interface PreToolUse {
  tool_name: string;
  tool_input: unknown;
  session_id: string;
}

export interface ClaudeOptions extends EnforcerOptions {
  /** After Remit allows a call, run the tool ("allow") or ask the SDK's own permissions next ("continue"). */
  allowed?: "allow" | "continue";
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
  const enforcer = new Enforcer(remit, agent, options);

  // The SDK calls hooks with the events of all kinds; this one is registered for a single kind.
  async function beforeTool(event: unknown): Promise<Answer> {
    try {
      const { tool_name: tool, tool_input: input, session_id: session } = event as PreToolUse;
      const { parameters } = await enforcer.check(tool, input as Record<string, unknown>, { session });
      return options.allowed === "continue" ? {} : answer("allow", "Allowed by Remit", parameters);
    } catch (error) {
      return answer(error instanceof ApprovalPending ? (options.pending ?? "deny") : "deny", forAgent(error));
    }
  }
  const timeout = HOOK_S + (options.waitMs ?? 0) / 1000;
  // Without `onFailure`, the tool runs if a hook does not answer in time. Old versions ignore it.
  return { PreToolUse: [{ hooks: [beforeTool], timeout, onFailure: "block" as const }] };
}

/** For `query({ options: { canUseTool } })`, which the SDK calls only when it would otherwise prompt. */
export function canUseTool(remit: Remit, agent: string, options: EnforcerOptions = {}) {
  const enforcer = new Enforcer(remit, agent, options);

  return async function decide(tool: string, input: Record<string, unknown>, given?: { signal?: AbortSignal }) {
    try {
      const { parameters } = await enforcer.check(tool, input, undefined, given?.signal);
      return { behavior: "allow" as const, updatedInput: parameters };
    } catch (error) {
      return { behavior: "deny" as const, message: forAgent(error) };
    }
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
