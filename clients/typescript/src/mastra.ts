/** Mastra: tools that ask Remit before they run. */

import type { Remit } from "./client.js";
import type { EnforcerOptions } from "./enforcement.js";
import { Gate, told } from "./gate.js";

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
  const gate = new Gate(remit, agent, options);

  async function guarded(input: unknown, context?: { agent?: { threadId?: string } }): Promise<unknown> {
    const session = context?.agent?.threadId;
    const known = session === undefined ? {} : { context: { session } };
    const verdict = await gate.judge(tool.id, input, known).catch(told);
    if (verdict.kind !== "run") throw new Error(verdict.text, { cause: verdict.cause });
    return gate.run(verdict, () => execute!.call(tool, verdict.arguments, context));
  }
  return Object.assign(Object.create(tool) as T, { execute: guarded });
}
