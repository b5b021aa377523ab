/** The client against a real service. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ApprovalPending, Denied, type EnforcerOptions, Gate, Refused, Remit } from "../src/index.js";
import { ESCALATED, FaultyServer, KEY, PATIENT_MS, said, YES } from "./faults.js";
import { service } from "./service.js";

test("an allowed call runs and is in the log, a denied one does not run and says why", async () => {
  const { admin, remit, newAgent } = await service();
  const agent = await newAgent();
  const refund = remit.guard(agent, "refund.create", ({ amount }: { amount: number }) => `paid ${amount}`);
  assert.equal(await refund({ amount: 120 }), "paid 120");
  await assert.rejects(refund({ amount: 900 }), (error) => {
    assert.ok(error instanceof Denied);
    assert.equal(error.decision.code, "parameter_invalid");
    assert.match(error.message, /Parameter "amount" is 900, above the maximum 500. Change the parameters/);
    assert.match(error.forAgent(), /^"refund.create" was not run. Parameter "amount" is 900/);
    return true;
  });
  const log = await admin.request("GET", "/v1/audit-logs", { query: { agent_id: agent } });
  assert.deepEqual(
    log.map((one) => [one.toolName, one.parameters, one.result]),
    [
      ["refund.create", { amount: 900 }, "denied"],
      ["refund.create", { amount: 120 }, "allowed"],
    ],
  );
});

test("a twin of a name that a rule reads is denied, as the service treats it", async () => {
  const { remit, newAgent } = await service();
  const agent = await newAgent();
  const refund = remit.guard(agent, "refund.create", () => assert.fail("it ran"));
  await assert.rejects(refund({ amount: 1, Amount: 9000 }), Denied);
});

test("whole numbers of any size are judged exactly", async () => {
  const { admin, remit, newAgent } = await service();
  const agent = await newAgent([
    { type: "parameter_constraint", tools: ["*"], parameters: { id: { enum: [9007199254740993n] } } },
  ]);
  assert.equal((await remit.authorize(agent, "read", { id: 9007199254740993n })).result, "allowed");
  assert.equal((await remit.authorize(agent, "read", { id: 9007199254740992n })).result, "denied");
  assert.ok(admin);
});

test("a person approves, and the same call runs once", async () => {
  const { admin, remit, newAgent } = await service();
  const agent = await newAgent();
  const mail = remit.guard(agent, "mail.send", ({ to }: { to: string }) => `mail to ${to}`, {
    context: { user: "ann" },
  });
  const pending = await mail({ to: "a@example.com" }).catch((error: unknown) => error);
  assert.ok(pending instanceof ApprovalPending);
  const id = pending.approvalId as string;
  assert.deepEqual((await remit.approval(id)).parameters, { to: "a@example.com" });
  assert.equal((await admin.approve(id, { note: "fine", version: 1 })).status, "approved");
  await assert.rejects(mail({ to: "b@example.com" }), ApprovalPending);
  assert.equal(await mail({ to: "a@example.com" }), "mail to a@example.com");
  await assert.rejects(mail({ to: "a@example.com" }), ApprovalPending);
});

test("a waiting call runs after the yes, and not after a no or a withdrawal", async () => {
  const { admin, remit, newAgent } = await service();
  const agent = await newAgent();
  const mail = remit.guard(agent, "mail.send", ({ to }: { to: string }) => to, { waitMs: PATIENT_MS });
  const waiting = async (to: string) => {
    const asked = mail({ to });
    asked.catch(() => undefined);
    for (;;) {
      const all = await admin.request("GET", "/v1/approvals", { query: { status: "pending", agent_id: agent } });
      const one = all.find((each) => each.parameters["to"] === to);
      if (one) return { asked, id: one.id };
    }
  };
  const yes = await waiting("a@example.com");
  await admin.approve(yes.id);
  assert.equal(await yes.asked, "a@example.com");
  const no = await waiting("b@example.com");
  await admin.deny(no.id, { note: "not today" });
  await assert.rejects(no.asked, (error) => error instanceof Denied && /not today/.test(error.forAgent()));
  const withdrawn = await waiting("c@example.com");
  await remit.cancel(withdrawn.id);
  await assert.rejects(withdrawn.asked, /the approval is cancelled/);
});

test("a wait outlives a restart of the service, and ends with its time", async () => {
  const pending = said({ body: { id: "a1", status: "pending" } });
  const approved = said({ body: { id: "a1", status: "approved" } });
  const server = await FaultyServer.start([ESCALATED, pending, said({ status: 502, raw: "" }), approved, YES]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
  assert.equal(await remit.guard("b", "t", () => "ran", { waitMs: 9_000 })({}), "ran");
  assert.match(server.asked[1] ?? "", /^GET \/v1\/approvals\/a1\?wait=9 /);
  server.close();
  const silent = await FaultyServer.start([ESCALATED, pending]);
  const hasty = new Remit({ url: silent.url, key: KEY, timeoutMs: PATIENT_MS });
  await assert.rejects(hasty.guard("b", "t", () => "ran", { waitMs: 50 })({}), ApprovalPending);
  silent.close();
});

test("another approval's answer counts for nothing", async () => {
  const server = await FaultyServer.start([ESCALATED, said({ body: { id: "a2", status: "approved" } }), YES]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
  await assert.rejects(remit.guard("b", "t", () => assert.fail("it ran"), { waitMs: 9_000 })({}), ApprovalPending);
  server.close();
});

test("a batch has a decision for each call, or none", async () => {
  const { remit, newAgent } = await service();
  const agent = await newAgent();
  const calls = [120, 900].map((amount) => ({ agent, tool: "refund.create", parameters: { amount } }));
  assert.deepEqual(
    (await remit.authorizeMany(calls)).map((one) => one.result),
    ["allowed", "denied"],
  );
  assert.deepEqual(
    (await remit.authorizeMany(calls, "all_or_nothing")).map((one) => one.allowed),
    [false, false],
  );
  const [first, ...others] = await remit.authorizeMany([calls[1]!, calls[0]!], "deny_on_first_deny");
  assert.deepEqual([first?.result, others.some((one) => one.allowed)], ["denied", false]);
  const server = await FaultyServer.start([said({ body: { results: [] } })]);
  await assert.rejects(new Remit({ url: server.url, key: KEY }).authorizeMany(calls), /0 decisions on 2 calls/);
  server.close();
});

test("an outcome is in the log", async () => {
  const { admin, remit, newAgent } = await service();
  const agent = await newAgent();
  const refund = remit.guard(
    agent,
    "refund.create",
    ({ amount }: { amount: number }) => {
      if (amount > 1) throw new Error("no money");
    },
    { reportOutcome: true },
  );
  await refund({ amount: 1 });
  await assert.rejects(refund({ amount: 2 }), /no money/);
  const log = await admin.request("GET", "/v1/audit-logs", { query: { agent_id: agent } });
  assert.deepEqual(log.map((one) => ("outcome" in one ? one.outcome : one.result)).length, 4);
  const warned: string[] = [];
  const server = await FaultyServer.start([YES, said({ status: 500, raw: "" })]);
  const client = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS, warn: (text) => warned.push(text) });
  assert.equal(await client.guard("b", "t", () => "ran", { reportOutcome: true })({}), "ran");
  assert.match(warned[0] ?? "", /was not reported/);
  server.close();
});

test("an outcome says what rules may read of the result", async () => {
  const { admin, remit, newAgent } = await service();
  const agent = await newAgent();
  const { key } = await admin.request("POST", "/v1/api-keys", {
    body: { name: "runtime", scopes: ["authorize", "record"] },
  });
  const runtime = new Remit({ url: remit.url, key, timeoutMs: PATIENT_MS });
  const context = { session: "s" };
  const decision = await runtime.authorize(agent, "refund.create", { amount: 1 }, { context });
  await runtime.reportOutcome(decision, "executed", { "order:A": { status: "delivered" } });
  const told = await admin.request("POST", "/v1/explain", {
    body: {
      agent_id: agent,
      tool_name: "refund.create",
      parameters: { amount: 1, order: "A" },
      context,
      policies: [
        {
          name: "delivered",
          rules: [
            {
              type: "parameter_constraint",
              tools: ["refund.create"],
              record: {
                of: "order:{parameters.order}",
                from: ["refund.create"],
                fields: { status: { enum: ["delivered"] } },
              },
            },
          ],
        },
      ],
    },
  });
  assert.equal(told.result, "allowed");
});

test("a guarded call reports records of its result, also one that runs through a gate", async () => {
  const { admin, remit, newAgent } = await service();
  const record = {
    of: "order:{parameters.order}",
    from: ["order.read"],
    fields: { status: { enum: ["delivered"] } },
  };
  const agent = await newAgent([
    { type: "tool_grant", tools: ["order.read", "refund.create"] },
    { type: "parameter_constraint", tools: ["refund.create"], record },
  ]);
  const { key } = await admin.request("POST", "/v1/api-keys", {
    body: { name: "runtime", scopes: ["authorize", "record"] },
  });
  const warned: string[] = [];
  const warn = (text: string) => void warned.push(text);
  const runtime = new Remit({ url: remit.url, key, timeoutMs: PATIENT_MS, warn });
  const context = { session: "s" };
  const refunds = async (order: string) => (await runtime.authorize(agent, "refund.create", { order }, { context })).result;
  const given: unknown[] = [];
  const options: EnforcerOptions = {
    context,
    toolName: { read: "order.read" },
    records: (tool, { order }, result) => {
      given.push([tool, order, result]);
      return order === "none" ? {} : { [`order:${order}`]: { status: result.status.trim() } };
    },
  };
  const read = ({ order }: { order: string }) => (order === "lost" ? {} : { status: "delivered" });
  const guarded = runtime.guard(agent, "read", read, options);
  assert.equal(await refunds("A"), "denied");
  assert.deepEqual(await guarded({ order: "A" }), { status: "delivered" });
  assert.equal(await refunds("A"), "allowed");
  assert.deepEqual(given, [["order.read", "A", { status: "delivered" }]]);

  const gate = new Gate(runtime, agent, options);
  for (const order of ["run", "ended", "failed"]) {
    const verdict = await gate.judge("read", { order });
    assert.ok(verdict.kind === "run");
    if (order === "run") assert.deepEqual(await gate.run(verdict, () => read(verdict.arguments)), { status: "delivered" });
    else await gate.ended(verdict, { failed: order === "failed", result: read(verdict.arguments) });
  }
  assert.deepEqual([await refunds("run"), await refunds("ended"), await refunds("failed")], ["allowed", "allowed", "denied"]);

  // The tool has run: a result of which no records can be made is not lost, and without any nothing is reported.
  assert.deepEqual(warned, []);
  assert.deepEqual(await guarded({ order: "lost" }), {});
  assert.match(warned[0] ?? "", /The records of decision .* could not be made/);
  await guarded({ order: "none" });
  const log = await admin.request("GET", "/v1/audit-logs", { query: { agent_id: agent, limit: 100 } });
  assert.equal(log.filter((one) => one.action === "outcome").length, 3);
});

test("any endpoint can be asked, with a version and a reason", async () => {
  const { admin, newAgent } = await service();
  const id = await newAgent();
  const agent = await admin.request("GET", "/v1/agents/{agent_id}", { path: { agent_id: id } });
  const change = {
    path: { agent_id: id },
    body: { description: "Pays customers back" },
    headers: { "Change-Reason": "ticket 17" },
  };
  await admin.request("PATCH", "/v1/agents/{agent_id}", { ...change, ifVersion: agent.version });
  await assert.rejects(
    admin.request("PATCH", "/v1/agents/{agent_id}", { ...change, ifVersion: agent.version }),
    (error) => error instanceof Refused && error.status === 412,
  );
  await assert.rejects(admin.request("GET", "/v1/agents/{agent_id}", { path: { agent_id: "../keys" } }), Refused);
  await assert.rejects(admin.request("GET", "/v1/agents/{agent_id}", { path: { agent_id: ".." } }), TypeError);
  assert.equal(await admin.request("DELETE", "/v1/agents/{agent_id}", { path: { agent_id: id } }), undefined);
});

test("a client says what it lacks, and shows no key", () => {
  const fine = { url: "http://127.0.0.1:1", key: KEY };
  const rows: [object, RegExp][] = [
    [{ ...fine, url: "" }, /REMIT_URL/],
    [{ ...fine, key: "" }, /REMIT_API_KEY/],
    [{ ...fine, key: "svc_\n" }, /visible ASCII/],
    [{ ...fine, url: "ftp://x" }, /http:\/\/host/],
    [{ ...fine, url: `http://${KEY}@x` }, /pass the key as key/],
    [{ ...fine, timeoutMs: 0 }, /timeoutMs/],
  ];
  for (const [options, said] of rows)
    assert.throws(
      () => new Remit(options),
      (error) => said.test(String(error)) && !String(error).includes(KEY),
    );
  assert.equal(new Remit({ ...fine, url: "http://127.0.0.1:1/remit/" }).url, "http://127.0.0.1:1/remit");
});
