/** Vercel AI SDK: tools that ask Remit before they run. */

import { snapshot } from "./arguments.js";
import { AskedOnce } from "./asked-once.js";
import type { Remit } from "./client.js";
import { Enforcer, type EnforcerOptions } from "./enforcement.js";
import { forAgent } from "./errors.js";

interface Options {
  toolCallId?: string;
  messages?: readonly Message[];
}

interface Message {
  role: string;
  content: string | readonly { type: string; toolCallId?: string; approvalId?: string }[];
}

interface AiTool {
  execute?: unknown;
}

export interface AiSdkOptions extends EnforcerOptions {
  /**
   * A call that a person must approve pauses the run with the SDK's own approval request. Answer it once the approval is
   * decided: the tool then asks Remit again. Without it, the model is told to repeat the call later.
   */
  pause?: boolean;
}

/**
 * The same tools; each runs only if Remit allows the call, with a frozen snapshot of its input. Otherwise the model
 * reads, as the tool's error, why not.
 *
 * Throws TypeError for tools without `execute`: they run elsewhere, where nothing here could stop them.
 */
export function guardTools<T extends Record<string, AiTool>>(
  remit: Remit,
  agent: string,
  tools: T,
  options: AiSdkOptions = {},
): T {
  const asked = new AskedOnce(new Enforcer(remit, agent, options));
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, guarded(asked, name, tool, options)]),
  ) as T;
}

function guarded(asked: AskedOnce, name: string, tool: AiTool, { pause }: AiSdkOptions): AiTool {
  const execute = tool.execute as ((input: unknown, options?: Options) => unknown) | undefined;
  if (!execute) throw new TypeError(`The tool "${name}" has no execute: it cannot be guarded here`);
  const { enforcer } = asked;

  async function judged(input: unknown, { toolCallId }: Options = {}) {
    try {
      return await asked.check(toolCallId, name, snapshot(input));
    } catch (error) {
      throw new Error(forAgent(error), { cause: error });
    }
  }
  async function run(input: unknown, given?: Options): Promise<unknown> {
    const { decision, parameters } = await judged(input, given);
    return enforcer.reporting(decision, async () => lastOf(await execute!(parameters, given)));
  }
  async function* stream(input: unknown, given?: Options): AsyncGenerator {
    const { decision, parameters } = await judged(input, given);
    try {
      yield* execute!(parameters, given) as AsyncGenerator;
    } catch (error) {
      await enforcer.report(decision, "failed");
      throw error;
    }
    await enforcer.report(decision, "executed");
  }
  const streams = Object.prototype.toString.call(execute) === "[object AsyncGeneratorFunction]";
  // Before it runs a call that was approved, version 6 asks once more, and refuses the call if none is needed. Remit is
  // asked when the call runs: to ask here, too, would use the approval up.
  const needsApproval = async (input: unknown, { toolCallId, messages }: Options = {}) =>
    isAnswered(toolCallId, messages) || asked.isPending(toolCallId, name, snapshot(input));
  return { ...tool, execute: streams ? stream : run, ...(pause ? { needsApproval } : {}) };
}

/** Whether the conversation ends with the answer to the SDK's approval request for this call. */
function isAnswered(toolCallId: string | undefined, messages: readonly Message[] = []): boolean {
  const last = messages.at(-1);
  if (toolCallId === undefined || last?.role !== "tool") return false;
  const parts = (message: Message) => (typeof message.content === "string" ? [] : message.content);
  const answered = new Set(
    parts(last).flatMap(({ type, approvalId }) => (type === "tool-approval-response" ? [approvalId] : [])),
  );
  const requests = messages.filter(({ role }) => role === "assistant").flatMap(parts);
  return requests.some(
    (part) => part.type === "tool-approval-request" && part.toolCallId === toolCallId && answered.has(part.approvalId),
  );
}

/** What the SDK takes for the output: of several, the last. */
async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const each of output as AsyncIterable<unknown>) last = each;
  return last;
}
