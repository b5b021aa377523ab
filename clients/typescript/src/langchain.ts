/** LangChain and LangGraph: tools that ask Remit before they run. */

import type { Remit } from "./client.js";
import { type Context, Enforcer, type EnforcerOptions } from "./enforcement.js";
import { ApprovalPending, forAgent, NotAllowed } from "./errors.js";

interface Config {
  configurable?: Record<string, unknown>;
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
   * once the approval is decided. Without it, the model is told to repeat the call later.
   */
  interrupt?: (value: { approvalId: string | undefined; tool: string; message: string }) => unknown;
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
    const allowed = await enforcer.check(tool.name, isText ? { input } : input, sessionOf(config)).catch(refused);
    if (!(allowed instanceof NotAllowed)) return enforcer.reporting(allowed.decision, () => run(allowed.parameters));
    const said = allowed.forAgent();
    return this.responseFormat === "content_and_artifact" ? [said, undefined] : said;
  }
  function refused(error: unknown): NotAllowed {
    if (error instanceof ApprovalPending) {
      // The first time, this pauses the graph. A resumed call gets here only if Remit still does not allow it.
      options.interrupt?.({ approvalId: error.approvalId, tool: error.tool, message: error.message });
    }
    if (error instanceof NotAllowed) return error;
    throw new Error(forAgent(error), { cause: error });
  }
  return Object.assign(Object.create(tool) as T, { _call });
}

function sessionOf(config: Config | undefined): Context {
  const session = config?.configurable?.["thread_id"];
  return session === undefined ? {} : { session: String(session) };
}
