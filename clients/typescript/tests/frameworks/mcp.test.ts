/** MCP: what passes between client and server besides calls, and messages that others could read differently. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { z } from "zod";

import { type EnforcerOptions, Remit } from "../../src/index.js";
import { guardClient, guardServer, type McpOptions } from "../../src/mcp.js";
import { FaultyServer, KEY, PATIENT_MS, said, YES } from "../faults.js";
import { service } from "../service.js";
import { mcpTools, NAME, PARAMETERS } from "./scripted.js";

async function linked(answers: Parameters<typeof FaultyServer.start>[0]) {
  const server = await FaultyServer.start(answers);
  const [near, far] = InMemoryTransport.createLinkedPair();
  return { server, near, far, remit: new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS }) };
}

for (const side of ["client", "server"] as const) {
  test(`at the ${side}: what can never be allowed is not listed, unless it should be`, async () => {
    const { remit, newAgent } = await service();
    const agent = await newAgent([{ type: "tool_denylist", tools: [NAME] }]);
    for (const [options, shown] of [
      [{}, []],
      [{ hide: false }, [NAME]],
    ] as [McpOptions, string[]][]) {
      const [near, far] = InMemoryTransport.createLinkedPair();
      const client = new Client({ name: "desk", version: "1" });
      await mcpTools([]).connect(side === "server" ? guardServer(far, remit, () => agent, options) : far);
      await client.connect(side === "client" ? guardClient(near, remit, agent, options) : near);
      assert.deepEqual(
        (await client.listTools()).tools.map((tool) => tool.name),
        shown,
      );
      await client.close();
    }
  });

  test(`at the ${side}: all is listed if the service cannot say`, async () => {
    const { server, near, far, remit } = await linked([said({ status: 404, problem: "NOT_FOUND" })]);
    const client = new Client({ name: "desk", version: "1" });
    await mcpTools([]).connect(side === "server" ? guardServer(far, remit, "desk") : far);
    await client.connect(side === "client" ? guardClient(near, remit, "desk") : near);
    assert.deepEqual(
      (await client.listTools()).tools.map((tool) => tool.name),
      [NAME],
    );
    await client.close();
    server.close();
  });
}

test("a call that is cancelled while it is judged does not run", async () => {
  const { server, near, far, remit } = await linked([null]);
  const ran: unknown[] = [];
  await mcpTools(ran).connect(guardServer(far, remit, "desk"));
  const client = new Client({ name: "desk", version: "1" });
  await client.connect(near);
  const end = new AbortController();
  const call = client.callTool({ name: NAME, arguments: PARAMETERS }, undefined, { signal: end.signal });
  await server.wasAsked(1);
  end.abort();
  await assert.rejects(call);
  await client.ping();
  assert.deepEqual(ran, []);
  await client.close();
  server.close();
});

const call = { jsonrpc: "2.0" as const, id: 1, method: "tools/call", params: { name: NAME, arguments: PARAMETERS } };
const AMBIGUOUS: Record<string, object> = {
  "another method": { ...call, method: "ping", Method: "tools/call" },
  "the method in capitals": { ...call, method: "Tools/Call" },
  "the method with the Kelvin sign, padded": { ...call, method: " tool\u017f/call" },
  "a method that a NUL ends": { ...call, method: "tools/call\u0000" },
  "a list as the method": { ...call, method: ["tools/call"] },
  "another name": { ...call, params: { ...call.params, Name: "other" } },
  "other arguments": { ...call, params: { ...call.params, ARGUMENTS: { amount: 9000 } } },
  "no id": { jsonrpc: "2.0", method: "tools/call", params: call.params },
  "a number as the name": { ...call, params: { ...call.params, name: 1 } },
  "a list as the arguments": { ...call, params: { ...call.params, arguments: [1] } },
};

for (const [name, message] of Object.entries(AMBIGUOUS)) {
  test(`a message that a server could read as another call does not pass: ${name}`, async () => {
    for (const side of [guardServer, guardClient] as ((...given: any[]) => any)[]) {
      const { server, near, far, remit } = await linked([YES]);
      const passed: unknown[] = [];
      const refused: unknown[] = [];
      const guarded = side === guardServer ? side(far, remit, "desk") : side(near, remit, "desk");
      const answered = new Promise((resolve) => {
        const note = (answer: unknown) => resolve(refused.push(answer));
        if (side === guardServer) Object.assign(near, { onmessage: note });
        else guarded.onmessage = note;
        const pass = (judged: unknown) => resolve(passed.push(judged));
        if (side === guardServer) guarded.onmessage = pass;
        else Object.assign(far, { onmessage: pass });
      });
      await Promise.all([near.start(), far.start()]);
      await (side === guardServer ? near : guarded).send(message);
      await answered;
      assert.deepEqual([passed, server.asked], [[], []]);
      assert.equal(refused.length, 1);
      server.close();
    }
  });
}

test("the agent can come from the message, and the session from the transport", async () => {
  const { server, near, far, remit } = await linked([YES]);
  far.sessionId = "s1";
  const ran: unknown[] = [];
  const options: EnforcerOptions = { context: { user: "ann" } };
  const agentOf = (extra: { authInfo: { clientId: string } }) => extra.authInfo.clientId;
  await mcpTools(ran).connect(guardServer(far, remit, agentOf, options));
  const client = new Client({ name: "desk", version: "1" });
  const send = near.send.bind(near);
  near.send = (message) => send(message, { authInfo: { token: "t", clientId: "desk", scopes: [] } });
  await client.connect(near);
  await client.callTool({ name: NAME, arguments: PARAMETERS });
  assert.deepEqual(
    [server.bodies[0]?.["agent_id"], server.bodies[0]?.["context"]],
    ["desk", { session: "s1", user: "ann" }],
  );
  assert.equal(ran.length, 1);
  await client.close();
  server.close();
});

/** A server of 2026-07-28 that asks `questions` times before it pays, and what its guarded client gets for one leg. */
async function asking(questions: number, side: "client" | "server", options: McpOptions = {}) {
  const { remit, newAgent } = await service();
  const limit = { type: "rate_limit", tools: [NAME], rateLimit: { maxCalls: 1, windowSeconds: 3600 } };
  const agent = await newAgent([{ type: "tool_grant", tools: [NAME] }, limit]);
  const [near, far] = InMemoryTransport.createLinkedPair();
  const server: any = side === "server" ? guardServer(far, remit, agent, options) : far;
  const client: any = side === "client" ? guardClient(near, remit, agent, options) : near;
  server.onmessage = ({ id, params }: any) => {
    const state = Number(params.requestState ?? 0);
    const result =
      state < questions
        ? { resultType: "input_required", inputRequests: { sure: {} }, requestState: `${state + 1}` }
        : { resultType: "complete", content: [{ type: "text", text: "paid" }] };
    server.send({ jsonrpc: "2.0", id, result });
  };
  await Promise.all([server.start(), client.start()]);
  let id = 0;
  return (state?: string, args: object = PARAMETERS) => {
    const answers = state === undefined ? {} : { inputResponses: { sure: { action: "accept" } }, requestState: state };
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    const params = { name: NAME, arguments: args, ...answers, _meta };
    id += 1;
    return new Promise<string>((resolve) => {
      client.onmessage = ({ result }: any) => resolve(result.requestState ?? result.content[0].text);
      client.send({ jsonrpc: "2.0", id, method: "tools/call", params });
    });
  };
}

for (const side of ["client", "server"] as const) {
  test(`at the ${side}: a call whose server asks twice is one call`, async () => {
    const leg = await asking(2, side);
    assert.deepEqual([await leg(), await leg("1"), await leg("2")], ["1", "2", "paid"]);
    assert.match(await leg(), /Rate limit reached/);
  });

  test(`at the ${side}: a question lets one more leg pass, of the same call, with its state`, async () => {
    for (const wrong of [[], ["1", { ...PARAMETERS, amount: 121 }], ["2"]] as [string?, object?][]) {
      const leg = await asking(2, side);
      assert.equal(await leg(), "1");
      assert.match(await leg(...wrong), /Rate limit reached/);
      assert.equal(await leg("1"), "2");
      assert.match(await leg("1"), /Rate limit reached/);
    }
  });

  test(`at the ${side}: with named: false, each leg is a call of its own`, async () => {
    const leg = await asking(1, side, { named: false });
    assert.equal(await leg(), "1");
    assert.match(await leg("1"), /Rate limit reached/);
  });
}

/** The second major version has packages of its own; the oldest supported SDK is from before them. */
async function secondVersion(): Promise<any> {
  const names = ["@modelcontextprotocol/client", "@modelcontextprotocol/server"];
  const found = await Promise.all(names.map((name) => import(name).catch(() => undefined)));
  return found.every(Boolean) ? Object.assign({}, ...found) : undefined;
}

const second = await secondVersion();
for (const side of second ? (["client", "server"] as const) : []) {
  test(`version 2, at the ${side}: what is allowed runs, and nothing else`, async () => {
    const { server, remit } = await linked([YES, said({ decision: "denied" })]);
    const [near, far] = second.InMemoryTransport.createLinkedPair();
    const ran: unknown[] = [];
    const desk = new second.McpServer({ name: "desk", version: "1" });
    desk.registerTool(NAME, { inputSchema: z.object({ amount: z.number() }) }, async (input: object) => {
      ran.push(input);
      return { content: [{ type: "text", text: "paid" }] };
    });
    const client = new second.Client({ name: "desk", version: "1" });
    await desk.connect(side === "server" ? guardServer(far, remit, "desk") : far);
    await client.connect(side === "client" ? guardClient(near, remit, "desk") : near);
    const asked = async () => (await client.callTool({ name: NAME, arguments: { amount: 120 } })).content[0].text;
    assert.equal(await asked(), "paid");
    assert.match(await asked(), /was not run. It is late/);
    assert.deepEqual(ran, [{ amount: 120 }]);
    await client.close();
    server.close();
  });
}
