/** If a framework can pause a run for a person, a pending approval pauses it, and resuming asks Remit again. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Command, interrupt } from "@langchain/langgraph";
import { Agent as OpenAIAgent, Runner } from "@openai/agents";
import { z } from "zod";

import { guardTools } from "../../src/ai-sdk.js";
import { Remit } from "../../src/index.js";
import { guardTool as guardOpenAI } from "../../src/openai-agents.js";
import { ESCALATED, FaultyServer, KEY, NO, PATIENT_MS, type Said, YES } from "../faults.js";
import { AI_SDKS, aiModel, langChainAgent, NAME, openAIModel, openAITools, PARAMETERS, THREAD } from "./scripted.js";

const nameIn = (asked: string) => /^idempotency-key: (.*)$/im.exec(asked)?.[1];
/** How often Remit was asked about each call, by the names of the calls. */
function namesOf(server: FaultyServer): number[] {
  const counts = new Map<string | undefined, number>();
  for (const one of server.asked.filter((one) => one.startsWith("POST /v1/authorize "))) {
    counts.set(nameIn(one), (counts.get(nameIn(one)) ?? 0) + 1);
  }
  return [...counts.values()];
}
async function asking(...answers: Said[]) {
  const server = await FaultyServer.start(answers);
  return { server, remit: new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS }), ran: [] as unknown[] };
}

for (const [says, answers, runs] of [
  ["after the yes it runs", [ESCALATED, YES], 1],
  ["resumed too early, it does not", [ESCALATED], 0],
] as const) {
  test(`OpenAI Agents: ${says}`, async () => {
    const { server, remit, ran } = await asking(...answers);
    const tool = guardOpenAI(remit, "desk", openAITools(ran), { context: { session: "s1" } });
    const runner = new Runner({ tracingDisabled: true });
    const agent = new OpenAIAgent({ name: "desk", model: openAIModel(), tools: [tool] });
    const paused = await runner.run(agent, "refund");
    assert.deepEqual(ran, []);
    paused.state.approve(paused.interruptions[0]!);
    const resumed = await runner.run(agent, paused.state);
    assert.equal(ran.length, runs);
    assert.match(String(resumed.finalOutput), runs ? /paid/ : /once it is approved/);
    assert.deepEqual(server.bodies[0], server.bodies[1], "the second request finds the approval of the first");
    server.close();
  });

  test(`LangGraph: ${says}`, async () => {
    const { server, remit, ran } = await asking(...answers);
    const agent = langChainAgent(remit, "desk", ran, { interrupt });
    const paused = await agent.invoke({ messages: ["refund"] }, THREAD);
    assert.equal(paused.__interrupt__[0].value.approvalId, "a1");
    assert.deepEqual(ran, []);
    const resumed = await agent.invoke(new Command({ resume: true }), THREAD);
    assert.equal(ran.length, runs);
    assert.match(resumed.messages.at(-1).text, runs ? /paid/ : /once it is approved/);
    assert.deepEqual(server.bodies[0], server.bodies[1]);
    server.close();
  });

  for (const [version, sdk, mocks] of AI_SDKS) {
    test(`AI SDK ${version}: ${says}`, async () => {
      const { server, remit, ran } = await asking(...answers);
      const execute = async (input: object) => (ran.push(input), "paid");
      const tools = guardTools(remit, "desk", { [NAME]: sdk.tool({ inputSchema: z.any(), execute }) }, { pause: true });
      const messages: any[] = [{ role: "user", content: "refund" }];
      const model = aiModel(PARAMETERS, mocks);
      const paused: any = await sdk.generateText({ model, tools, messages } as any);
      const request = paused.content.find((part: any) => part.type === "tool-approval-request");
      assert.deepEqual(ran, []);
      const approval = { type: "tool-approval-response", approvalId: request.approvalId, approved: true };
      messages.push(...paused.response.messages, { role: "tool", content: [approval] });
      const resumed = await sdk.generateText({ model, tools, messages } as any);
      assert.equal(ran.length, runs);
      assert.match(resumed.text, runs ? /paid/ : /once it is approved/);
      const asked = server.asked.filter((one) => one.startsWith("POST /v1/authorize "));
      assert.equal(asked.length, 2, "once before the pause and once after it");
      assert.equal(new Set(asked.map(nameIn)).size, 1, "one call");
      assert.equal(server.asked.length - asked.length, runs, "the outcome ends the name");
      server.close();
    });
  }
}

test("OpenAI Agents: an agent that another one asks has calls of its own, although they stand at the same place", async () => {
  const { server, remit, ran } = await asking(YES);
  const options = { trace: () => ({ traceId: "trace_1" }) };
  const runner = new Runner({ tracingDisabled: true });
  const agentThat = (agent: string, invoke: () => Promise<string>) => {
    const tool = guardOpenAI(remit, agent, { ...openAITools(ran), invoke }, options);
    return new OpenAIAgent({ name: "desk", model: openAIModel(), tools: [tool] });
  };
  const clerk = agentThat("clerk", async () => (ran.push("clerk"), "paid"));
  await runner.run(agentThat("desk", async () => (await runner.run(clerk, "refund"), ran.push("desk"), "paid")), "refund");
  assert.deepEqual(ran, ["clerk", "desk"]);
  assert.deepEqual(namesOf(server), [2, 2]);
  server.close();
});

test("AI SDK: an agent that another one asks has calls of its own, although they stand at the same place", async () => {
  for (const [, sdk, mocks] of AI_SDKS) {
    const { server, remit, ran } = await asking(YES);
    const run = (agent: string, before = async (): Promise<unknown> => undefined) => {
      const execute = async () => (await before(), ran.push(agent), "paid");
      const tools = guardTools(remit, agent, { [NAME]: sdk.tool({ inputSchema: z.any(), execute }) }, { pause: true });
      return sdk.generateText({ model: aiModel(PARAMETERS, mocks), tools, prompt: "refund" } as any);
    };
    await run("desk", () => run("clerk"));
    assert.deepEqual(ran, ["clerk", "desk"]);
    assert.deepEqual(namesOf(server), [2, 2]);
    server.close();
  }
});

test("AI SDK: the next call with the same id is asked about, although the one before was approved", async () => {
  for (const [, sdk, mocks] of AI_SDKS) {
    const { server, remit, ran } = await asking(ESCALATED, YES, ESCALATED);
    const execute = async (input: object) => (ran.push(input), "paid");
    const tools = guardTools(remit, "desk", { [NAME]: sdk.tool({ inputSchema: z.any(), execute }) }, { pause: true });
    const messages: any[] = [{ role: "user", content: "refund" }];
    const model = aiModel(PARAMETERS, mocks);
    const approve = ({ content, response }: any) => {
      const { approvalId } = content.find((part: any) => part.type === "tool-approval-request");
      const answer = { type: "tool-approval-response", approvalId, approved: true };
      messages.push(...response.messages, { role: "tool", content: [answer] });
    };
    approve(await sdk.generateText({ model, tools, messages } as any));
    const ended: any = await sdk.generateText({ model, tools, messages } as any);
    messages.push(...(ended.responseMessages ?? ended.response.messages)); // version 7 has all of the run's there
    messages.push({ role: "user", content: "again" });
    const again: any = await sdk.generateText({ model, tools, messages } as any);
    assert.ok(again.content.some((part: any) => part.type === "tool-approval-request"));
    const asked = server.asked.filter((one) => one.startsWith("POST /v1/authorize "));
    assert.deepEqual([ran.length, asked.length, new Set(asked.map(nameIn)).size], [1, 3, 2]);
    server.close();
  }
});

test("OpenAI Agents: a call that needs no approval is one call, although Remit is asked before it runs, too", async () => {
  const { server, remit, ran } = await asking(YES);
  const tool = guardOpenAI(remit, "desk", openAITools(ran));
  await new Runner({ tracingDisabled: true }).run(
    new OpenAIAgent({ name: "desk", model: openAIModel(), tools: [tool] }),
    "refund",
  );
  assert.deepEqual([ran, server.asked.length, new Set(server.asked.map(nameIn)).size], [[PARAMETERS], 2, 1]);
  server.close();
});

test("OpenAI Agents: a call that is rejected in the framework does not run, although Remit allows it", async () => {
  for (const [answers, own] of [
    [[ESCALATED, YES], false],
    [[YES], true],
  ] as const) {
    const { server, remit, ran } = await asking(...answers);
    const tool = guardOpenAI(remit, "desk", { ...openAITools(ran), needsApproval: async () => own });
    const runner = new Runner({ tracingDisabled: true });
    const paused = await runner.run(new OpenAIAgent({ name: "desk", model: openAIModel(), tools: [tool] }), "refund");
    paused.state.reject(paused.interruptions[0]!);
    await runner.run(new OpenAIAgent({ name: "desk", model: openAIModel(), tools: [tool] }), paused.state);
    assert.deepEqual(ran, []);
    server.close();
  }
});

test("OpenAI Agents: what Remit denies pauses nothing, although the tool wants an approval", async () => {
  const { server, remit, ran } = await asking(NO);
  const tool = guardOpenAI(remit, "desk", { ...openAITools(ran), needsApproval: async () => true });
  const agent = new OpenAIAgent({ name: "desk", model: openAIModel(), tools: [tool] });
  const ended = await new Runner({ tracingDisabled: true }).run(agent, "refund");
  assert.deepEqual([ended.interruptions, ran], [[], []]);
  assert.match(String(ended.finalOutput), /it is late/i);
  server.close();
});

test("AI SDK: a call that needs no approval is one call, although Remit is asked before it runs, too", async () => {
  for (const [own, runs] of [
    [false, 1],
    [true, 0],
  ] as const) {
    for (const [, sdk, mocks] of AI_SDKS) {
      const { server, remit, ran } = await asking(YES);
      const execute = async (input: object) => (ran.push(input), "paid");
      const tool = sdk.tool({ inputSchema: z.any(), execute, needsApproval: own } as any);
      const tools = guardTools(remit, "desk", { [NAME]: tool }, { pause: true });
      const said: any = await sdk.generateText({ model: aiModel(PARAMETERS, mocks), tools, prompt: "refund" } as any);
      assert.equal(ran.length, runs);
      assert.equal(said.content.some((part: any) => part.type === "tool-approval-request"), own, "the tool's own");
      const asked = server.asked.filter((one) => one.startsWith("POST /v1/authorize "));
      assert.deepEqual([asked.length, new Set(asked.map(nameIn)).size], [1 + runs, 1]);
      server.close();
    }
  }
});
