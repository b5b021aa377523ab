/** Vercel AI SDK: tools that ask Remit before they run. */

import { snapshot, write } from "./arguments.js";
import type { Remit } from "./client.js";
import type { EnforcerOptions, Place } from "./enforcement.js";
import { Gate, type Run, told } from "./gate.js";

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
  const { pause = false, reportOutcome = false } = options;
  const gate = new Gate(remit, agent, { ...options, reportOutcome: reportOutcome || pause });
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, guarded(gate, agent, name, tool, pause)])) as T;
}

/** Agents and places of the calls that run: of two with the same, as when a subagent has the same words and id, one is named. */
const running = new Set<string>();

function guarded(gate: Gate, agent: string, name: string, tool: AiTool, pause: boolean): AiTool {
  const execute = tool.execute as ((input: unknown, options?: Options) => unknown) | undefined;
  if (!execute) throw new TypeError(`The tool "${name}" has no execute: it cannot be guarded here`);
  async function judged(input: unknown, given?: Options): Promise<{ run: Run; ended: () => void }> {
    const place = pause ? placeOf(given ?? {}) : undefined;
    const written = place && write([agent, place]);
    const isFirst = written !== undefined && !running.has(written);
    if (isFirst) running.add(written);
    const ended = () => void (isFirst && running.delete(written));
    const verdict = await gate.judge(name, input, { place: isFirst ? place : undefined }).catch(told);
    if (verdict.kind === "run") return { run: verdict, ended };
    ended();
    throw new Error(verdict.text, { cause: verdict.cause });
  }
  async function once(input: unknown, given?: Options): Promise<unknown> {
    const { run, ended } = await judged(input, given);
    return gate.run(run, async () => lastOf(await execute!(run.arguments, given))).finally(ended);
  }
  async function* stream(input: unknown, given?: Options): AsyncGenerator {
    const { run, ended } = await judged(input, given);
    let last: unknown;
    try {
      for await (last of execute!(run.arguments, given) as AsyncGenerator) yield last;
    } catch (error) {
      await gate.ended(run, { failed: true });
      throw error;
    } finally {
      ended();
    }
    await gate.ended(run, { result: last });
  }
  const own = tool.needsApproval;
  async function needsApproval(input: unknown, given: Options = {}): Promise<unknown> {
    // Before it runs a call that was approved, version 6 asks once more, and refuses the call if none is needed. Remit
    // is asked when the call runs.
    if (isAnswered(given)) return true;
    const verdict = await gate.judge(name, input, { place: placeOf(given) });
    if (verdict.kind !== "run") return verdict.kind === "waits";
    return typeof own === "function" ? own(input, given) : (own ?? false);
  }
  const streams = Object.prototype.toString.call(execute) === "[object AsyncGeneratorFunction]";
  return { ...tool, execute: streams ? stream : once, ...(pause ? { needsApproval } : {}) };
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
