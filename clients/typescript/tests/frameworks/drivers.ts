/**
 * What plays a row of clients/adapters.json: one driver for each framework.
 *
 * `ran`: the amounts with which the tool ran. `said`: what the model has read of its last call. `start`, `resume`,
 * `refuse`, `amend`, `again` and `restart` are the steps of that name.
 */

import { AIMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { Agent, getCurrentTrace, Runner, RunState, setTraceProcessors, tool as openAITool, Usage } from "@openai/agents";
import { createAgent } from "langchain";
import { z } from "zod";

import { guardTools } from "../../src/ai-sdk.js";
import type { Remit } from "../../src/index.js";
import { guardTool as guardLangChain } from "../../src/langchain.js";
import { guardTool as guardOpenAI } from "../../src/openai-agents.js";
import { AI_SDKS, modelThat, NAME } from "./scripted.js";

setTraceProcessors([]);
const about = { name: NAME, description: "Pay back" };
const schema = z.object({ amount: z.number() });
const context = { session: "s1" };
const THREAD = { configurable: { thread_id: "s1" } };

/** What the model calls in each of its answers: [id, amount], one list for each answer. */
export type Calls = [id: string, amount: number][][];

type Next = () => [id: string, amount: number][];

export abstract class Driver {
  readonly ran: number[] = [];
  said = "";
  protected turn = 0;

  constructor(
    readonly remit: Remit,
    /** After a change, `restart`. */
    public agent: string,
    public calls: Calls,
    /** How often the tool itself asks its user. */
    readonly pauses: number,
    /** Whether the tool runs a subagent first. */
    readonly delegates = false,
  ) {}

  async start(): Promise<void> {
    this.turn = 0;
    await this.begin();
  }

  /** What the model calls next. */
  readonly next: Next = () => this.calls[this.turn++] ?? [];

  /** What a subagent's model calls next. */
  protected nextOfOther(): Next {
    let turn = 0;
    return () => this.calls[turn++] ?? [];
  }

  protected abstract begin(): Promise<void>;
  /** Whether something must be answered before the run goes on. */
  abstract waits(): Promise<boolean> | boolean;
  /** Continues with a yes to all that waits. */
  abstract resume(): Promise<void>;
  /** Continues with a no. */
  abstract refuse(): Promise<void>;
  /** Plays the last leg once more, or the one so many before it, from what was saved before it. */
  abstract again(back?: number): Promise<void>;
  /** Continues with a yes and another amount. */
  amend(): Promise<void> {
    throw new Error("a call that waits is answered as it is");
  }
  /** Makes everything anew, but for what the framework saves. */
  abstract restart(): void;
}

export class LangGraph extends Driver {
  protected readonly options: object = {};
  readonly #saved = new MemorySaver();
  #made: any;

  restart() {
    this.#made = undefined;
  }

  protected begin() {
    return this.#go({ messages: ["refund"] });
  }

  async waits() {
    return pausesOf(await this.#state()).length > 0;
  }

  resume() {
    return this.#answer(true);
  }

  refuse() {
    return this.#answer("no");
  }

  async #answer(answer: unknown) {
    await this.#go(answerTo(await this.#state(), answer));
  }

  /** From the checkpoint before an answer to a pause, or before the tool. */
  async again(back = 0) {
    for await (const before of this.#graph.graph.getStateHistory(THREAD)) {
      if (!before.next.includes("tools") || back-- > 0) continue;
      this.turn = 1;
      return this.#go(pausesOf(before).length ? answerTo(before, true) : null, before.config);
    }
  }

  override async amend() {
    const { values, config } = await this.#state();
    const { id, tool_calls } = values.messages.at(-1);
    const edited = tool_calls.map((call: object) => ({ ...call, args: { amount: 60 } }));
    const message = new AIMessage({ id, content: "", tool_calls: edited } as any);
    await this.#graph.graph.updateState(config, { messages: [message] }, "model_request");
    await this.#go(null);
    await this.resume();
  }

  #state(): Promise<any> {
    return this.#graph.graph.getState(THREAD);
  }

  get #graph(): any {
    const other = this.delegates ? this.#agentThat(this.nextOfOther(), 0) : null;
    return (this.#made ??= this.#agentThat(this.next, this.pauses, other));
  }

  async #go(given: unknown, config: object = THREAD) {
    const { messages } = await this.run(this.#graph, given, config);
    this.said = messages.filter((message: any) => message.getType() === "tool").at(-1)?.text ?? "";
  }

  protected run(graph: any, given: unknown, config: object): Promise<{ messages: any[] }> {
    return graph.invoke(given, config);
  }

  #agentThat(next: Next, pauses: number, other?: any): any {
    class Scripted extends FakeListChatModel {
      override bindTools(): any {
        return this;
      }
      override async _generate(): Promise<any> {
        const tool_calls = next().map(([id, amount]) => ({ name: NAME, args: { amount }, id, type: "tool_call" }));
        const message = new AIMessage({ content: tool_calls.length ? "" : "done", tool_calls } as any);
        return { generations: [{ text: "", message }] };
      }
    }
    const pay = async ({ amount }: { amount: number }) => {
      for (let n = 0; n < pauses; n += 1) {
        if (interrupt(`really? ${n}`) !== true) return "the user said no";
      }
      await other?.invoke({ messages: ["refund"] });
      return this.ran.push(amount), "paid";
    };
    const options = { interrupt, ...this.options };
    const tool = guardLangChain(this.remit, this.agent, langChainTool(pay, { ...about, schema }), options);
    const model = new Scripted({ responses: [] });
    return createAgent({ model, tools: [tool], ...(other === undefined ? {} : { checkpointer: this.#saved }) } as any);
  }
}

const pausesOf = ({ tasks }: any): any[] => tasks.flatMap(({ interrupts }: any) => interrupts);
const answerTo = (state: object, answer: unknown) =>
  new Command({ resume: Object.fromEntries(pausesOf(state).map(({ id }) => [id, answer])) });

/** A pause is no outcome: that would end the name. */
export class LangGraphReporting extends LangGraph {
  protected override readonly options = { reportOutcome: true };
}

export class LangGraphStreamed extends LangGraph {
  protected override async run(graph: any, given: unknown, config: object) {
    for await (const _ of await graph.stream(given, { ...config, streamMode: "values" }));
    return (await graph.graph.getState(THREAD)).values;
  }
}

/**
 * Its tools cannot pause halfway: they ask before they run, in the same pause as Remit. Every run is resumed from what
 * was saved, and named by its trace.
 */
export class OpenAI extends Driver {
  protected readonly trace: (() => any) | undefined = getCurrentTrace;
  #state: any;
  #legs: { state: string; turn: number }[] = [];
  #desk: Agent | undefined;

  restart() {
    this.#desk = undefined;
  }

  protected begin() {
    this.#legs = [];
    return this.#go("refund");
  }

  waits() {
    return this.#state.getInterruptions().length > 0;
  }

  async again(back = 0) {
    const before = this.#legs.at(-1 - back);
    if (!before) return this.start();
    this.turn = before.turn;
    this.#state = await RunState.fromString(this.desk(), before.state);
    return this.resume();
  }

  resume() {
    return this.#answer("approve");
  }

  refuse() {
    return this.#answer("reject");
  }

  async #answer(answer: "approve" | "reject") {
    this.#legs.push({ state: String(this.#state), turn: this.turn });
    const state = await this.resumed(this.#state);
    for (const each of state.getInterruptions()) state[answer](each);
    await this.#go(state);
  }

  protected resumed(state: any): Promise<any> | any {
    return RunState.fromString(this.desk(), state.toString());
  }

  async #go(given: any) {
    const ended = await this.run(this.#runner(), given);
    this.#state = ended.state;
    this.said = JSON.stringify(ended.history.filter(({ type }: any) => type === "function_call_result").at(-1) ?? "");
  }

  protected run(runner: Runner, given: any): Promise<any> {
    return runner.run(this.desk(), given);
  }

  #runner() {
    return new Runner({ tracingDisabled: this.trace === undefined });
  }

  protected desk(): Agent {
    const other = this.delegates ? this.#agentThat(this.nextOfOther(), false) : undefined;
    return (this.#desk ??= this.#agentThat(this.next, this.pauses > 0, other));
  }

  #agentThat(next: Next, needsApproval: boolean, other?: Agent): Agent {
    const model: any = {
      async *getStreamedResponse() {
        const response = await model.getResponse();
        yield { type: "response_done", response: { id: "r", ...response } };
      },
      getResponse: async () => {
        const calls = next().map(([callId, amount]) => {
          const item = { type: "function_call", callId, name: NAME, status: "completed" };
          return { ...item, arguments: JSON.stringify({ amount }) };
        });
        const content = [{ type: "output_text", text: "done" }];
        const done = { type: "message", role: "assistant", status: "completed", content };
        return { usage: new Usage({ requests: 1 } as any), output: calls.length ? calls : [done] };
      },
    };
    const execute = async ({ amount }: { amount: number }) => {
      if (other) await this.#runner().run(other, "refund");
      return this.ran.push(amount), "paid";
    };
    const tool = openAITool({ ...about, parameters: schema, execute, needsApproval, errorFunction: null });
    const options = { context, ...(this.trace ? { trace: this.trace } : {}) };
    return new Agent({ name: "desk", model, tools: [guardOpenAI(this.remit, this.agent, tool, options)] });
  }
}

export class OpenAIStreamed extends OpenAI {
  protected override async run(runner: Runner, given: any) {
    const said = await runner.run(this.desk(), given, { stream: true });
    for await (const _ of said);
    await said.completed;
    return said;
  }
}

/** Runs have no trace, and go on in the same process. */
export class OpenAIUntraced extends OpenAI {
  protected override readonly trace = undefined;

  protected override resumed(state: any) {
    return state;
  }
}

abstract class AiSdk extends Driver {
  protected abstract readonly sdk: any;
  protected abstract readonly mocks: object;
  #messages: any[] = [];
  #waiting: { approvalId: string }[] = [];
  readonly #legs: { messages: any[]; turn: number }[] = [];

  /** Every run begins with what was saved, so nothing else is left of the one before. */
  restart() {}

  protected begin() {
    this.#messages.push({ role: "user", content: "refund" });
    return this.#go();
  }

  waits() {
    return this.#waiting.length > 0;
  }

  resume() {
    return this.#answer(true);
  }

  refuse() {
    return this.#answer(false);
  }

  /** The conversation is the user's. */
  override amend() {
    for (const part of this.#messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))) {
      if (part.type === "tool-call") part.input = { amount: 60 };
    }
    return this.resume();
  }

  again(back = 0) {
    ({ messages: this.#messages, turn: this.turn } = this.#legs.at(-1 - back) ?? this.#legs[0]!);
    return this.#go();
  }

  #answer(approved: boolean) {
    const answers = this.#waiting.map(({ approvalId }) => ({ type: "tool-approval-response", approvalId, approved }));
    this.#messages.push({ role: "tool", content: answers });
    return this.#go();
  }

  async #go() {
    const messages = JSON.parse(JSON.stringify(this.#messages));
    this.#legs.push({ messages: [...this.#messages], turn: this.turn });
    const ended = await this.#generate(this.next, messages, this.pauses > 0, this.delegates);
    this.#messages = JSON.parse(JSON.stringify([...messages, ...(ended.responseMessages ?? ended.response.messages)]));
    this.#waiting = ended.content.filter((part: any) => part.type === "tool-approval-request");
    const read = this.#messages.filter(({ role }) => role === "tool").flatMap(({ content }) => content);
    this.said = JSON.stringify(read.filter(({ type }: any) => type === "tool-result").at(-1)?.output ?? "");
  }

  #generate(next: Next, messages: any[], needsApproval: boolean, delegates: boolean): Promise<any> {
    const execute = async ({ amount }: { amount: number }) => {
      if (delegates) await this.#generate(this.nextOfOther(), [{ role: "user", content: "refund" }], false, false);
      return this.ran.push(amount), "paid";
    };
    const tool = this.sdk.tool({ inputSchema: z.any(), execute, needsApproval });
    const tools = guardTools(this.remit, this.agent, { [NAME]: tool }, { pause: true, context });
    const stopWhen = (this.sdk.stepCountIs ?? this.sdk.isStepCount)(5);
    return this.run({ model: modelThat(this.mocks, next), tools, messages, stopWhen });
  }

  protected run(given: object): Promise<any> {
    return this.sdk.generateText(given);
  }
}

export type Made = new (...given: ConstructorParameters<typeof Driver>) => Driver;
const aiSdks = AI_SDKS.flatMap(([version, sdk, mocks]): [string, Made][] => {
  class Version extends AiSdk {
    protected readonly sdk = sdk as any;
    protected readonly mocks = mocks;
  }
  class Streamed extends Version {
    protected override async run(given: object) {
      const said = this.sdk.streamText({ ...given, onError: () => undefined });
      await said.consumeStream();
      const [content, response, responseMessages] = await Promise.all([said.content, said.response, said.responseMessages]);
      return { content, response, responseMessages };
    }
  }
  return [
    [`AI SDK ${version}`, Version],
    [`AI SDK ${version}, streamed`, Streamed],
  ];
});
const isOldest = import.meta.url.includes("/lowest/");
export const DRIVERS: [name: string, driver: Made][] = [
  ["LangGraph", LangGraph],
  ["LangGraph that reports outcomes", LangGraphReporting],
  ["LangGraph, streamed", LangGraphStreamed],
  // The oldest version loses the number of the turn when a run is saved.
  ...(isOldest ? [] : ([["OpenAI Agents", OpenAI], ["OpenAI Agents, streamed", OpenAIStreamed]] as [string, Made][])),
  ["OpenAI Agents without a trace", OpenAIUntraced],
  ...aiSdks,
];

const ONCE = "a tool asks its user at most once, before it runs";
const TWICE = "an approval lets a call through that then pauses twice";
const AMENDED = "other arguments than were approved are another call";
const EDITED = "arguments that were edited at the pause are judged";
const MOVED = "a leg without a first one is a call of its own";
const MOVED_APPROVAL = "a leg without a first one has nobody's approval";
const PLAYED = "a call that is played again is another call";
const SAME_TASK = "it plays a task again under its old id";
const SAME_TOOLS = "a run that is not saved goes on with the tools that it began with";
const AS_IT_IS = "a call that waits is answered as it is";
/** By the beginning of a driver's name and the name of a row, why the framework cannot play it. */
export const CANNOT: Record<string, Record<string, string>> = {
  ...(isOldest ? { LangGraph: { [PLAYED]: SAME_TASK } } : {}),
  "OpenAI Agents": { [TWICE]: ONCE, [AMENDED]: AS_IT_IS, [EDITED]: AS_IT_IS },
  "OpenAI Agents without a trace": { [MOVED]: SAME_TOOLS, [MOVED_APPROVAL]: SAME_TOOLS },
  "AI SDK": { [TWICE]: ONCE },
};
