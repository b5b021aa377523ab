/** What ran is what was judged, even if the caller or the framework changes the arguments in between. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { tool as langChainTool } from "@langchain/core/tools";
import { createTool } from "@mastra/core/tools";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import * as ai from "ai";
import { z } from "zod";

import { guardTools } from "../../src/ai-sdk.js";
import { canUseTool, remitHooks } from "../../src/claude-agent-sdk.js";
import { Remit } from "../../src/index.js";
import { guardTool as guardLangChain } from "../../src/langchain.js";
import { guardTool as guardMastra } from "../../src/mastra.js";
import { guardClient, guardServer } from "../../src/mcp.js";
import { guardTool as guardOpenAI } from "../../src/openai-agents.js";
import { FaultyServer, KEY, NO, PATIENT_MS, YES } from "../faults.js";
import { mcpTools, NAME, openAITools, PARAMETERS } from "./scripted.js";

type Given = typeof PARAMETERS;
const about = { description: "Pay back" };
const jsonSchema = { type: "object", properties: { amount: {}, lines: {} } };

async function throughMcp(ran: unknown[], given: Given, side: (transports: any[]) => any[]) {
  const [near, far] = side(InMemoryTransport.createLinkedPair());
  const client = new Client({ name: "desk", version: "1" });
  await Promise.all([mcpTools(ran).connect(far), client.connect(near)]);
  await client.callTool({ name: NAME, arguments: given });
  await client.close();
}

/** Each has the tool called with `given`, whose reference the caller keeps. */
const CALLS: Record<string, (remit: Remit, ran: unknown[], given: Given) => Promise<unknown>> = {
  aiSdk(remit, ran, given) {
    const tool = ai.tool({ inputSchema: z.any(), execute: async (input) => ran.push(input) });
    return guardTools(remit, "desk", { [NAME]: tool })[NAME]!.execute!(given, {
      toolCallId: "c1",
      messages: [],
    } as any) as any;
  },
  langChain: (remit, ran, given) =>
    guardLangChain(
      remit,
      "desk",
      langChainTool(async (input) => ran.push(input), { ...about, name: NAME, schema: jsonSchema as any }),
    ).invoke(given),
  mastra(remit, ran, given) {
    const tool = createTool({ ...about, id: NAME, execute: async (input: unknown) => ran.push(input) } as any);
    return guardMastra(remit, "desk", tool as any).execute!(given, {});
  },
  mcpClient: (remit, ran, given) => throughMcp(ran, given, ([near, far]) => [guardClient(near, remit, "desk"), far]),
  mcpServer: (remit, ran, given) => throughMcp(ran, given, ([near, far]) => [near, guardServer(far, remit, "desk")]),
  async claudeHook(remit, ran, given) {
    const event = { tool_name: NAME, tool_input: given, session_id: "s1" };
    const said: any = await remitHooks(remit, "desk", { allowed: "allow" }).PreToolUse[0]!.hooks[0]!(event);
    ran.push(said.hookSpecificOutput.updatedInput);
  },
  async claudeCanUseTool(remit, ran, given) {
    ran.push(((await canUseTool(remit, "desk")(NAME, given)) as any).updatedInput);
  },
  openAIAgents(remit, ran, given) {
    const toolCall = { callId: "c1", name: NAME, arguments: JSON.stringify(given) };
    return guardOpenAI(remit, "desk", openAITools(ran)).invoke({} as any, toolCall.arguments, {
      toolCall,
    } as any) as any;
  },
};

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name}: arguments that are changed while Remit is asked do not run`, async () => {
    const server = await FaultyServer.start([YES]);
    const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
    const given = structuredClone(PARAMETERS);
    const authorize = remit.authorize.bind(remit);
    remit.authorize = (...asked) => {
      const answer = authorize(...asked);
      given.amount = 9000;
      given.lines.push(9000);
      return answer;
    };
    const ran: unknown[] = [];
    await call(remit, ran, given);
    assert.deepEqual(ran, [PARAMETERS]);
    assert.deepEqual(
      server.bodies.map((body) => body["parameters"]),
      [PARAMETERS],
    );
    assert.equal(given.amount, 9000);
    server.close();
  });
}

test("claudeHook: what Remit allows is left to the SDK's own permissions, unless the program says otherwise", async () => {
  const server = await FaultyServer.start([YES, NO]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
  const [hook] = remitHooks(remit, "desk").PreToolUse[0]!.hooks;
  const event = { tool_name: NAME, tool_input: PARAMETERS, session_id: "s1" };
  assert.deepEqual(await hook!(event), {});
  assert.equal(((await hook!(event)) as any).hookSpecificOutput.permissionDecision, "deny");
  server.close();
});

for (const text of ['{"amount": 1, "Amount": 9000}', '{"amount": 1, "amount": 9000}', '{"amount": 9007199254740993}']) {
  test(`openAIAgents: arguments that can be read in two ways are not judged: ${text}`, async () => {
    const server = await FaultyServer.start([YES]);
    const ran: unknown[] = [];
    const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
    await assert.rejects(guardOpenAI(remit, "desk", openAITools(ran)).invoke({} as any, text), /member|digits/);
    assert.deepEqual([ran, server.asked], [[], []]);
    server.close();
  });
}
