/** LangChain and LangGraph: tools that ask Remit before they run. */

import type { Remit } from "./client.js";
import type { Context, EnforcerOptions, Place } from "./enforcement.js";
import { forAgent } from "./errors.js";
import { Gate } from "./gate.js";

interface Config {
  configurable?: Configurable;
  toolCall?: { id?: string };
}

interface Configurable extends Record<string, unknown> {
  __pregel_scratchpad?: { interruptCounter: number; resume: unknown[]; currentTaskInput?: unknown };
  __pregel_send?: (writes: [string, unknown][]) => void;
}

interface Pause {
  approvalId: string | undefined;
  tool: string;
  message: string;
}

interface StructuredTool {
  name: string;
  invoke: (input: any, config?: any) => Promise<any>;
  responseFormat?: string;
}

interface Running {
  _call(input: unknown, runManager?: unknown, config?: Config): Promise<unknown>;
}

export interface LangChainOptions extends EnforcerOptions {
  /**
   * LangGraph's `interrupt`: a call that a person must approve then pauses the graph, with the approval's id. Resume it
   * once the approval is decided; the tool's own interrupts get answers of their own. Without it, the model is told to
   * repeat the call later.
   */
  interrupt?: (value: Pause) => unknown;
}

/**
 * The same tool; it runs only if Remit allows the call, with a frozen snapshot of its input. Otherwise the model reads,
 * as the tool's answer, why not; if there is no decision, the tool throws, with the RemitError as the cause.
 *
 * The thread's id is `context.session`. A tool that takes a text is judged by the parameter `input`.
 */
export function guardTool<T extends StructuredTool>(
  remit: Remit,
  agent: string,
  tool: T,
  options: LangChainOptions = {},
): T {
  const running = tool as unknown as Running;
  if (typeof running._call !== "function") throw new TypeError(`"${tool.name}" is not a tool of LangChain`);
  const gate = new Gate(remit, agent, options);
  const { interrupt } = options;

  async function _call(this: T, input: unknown, runManager?: unknown, config?: Config): Promise<unknown> {
    const conf = config?.configurable;
    const wasPaused = interrupt !== undefined && takesAnswer(conf, interrupt);
    const isText = typeof input === "string";
    const known = { context: sessionOf(conf), place: placeOf(conf, config?.toolCall?.id) };
    const verdict = await gate.judge<unknown>(tool.name, isText ? { input } : input, known).catch((error: unknown) => {
      throw new Error(forAgent(error), { cause: error });
    });
    if (verdict.kind === "run") {
      const given = isText ? (verdict.arguments as { input: string }).input : verdict.arguments;
      const wasResumed = () => (conf?.__pregel_scratchpad?.resume.length ?? 0) > 0;
      return gate.run(verdict, () => running._call.call(this, given, runManager, config), wasResumed);
    }
    if (verdict.kind === "waits" && interrupt && !wasPaused) {
      const { approvalId, tool, message } = verdict;
      pause(conf, interrupt, { approvalId, tool, message });
    }
    return this.responseFormat === "content_and_artifact" ? [verdict.text, undefined] : verdict.text;
  }
  return Object.assign(Object.create(tool) as T, { _call });
}

/**
 * The task, which is the same when it is resumed, and the call's id, unless the message has it twice.
 *
 * Without a checkpointer, no graph is resumed.
 */
function placeOf(conf: Configurable | undefined, callId: string | undefined): Place {
  const { __pregel_task_id: task, __pregel_checkpointer: saved, __pregel_scratchpad: pad } = conf ?? {};
  const input = pad?.currentTaskInput as { messages?: unknown } | unknown[] | undefined;
  const messages = Array.isArray(input) ? input : input?.messages;
  if (!task || !saved || callId === undefined || !Array.isArray(messages)) return undefined;
  const last = messages.filter((message: { type?: unknown }) => message.type === "ai").at(-1) as
    { tool_calls?: { id?: string }[] } | undefined;
  return last?.tool_calls?.filter(({ id }) => id === callId).length === 1 ? [task, callId] : undefined;
}

// A graph that is resumed runs its task again from the beginning, and gives the answers so far to the task's interrupts
// in their order. Once Remit allows a call, it does not interrupt any more, so the tool would get the answer to Remit's
// pause as the answer to its own first question. So a pause of Remit is two entries: a mark, and the answer.
const MARK = "remit: paused";

/** Pauses the graph, and marks the pause as Remit's. Does nothing where the tool already has an answer. */
function pause(conf: Configurable | undefined, interrupt: (value: Pause) => unknown, value: Pause): void {
  const pad = conf?.__pregel_scratchpad;
  if (pad && pad.interruptCounter + 1 === pad.resume.length) {
    pad.interruptCounter += 1;
    pad.resume.push({ [MARK]: value });
    conf.__pregel_send?.([["__resume__", pad.resume]]); // kept in the checkpoint with the pause
    interrupt(value);
  }
}

/** Whether the next pause of this task was Remit's. Its answer is taken; without one, the graph pauses again. */
function takesAnswer(conf: Configurable | undefined, interrupt: (value: Pause) => unknown): boolean {
  const pad = conf?.__pregel_scratchpad;
  const mark = pad?.resume[pad.interruptCounter + 1];
  if (!pad || typeof mark !== "object" || mark === null || !(MARK in mark)) return false;
  pad.interruptCounter += 1;
  interrupt(mark[MARK] as Pause);
  return true;
}

function sessionOf(conf: Configurable | undefined): Context {
  const session = conf?.["thread_id"];
  return session === undefined ? {} : { session: String(session) };
}
