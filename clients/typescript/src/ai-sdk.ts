/** Vercel AI SDK: tools that ask Remit before they run. */

import { snapshot, write } from "./arguments.js";
import type { Remit } from "./client.js";
import { Enforcer, type EnforcerOptions, type Place } from "./enforcement.js";
import { ApprovalPending, forAgent, NotAllowed } from "./errors.js";

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
  needsApproval?: unknown;
}

export interface AiSdkOptions extends EnforcerOptions {
  /**
   * A call that a person must approve pauses the run with the SDK's own approval request. Answer it once the approval is
   * decided: the tool then asks Remit again. If the tool itself needs an approval, both must agree, and one request is for
   * both. Such a call is named by the conversation, so it counts once, and its outcome is always reported. Without `pause`,
   * the model is told to repeat the call later.
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
  const enforcer = new Enforcer(remit, agent, options);
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, guarded(enforcer, name, tool, options)]),
  ) as T;
}

function guarded(enforcer: Enforcer, name: string, tool: AiTool, { pause = false }: AiSdkOptions): AiTool {
  const execute = tool.execute as ((input: unknown, options?: Options) => unknown) | undefined;
  if (!execute) throw new TypeError(`The tool "${name}" has no execute: it cannot be guarded here`);
  /** The calls that run: of two with one id in a message, the second is a call of its own. */
  const running = new Set<string>();

  async function judged(input: unknown, given: Options = {}) {
    const place = pause ? placeOf(given) : undefined;
    let ended = () => {};
    try {
      const parameters = snapshot(input);
      const call = write([place ?? null, parameters]);
      const isSecond = running.has(call);
      if (place && !isSecond) ended = () => void running.delete(call);
      if (place) running.add(call);
      return { ...(await enforcer.check(name, parameters, undefined, undefined, isSecond ? undefined : place)), ended };
    } catch (error) {
      ended();
      throw new Error(forAgent(error), { cause: error });
    }
  }
  async function run(input: unknown, given?: Options): Promise<unknown> {
    const { decision, parameters, ended } = await judged(input, given);
    return enforcer.reporting(decision, async () => lastOf(await execute!(parameters, given)), pause).finally(ended);
  }
  async function* stream(input: unknown, given?: Options): AsyncGenerator {
    const { decision, parameters, ended } = await judged(input, given);
    try {
      yield* execute!(parameters, given) as AsyncGenerator;
    } catch (error) {
      await enforcer.report(decision, "failed", pause);
      throw error;
    } finally {
      ended();
    }
    await enforcer.report(decision, "executed", pause);
  }
  const streams = Object.prototype.toString.call(execute) === "[object AsyncGeneratorFunction]";
  const own = tool.needsApproval;
  async function needsApproval(input: unknown, given: Options = {}): Promise<unknown> {
    // Before it runs a call that was approved, version 6 asks once more, and refuses the call if none is needed. Remit
    // is asked when the call runs.
    if (isAnswered(given)) return true;
    try {
      await enforcer.check(name, snapshot(input), undefined, undefined, placeOf(given));
    } catch (error) {
      if (error instanceof NotAllowed) return error instanceof ApprovalPending;
      throw error;
    }
    return typeof own === "function" ? own(input, given) : (own ?? false);
  }
  return { ...tool, execute: streams ? stream : run, ...(pause ? { needsApproval } : {}) };
}

/** The conversation before the message that has the call, and the call's id; undefined if it is no JSON. */
function placeOf(given: Options): Place {
  const { toolCallId, messages } = given;
  if (toolCallId === undefined || messages === undefined) return undefined;
  const isOfCall = ({ role, content }: Message) =>
    role === "assistant" &&
    typeof content !== "string" &&
    content.some((part) => part.type === "tool-call" && part.toolCallId === toolCallId);
  const before = isAnswered(given) ? messages.slice(0, messages.map(isOfCall).lastIndexOf(true)) : messages;
  try {
    return [snapshot({ before: JSON.parse(JSON.stringify(before)) as unknown }), toolCallId];
  } catch {
    return undefined;
  }
}

/** Whether the conversation ends with the answer to the SDK's approval request for this call. */
function isAnswered({ toolCallId, messages = [] }: Options): boolean {
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
