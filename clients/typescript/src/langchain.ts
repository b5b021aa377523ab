/** LangChain and LangGraph: tools that ask Remit before they run. */

import type { Remit } from "./client.js";
import { type Context, Enforcer, type EnforcerOptions } from "./enforcement.js";
import { ApprovalPending, forAgent, NotAllowed } from "./errors.js";

interface Config {
  configurable?: Configurable;
}

interface Configurable extends Record<string, unknown> {
  __pregel_scratchpad?: { interruptCounter: number; resume: unknown[] };
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
  const enforcer = new Enforcer(remit, agent, options);

  async function _call(this: T, input: unknown, runManager?: unknown, config?: Config): Promise<unknown> {
    const isText = typeof input === "string";
    const run = (judged: unknown) => {
      const given = isText ? (judged as { input: string }).input : judged;
      return running._call.call(this, given, runManager, config);
    };
    const wasPaused = options.interrupt !== undefined && takesAnswer(config?.configurable, options.interrupt);
    const refused = (error: unknown): NotAllowed => {
      if (options.interrupt && error instanceof ApprovalPending && !wasPaused) {
        const { approvalId, message } = error;
        pause(config?.configurable, options.interrupt, { approvalId, tool: error.tool, message });
      }
      if (error instanceof NotAllowed) return error;
      throw new Error(forAgent(error), { cause: error });
    };
    const allowed = await enforcer.check(tool.name, isText ? { input } : input, sessionOf(config)).catch(refused);
    if (!(allowed instanceof NotAllowed)) return enforcer.reporting(allowed.decision, () => run(allowed.parameters));
    const said = allowed.forAgent();
    return this.responseFormat === "content_and_artifact" ? [said, undefined] : said;
  }
  return Object.assign(Object.create(tool) as T, { _call });
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

function sessionOf(config: Config | undefined): Context {
  const session = config?.configurable?.["thread_id"];
  return session === undefined ? {} : { session: String(session) };
}
