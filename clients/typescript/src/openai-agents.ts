/** OpenAI Agents SDK: function tools that ask Remit before they run, and its approval interrupt. */

import { strictJson, write } from "./arguments.js";
import type { Remit } from "./client.js";
import type { EnforcerOptions, Place } from "./enforcement.js";
import { Gate } from "./gate.js";

interface FunctionTool {
  type: "function";
  name: string;
  invoke: (runContext: any, input: string, details?: any) => Promise<any>;
  needsApproval: (runContext: any, input: any, callId?: string) => Promise<boolean>;
}

interface RunContext {
  usage: { requests: number };
  isToolApproved(call: { toolName: string; callId: string }): boolean | undefined;
}

export interface OpenAIOptions extends EnforcerOptions {
  /**
   * The framework's `getCurrentTrace`. A run that is saved and resumed elsewhere continues its trace, which then names
   * its calls, so that they count once there, too; their outcome is always reported. Without it, or with tracing
   * disabled, the calls of a run are named in this process only.
   */
  trace?: () => { traceId: string } | null | undefined;
}

/**
 * The same tool; it runs only if Remit allows the call, with the text of the arguments that were judged.
 *
 * A denial becomes the tool's answer, which the model reads. A call that a person must approve interrupts the run:
 * approve the interruption once the approval is decided, and the tool asks Remit again. So does a call for which the tool
 * itself wants an approval, unless Remit denies it. If there is no decision, the run ends with the RemitError.
 */
export function guardTool<T extends FunctionTool>(
  remit: Remit,
  agent: string,
  tool: T,
  options: OpenAIOptions = {},
): T {
  if (tool.type !== "function") throw new TypeError("Only function tools run here, where they can be guarded");
  const { trace, reportOutcome = false } = options;
  const gate = new Gate(remit, agent, { ...options, reportOutcome: reportOutcome || trace !== undefined });

  async function needsApproval(runContext: RunContext, input: unknown, callId?: string): Promise<boolean> {
    // Old versions ask again once the call is approved or rejected, and run it if no approval is needed.
    const isAnswered = callId !== undefined && runContext.isToolApproved({ toolName: tool.name, callId }) !== undefined;
    if (isAnswered) return true;
    const verdict = await gate.judge(tool.name, input, { place: placeOf(runContext, callId, trace) });
    if (verdict.kind !== "run") return verdict.kind === "waits";
    return tool.needsApproval(runContext, input, callId);
  }
  async function invoke(
    runContext: RunContext,
    input: string,
    details?: { toolCall?: { callId?: string } },
  ): Promise<unknown> {
    const given = strictJson(input || "{}");
    return beginning(runContext, agent, placeOf(runContext, details?.toolCall?.callId, trace), async (place) => {
      const verdict = await gate.judge(tool.name, given, { place });
      if (verdict.kind !== "run") return verdict.text;
      // With new details: the framework may have kept what it read of the arguments beside the old ones.
      return gate.run(verdict, () => tool.invoke(runContext, write(verdict.arguments), details && { ...details }));
    });
  }
  return { ...tool, needsApproval, invoke };
}

/** By a run's usage, which is the same in all its turns: its name, and agents and places of the calls that were begun. */
const runs = new WeakMap<object, { name: string; begun: Set<string> }>();
/** Agents and places of all calls that run now: runs may share a trace. */
const running = new Set<string>();

/** The run, by its trace if that is known; the turn; the call's id. */
function placeOf({ usage }: RunContext, callId: string | undefined, trace: OpenAIOptions["trace"]): Place {
  if (callId === undefined || usage === undefined) return undefined;
  const traced = trace?.()?.traceId;
  return [traced === undefined || traced === "no-op" ? runOf(usage).name : traced, usage.requests, callId];
}

function runOf(usage: object) {
  const run = runs.get(usage) ?? { name: crypto.randomUUID(), begun: new Set() };
  runs.set(usage, run);
  return run;
}

/** Runs a call, at its place if it is the agent's first there: the framework begins each call once. */
async function beginning<R>(
  { usage }: RunContext,
  agent: string,
  place: Place,
  run: (place: Place) => Promise<R>,
): Promise<R> {
  const written = place && write([agent, place]);
  if (written === undefined || running.has(written) || runOf(usage).begun.has(written)) return run(undefined);
  runOf(usage).begun.add(written);
  running.add(written);
  return run(place).finally(() => running.delete(written));
}
