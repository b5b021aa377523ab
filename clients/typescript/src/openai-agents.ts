/** OpenAI Agents SDK: function tools that ask Remit before they run, and its approval interrupt. */

import { strictJson, write } from "./arguments.js";
import { AskedOnce } from "./asked-once.js";
import type { Remit } from "./client.js";
import { Enforcer, type EnforcerOptions } from "./enforcement.js";
import { NotAllowed } from "./errors.js";

interface FunctionTool {
  type: "function";
  name: string;
  invoke: (runContext: any, input: string, details?: any) => Promise<any>;
  needsApproval: (runContext: any, input: any, callId?: string) => Promise<boolean>;
}

/**
 * The same tool; it runs only if Remit allows the call, with the text of the arguments that were judged.
 *
 * A denial becomes the tool's answer, which the model reads. A call that a person must approve interrupts the run:
 * approve the interruption once the approval is decided, and the tool asks Remit again. If there is no decision, the run
 * ends with the RemitError. The tool's own `needsApproval` is asked, too.
 */
export function guardTool<T extends FunctionTool>(remit: Remit, agent: string, tool: T, options?: EnforcerOptions): T {
  if (tool.type !== "function") throw new TypeError("Only function tools run here, where they can be guarded");
  const asked = new AskedOnce(new Enforcer(remit, agent, options));
  const { enforcer } = asked;

  async function needsApproval(runContext: unknown, input: unknown, callId?: string): Promise<boolean> {
    const own = await tool.needsApproval(runContext, input, callId);
    return (await asked.isPending(callId, tool.name, input)) || own;
  }
  async function invoke(
    runContext: unknown,
    input: string,
    details?: { toolCall?: { callId?: string } },
  ): Promise<unknown> {
    const given = strictJson(input || "{}");
    const callId = details?.toolCall?.callId;
    const allowed = await asked.check(callId, tool.name, given).catch((error: unknown) => {
      if (error instanceof NotAllowed) return error;
      throw error;
    });
    if (allowed instanceof NotAllowed) return allowed.forAgent();
    // With new details: the framework may have kept what it read of the arguments beside the old ones.
    const run = () => tool.invoke(runContext, write(allowed.parameters), details && { ...details });
    return enforcer.reporting(allowed.decision, run);
  }
  return { ...tool, needsApproval, invoke };
}
