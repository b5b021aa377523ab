/** Where Remit and the tool itself pause a run, each gets the answer to its own question. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { AIMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Command, interrupt, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";

import { Remit } from "../../src/index.js";
import { guardTool } from "../../src/langchain.js";
import { ESCALATED, FaultyServer, KEY, PATIENT_MS, type Said, YES } from "../faults.js";
import { NAME, THREAD } from "./scripted.js";

/** An agent whose model makes the calls at once. The tool asks "really?" and keeps the answer in `ran`. */
async function graph(answers: Said[], calls = ["c1"]) {
  class Scripted extends FakeListChatModel {
    override bindTools(): any {
      return this;
    }
    override async _generate(messages: { getType(): string }[]): Promise<any> {
      const tool_calls = calls.map((id) => ({ name: NAME, args: { amount: 1 }, id, type: "tool_call" as const }));
      const isRead = messages.at(-1)!.getType() === "tool";
      const message = new AIMessage({ content: isRead ? "done" : "", ...(isRead ? {} : { tool_calls }) });
      return { generations: [{ text: "", message }] };
    }
  }
  const server = await FaultyServer.start(answers);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
  const ran: unknown[] = [];
  const run = async () => (ran.push(interrupt("really?")), "paid");
  const schema = z.object({ amount: z.number() });
  const tools = [guardTool(remit, "desk", langChainTool(run, { name: NAME, description: "Pay back", schema }), { interrupt })];
  const model = new Scripted({ responses: [] });
  const agent: any = createAgent({ model, tools, checkpointer: new MemorySaver() } as any);
  const go = async (given: unknown) => {
    const said = await agent.invoke(given, THREAD);
    const pauses: { id: string; value: unknown }[] = said.__interrupt__ ?? [];
    return { pauses, asked: pauses.map(({ value }) => (typeof value === "string" ? value : "Remit")), said };
  };
  return { go, ran, server };
}

test("the answer to Remit's pause is not the tool's", async () => {
  const { go, ran, server } = await graph([ESCALATED, YES]);
  assert.deepEqual((await go({ messages: ["refund"] })).asked, ["Remit"]);
  assert.deepEqual((await go(new Command({ resume: "for Remit" }))).asked, ["really?"]);
  assert.deepEqual(ran, []);
  assert.deepEqual((await go(new Command({ resume: "for the tool" }))).asked, []);
  assert.deepEqual(ran, ["for the tool"]);
  server.close();
});

test("the answers are told apart by the ids of the pauses", async () => {
  const { go, ran, server } = await graph([ESCALATED, YES]);
  let { pauses } = await go({ messages: ["refund"] });
  for (const word of ["for Remit", "for the tool"]) {
    ({ pauses } = await go(new Command({ resume: { [pauses[0]!.id]: word } })));
  }
  assert.deepEqual([pauses, ran], [[], ["for the tool"]]);
  server.close();
});

test("where Remit does not pause, the tool gets its answer", async () => {
  const { go, ran, server } = await graph([YES]);
  assert.deepEqual((await go({ messages: ["refund"] })).asked, ["really?"]);
  await go(new Command({ resume: "for the tool" }));
  assert.deepEqual(ran, ["for the tool"]);
  server.close();
});

test("where Remit asks only after the tool has an answer, nothing runs", async () => {
  const { go, ran, server } = await graph([YES, ESCALATED]);
  await go({ messages: ["refund"] });
  const { asked, said } = await go(new Command({ resume: "for the tool" }));
  assert.deepEqual([asked, ran], [[], []]);
  assert.match(said.messages.at(-2).text, /once it is approved/);
  server.close();
});

test("of two calls that wait, one is answered and the other still waits", async () => {
  const { go, ran, server } = await graph([ESCALATED, ESCALATED, YES], ["c1", "c2"]);
  const [first, second] = (await go({ messages: ["refund"] })).pauses;
  const once = await go(new Command({ resume: { [first!.id]: "for Remit" } }));
  assert.deepEqual([once.asked.sort(), ran], [["Remit", "really?"], []]);
  const twice = await go(new Command({ resume: { [second!.id]: "for Remit" } }));
  assert.deepEqual([twice.asked, ran], [["really?", "really?"], []]);
  const answers = Object.fromEntries(twice.pauses.map(({ id }) => [id, "for the tool"]));
  assert.deepEqual((await go(new Command({ resume: answers }))).asked, []);
  assert.deepEqual(ran, ["for the tool", "for the tool"]);
  server.close();
});
