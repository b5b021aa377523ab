/**
 * One call of one tool through each framework itself, with a model that follows a script.
 *
 * Each function lets the agent call `refund_create`, adds what the tool was given to `ran` if it runs, and returns what
 * the model reads as the tool's answer.
 */

import { Agent as OpenAIAgent, Runner, tool as openAITool, Usage } from "@openai/agents";
import { type HookCallback, query } from "@anthropic-ai/claude-agent-sdk";
import { AIMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { tool as langChainTool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import * as ai from "ai";
import * as aiTest from "ai/test";
import { createAgent } from "langchain";
import { z } from "zod";

import { guardTools } from "../../src/ai-sdk.js";
import { remitHooks } from "../../src/claude-agent-sdk.js";
import type { EnforcerOptions, Remit } from "../../src/index.js";
import { guardTool as guardLangChain } from "../../src/langchain.js";
import { guardTool as guardMastra } from "../../src/mastra.js";
import { guardClient, guardServer } from "../../src/mcp.js";
import { guardTool as guardOpenAI } from "../../src/openai-agents.js";

export type Framework = (remit: Remit, agent: string, ran: unknown[], options?: EnforcerOptions) => Promise<string>;

export const NAME = "refund_create";
export const PARAMETERS = { amount: 120, lines: [1] };
const schema = z.object({ amount: z.number(), lines: z.array(z.number()) });

const optional = (name: string): Promise<any> => import(name).catch(() => undefined);
/** Those with approval requests: not version 5. Beside the newest version, there is a 6. */
export const AI_SDKS = (
  [
    ["of this folder", ai, aiTest],
    ["6", await optional("ai-6"), await optional("ai-6/test")],
  ] as [string, typeof ai, object][]
).filter(([, , mocks]) => mocks && "MockLanguageModelV3" in mocks);

/** A test model of the SDK that makes the calls that `next` gives for each of its answers, and then says something. */
export function modelThat(ofSdk: object, next: () => [id: string, amount: number][]): any {
  const mocks = ofSdk as Record<string, new (options: object) => unknown>;
  const Mock = mocks["MockLanguageModelV4"] ?? mocks["MockLanguageModelV3"]!;
  const model = new Mock({
    doGenerate: async () => {
      const calls = next().map(([toolCallId, amount]) => ({
        type: "tool-call",
        toolCallId,
        toolName: NAME,
        input: JSON.stringify({ amount }),
      }));
      const kind = calls.length ? "tool-calls" : "stop";
      const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
      const content = calls.length ? calls : [{ type: "text", text: "done" }];
      return { content, finishReason: { unified: kind, raw: kind }, usage, warnings: [] };
    },
  });
  return streaming(model);
}

/** The AI SDK's own test model, in the shape of the SDK's major version: calls the tool, then repeats what it read. */
export function aiModel(input: object = PARAMETERS, ofSdk: object = aiTest): any {
  const mocks = ofSdk as Record<string, new (options: object) => unknown>;
  const Mock = mocks["MockLanguageModelV4"] ?? mocks["MockLanguageModelV3"] ?? mocks["MockLanguageModelV2"]!;
  const isOld = !mocks["MockLanguageModelV3"];
  const usage = isOld
    ? { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
    : { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const answer = (kind: string, content: object) => ({
    content: [content],
    finishReason: isOld ? kind : { unified: kind, raw: kind },
    usage,
    warnings: [],
  });
  return new Mock({
    doGenerate: async ({ prompt }: { prompt: { role: string; content: { output?: { value: unknown } }[] }[] }) => {
      const last = prompt.at(-1)!;
      if (last.role === "tool") return answer("stop", { type: "text", text: String(last.content[0]?.output?.value) });
      return answer("tool-calls", {
        type: "tool-call",
        toolCallId: "c1",
        toolName: NAME,
        input: JSON.stringify(input),
      });
    },
  });
}

export const aiSdk: Framework = async (remit, agent, ran, options) => {
  const execute = async (input: object) => (ran.push(input), "paid");
  const tools = guardTools(remit, agent, { [NAME]: ai.tool({ inputSchema: schema, execute }) }, options);
  const stop = ai as unknown as { stepCountIs?: Function; isStepCount?: Function };
  const stopWhen = (stop.stepCountIs ?? stop.isStepCount)!(3);
  const said = await ai.generateText({ model: aiModel(), tools, stopWhen, prompt: "refund" } as any);
  return said.text;
};

/** Calls the tool, then repeats what it read. */
export function openAIModel(input: object = PARAMETERS) {
  return {
    async getResponse({ input: items }: { input: any }): Promise<any> {
      const read = Array.isArray(items)
        ? items.filter((one: any) => one.type === "function_call_result").at(-1)
        : undefined;
      const text = read && (typeof read.output === "string" ? read.output : (read.output.text ?? read.output[0]?.text));
      const item = read
        ? { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] }
        : { type: "function_call", callId: "c1", name: NAME, status: "completed", arguments: JSON.stringify(input) };
      return { usage: new Usage(), output: [item] };
    },
    getStreamedResponse(): any {
      throw new Error("not used");
    },
  };
}

export function openAITools(ran: unknown[]) {
  const execute = async (input: object) => (ran.push(input), "paid");
  return openAITool({ name: NAME, description: "Pay back", parameters: schema, execute, errorFunction: null });
}

export const openAIAgents: Framework = async (remit, agent, ran, options) => {
  const tool = guardOpenAI(remit, agent, openAITools(ran), options);
  const said = await new Runner({ tracingDisabled: true }).run(
    new OpenAIAgent({ name: "desk", model: openAIModel(), tools: [tool] }),
    "refund",
  );
  const [interruption] = said.interruptions;
  return interruption ? `${NAME} waits: repeat it once it is approved` : String(said.finalOutput);
};

class Scripted extends FakeListChatModel {
  override bindTools(): any {
    return this;
  }
  override async _generate(messages: { getType(): string; text: string }[]): Promise<any> {
    const last = messages.at(-1)!;
    const call = { name: NAME, args: structuredClone(PARAMETERS), id: "c1", type: "tool_call" as const };
    const message =
      last.getType() === "tool" ? new AIMessage(last.text) : new AIMessage({ content: "", tool_calls: [call] });
    return { generations: [{ text: last.text, message }] };
  }
}

export function langChainAgent(remit: Remit, agent: string, ran: unknown[], options?: object): any {
  const run = async (input: object) => (ran.push(input), "paid");
  const tool = guardLangChain(
    remit,
    agent,
    langChainTool(run, { name: NAME, description: "Pay back", schema }),
    options,
  );
  return createAgent({ model: new Scripted({ responses: [] }), tools: [tool], checkpointer: new MemorySaver() } as any);
}

export const THREAD = { configurable: { thread_id: "s1" } };

export const langChain: Framework = async (remit, agent, ran, options) => {
  const said = await langChainAgent(remit, agent, ran, options).invoke({ messages: ["refund"] }, THREAD);
  return said.messages.at(-1).text;
};

export const mastra: Framework = async (remit, agent, ran, options) => {
  const execute = async (input: object) => (ran.push(input), "paid");
  const tool = guardMastra(
    remit,
    agent,
    createTool({ id: NAME, description: "Pay back", inputSchema: schema, execute }),
    options,
  );
  const desk = new MastraAgent({
    id: "desk",
    name: "desk",
    instructions: "",
    model: streaming(aiModel()),
    tools: { [NAME]: tool },
  } as any);
  return (await desk.generate("refund", { maxSteps: 3 })).text;
};

/** The same model, which can also be asked for a stream. */
function streaming(model: any): any {
  const stream = async (options: unknown) => {
    const { content, finishReason, usage } = await model.doGenerate(options);
    const parts =
      content[0].type === "text"
        ? [
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: content[0].text },
            { type: "text-end", id: "t" },
          ]
        : content;
    const chunks = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }];
    return { stream: ReadableStream.from(chunks) };
  };
  return Object.assign(model, { doStream: stream });
}

async function throughMcp(server: Server, side: (ends: [InMemoryTransport, InMemoryTransport]) => [any, any]) {
  const [near, far] = side(InMemoryTransport.createLinkedPair() as [InMemoryTransport, InMemoryTransport]);
  const client = new Client({ name: "desk", version: "1" });
  await Promise.all([server.connect(far), client.connect(near)]);
  const said = await client.callTool({ name: NAME, arguments: structuredClone(PARAMETERS) });
  await client.close();
  return (said.content as { text: string }[])[0]!.text;
}

export function mcpTools(ran: unknown[]): Server {
  const server = new Server({ name: "desk", version: "1" }, { capabilities: { tools: {} } });
  const tools = [{ name: NAME, description: "Pay back", inputSchema: { type: "object" as const } }];
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    ran.push(params.arguments);
    return { content: [{ type: "text" as const, text: "paid" }] };
  });
  return server;
}

export const mcpServer: Framework = (remit, agent, ran, options) =>
  throughMcp(mcpTools(ran), ([near, far]) => [near, guardServer(far, remit, agent, options)]);

export const mcpClient: Framework = (remit, agent, ran, options) =>
  throughMcp(mcpTools(ran), ([near, far]) => [guardClient(near, remit, agent, options), far]);

/** Claude Code is a program; in its place, `claude.mjs` speaks its protocol with the SDK and runs the tool if it may. */
export const claude: Framework = async (remit, agent, ran, options) => {
  const hooks = remitHooks(remit, agent, { allowed: "allow", ...options }) as { PreToolUse: { hooks: HookCallback[] }[] };
  const program = new URL("claude.js", import.meta.url).pathname;
  const messages = query({
    prompt: "refund",
    options: { hooks, pathToClaudeCodeExecutable: program, executable: "node" },
  });
  for await (const message of messages) {
    if (message.type !== "result") continue;
    const { updatedInput, permissionDecision, permissionDecisionReason: why } = JSON.parse((message as any).result);
    if (permissionDecision === "allow") ran.push(updatedInput);
    return permissionDecision === "allow" ? "paid" : why;
  }
  throw new Error("no result");
};

/** Those from which a missing decision comes as an exception; the others tell the model. */
export const THROWING: Record<string, Framework> = { openAIAgents };
export const TELLING: Record<string, Framework> = { aiSdk, langChain, mastra, mcpServer, mcpClient, claude };
