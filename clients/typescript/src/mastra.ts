/** Mastra: tools that ask Remit before they run. */

import type { Remit } from "./client.js";
import { type Context, Enforcer, type EnforcerOptions } from "./enforcement.js";
import { forAgent } from "./errors.js";

interface MastraTool {
  id: string;
  execute?: ((input: any, context: any) => Promise<any>) | undefined;
}

/**
 * The same tool; it runs only if Remit allows the call, with a frozen snapshot of its input. Otherwise it throws, and the
 * model reads why. The thread's id is `context.session`.
 */
export function guardTool<T extends MastraTool>(remit: Remit, agent: string, tool: T, options?: EnforcerOptions): T {
  const { execute } = tool;
  if (!execute) throw new TypeError(`The tool "${tool.id}" has no execute: it cannot be guarded here`);
  const enforcer = new Enforcer(remit, agent, options);

  async function guarded(input: unknown, context?: { agent?: { threadId?: string } }): Promise<unknown> {
    const session = context?.agent?.threadId;
    const vouched: Context = session === undefined ? {} : { session };
    const { decision, parameters } = await enforcer.check(tool.id, input, vouched).catch((error: unknown) => {
      throw new Error(forAgent(error), { cause: error });
    });
    return enforcer.reporting(decision, () => execute!.call(tool, parameters, context));
  }
  return Object.assign(Object.create(tool) as T, { execute: guarded });
}
