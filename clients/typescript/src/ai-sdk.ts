/** Vercel AI SDK: tools that ask Remit before they run. */

import { snapshot } from "./arguments.js";
import { AskedOnce } from "./asked-once.js";
import type { Remit } from "./client.js";
import { Enforcer, type EnforcerOptions } from "./enforcement.js";
import { forAgent } from "./errors.js";

interface Options {
  toolCallId?: string;
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
  const needsApproval = (input: unknown, { toolCallId }: Options = {}) =>
    asked.isPending(toolCallId, name, snapshot(input));
  return { ...tool, execute: streams ? stream : run, ...(pause ? { needsApproval } : {}) };
}

/** What the SDK takes for the output: of several, the last. */
async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const each of output as AsyncIterable<unknown>) last = each;
  return last;
}
