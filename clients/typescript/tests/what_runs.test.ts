/** What a guarded function runs with is what Remit was asked about, whatever its arguments are made of. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Enforcer, folded, Gate, NotJson, Remit, snapshot, strictJson } from "../src/index.js";
import { ESCALATED, FaultyServer, KEY, NO, PATIENT_MS, said, SHARED, YES } from "./faults.js";

async function guarded<A, R>(run: (parameters: A) => R) {
  const server = await FaultyServer.start([YES]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
  return { server, ask: remit.guard("bot", "tool", run) };
}

test("arguments that are changed during the judgement do not run", async () => {
  const ran: unknown[] = [];
  const { server, ask } = await guarded((order: { lines: number[]; to?: string }) => ran.push(order));
  const given: { lines: number[]; to?: string } = { lines: [1] };
  const asking = ask(given);
  given.lines.push(9000);
  given.to = "eve";
  await asking;
  assert.deepEqual(ran, [{ lines: [1] }]);
  assert.deepEqual(server.bodies[0]?.["parameters"], { lines: [1] });
  server.close();
});

test("arguments that read differently each time are read once", async () => {
  const ran: unknown[] = [];
  const { server, ask } = await guarded((order: object) => ran.push(order));
  let reads = 0;
  const amounts = {
    get amount() {
      return (reads += 1);
    },
  };
  await ask(amounts);
  let asked = 0;
  await ask(
    new Proxy(
      {},
      {
        ownKeys: () => ["amount"],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
        get: (_, name) => (name === "amount" ? (asked += 1) : undefined),
      },
    ),
  );
  assert.deepEqual(ran, [{ amount: 1 }, { amount: 1 }]);
  assert.deepEqual(
    server.bodies.map((one) => one["parameters"]),
    ran,
  );
  server.close();
});

test("the tool cannot change what it was judged for, and gets what nobody judged only beside it", async () => {
  const server = await FaultyServer.start([YES]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
  const tool = remit.guard("bot", "tool", (order: { lines: number[] }, more: string) => {
    assert.throws(() => order.lines.push(9000), TypeError);
    assert.throws(() => Object.assign(order, { to: "eve" }), TypeError);
    return more;
  });
  assert.equal(await tool({ lines: [1] }, "an option"), "an option");
  server.close();
});

describe("a value is judged, and runs, by its rule", () => {
  const made = Object.assign(Object.create(null) as object, { a: 1 });
  const rows: [unknown, string, unknown?][] = [
    ["text", '"text"'],
    [true, "true"],
    [null, "null"],
    [0.1, "0.1"],
    [1.5e-7, "1.5e-7"],
    [-0, "0", 0],
    [2 ** 53 - 1, "9007199254740991"],
    [2n ** 64n + 1n, "18446744073709551617"],
    [[1, [2]], "[1,[2]]"],
    [made, '{"a":1}', { a: 1 }],
    [{ a: undefined, b: 1 }, '{"b":1}', { b: 1 }],
    ["\ud800", '"\\ud800"'],
  ];
  for (const [value, json, runs = value] of rows) {
    test(json, async () => {
      const { server, ask } = await guarded((parameters: { x: unknown }) => parameters.x);
      const ran = await ask({ x: value });
      assert.ok(server.asked[0]?.endsWith(`"parameters":{"x":${json}}}`), server.asked[0]);
      assert.deepEqual(JSON.stringify(ran, big), JSON.stringify(runs, big));
      assert.ok(!Object.is(ran, -0));
      server.close();
    });
  }
});

class Order {
  amount = 1;
}

describe("a value without a rule is named", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const rows: [string, unknown][] = [
    ["undefined", undefined],
    ["NaN", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["2^53", 2 ** 53],
    ["1e21", 1e21],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a set", new Set()],
    ["bytes", new Uint8Array(1)],
    ["an instance", new Order()],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
    ["a boxed text", new String("a")],
    ["a regular expression", /a/],
    ["__proto__", JSON.parse('{"__proto__": {"amount": 9000}}')],
    ["a hole", [, 1]],
    ["a cycle", cycle],
  ];
  for (const [name, value] of rows) {
    test(name, async () => {
      const { server, ask } = await guarded(() => assert.fail("it ran"));
      await assert.rejects(
        ask({ x: { y: [0, value] } }),
        (error) => error instanceof NotJson && error.message.startsWith('Parameter "x.y[1]'),
      );
      assert.deepEqual(server.asked, []);
      server.close();
    });
  }
  test("parameters that are not an object", () => {
    for (const value of [[1], "a", 1, null, new Order()]) assert.throws(() => snapshot(value), /plain object/);
    assert.deepEqual(snapshot(undefined), {});
  });
});

describe("JSON that two parsers read differently is refused", () => {
  for (const text of SHARED.ambiguous)
    test(text, () => assert.throws(() => strictJson(text), /member|NUL|JSON|digits/));
});

describe("numbers of a JSON text that JavaScript would change are refused", () => {
  for (const text of [
    "9007199254740993",
    "12345678901234567890.55",
    "0.1000000000000000055511151231257827",
    "1e400",
    "1e-400",
    "[1e21]",
  ]) {
    test(text, () => assert.throws(() => strictJson(text), NotJson));
  }
  for (const [text, value] of [
    ["1.50", 1.5],
    ["-0.0", 0],
    ["1E+2", 100],
    ["0e99", 0],
    ["120e-1", 12],
    ["5e-324", 5e-324],
    ["9007199254740991", 2 ** 53 - 1],
  ] as const) {
    test(`${text} is kept`, () => assert.equal(strictJson(text), value));
  }
});

test("a JSON text is read as it is otherwise, and frozen", async () => {
  const text = '{"a": ["x\\\\\\"y: {", {"b": null}], "c:": "\\u0041,", "d": true}';
  assert.deepEqual(strictJson(text), JSON.parse(text));
  assert.ok(Object.isFrozen((strictJson(text) as { a: unknown }).a));
  const long = JSON.stringify({ a: "\\".repeat(1_000_000), b: [] });
  assert.deepEqual(strictJson(long), JSON.parse(long));
  const server = await FaultyServer.start([YES]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
  await remit.authorize("bot", "tool", '{"amount": 1}');
  await assert.rejects(remit.authorize("bot", "tool", '{"amount": 1, "Amount": 9000}'), NotJson);
  assert.deepEqual(
    server.bodies.map((one) => one["parameters"]),
    [{ amount: 1 }],
  );
  server.close();
});

test("names are folded as the service folds them", () => {
  for (const [name, { same, other }] of Object.entries(SHARED.spellings)) {
    for (const one of same) assert.equal(folded(one), name);
    for (const one of other) assert.notEqual(folded(one), name);
  }
});

test("a gate says what to do, names a call by its place, and throws where there is no decision", async () => {
  const server = await FaultyServer.start([YES, NO, ESCALATED, said({ status: 503, problem: "STORE_UNAVAILABLE" })]);
  const gate = new Gate(new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS }), "bot");
  const given = { amount: 1 };
  const run = await gate.judge("tool", given, { place: ["here", 1] });
  assert.ok(run.kind === "run" && run.arguments !== given && Object.isFrozen(run.arguments));
  const denied = await gate.judge("tool", given, { place: ["here", 1], context: { session: "s1" } });
  assert.ok(denied.kind === "refused" && denied.text.includes("It is late"));
  const waits = await gate.judge("tool", given, { place: ["here", 2] });
  assert.ok(waits.kind === "waits" && waits.approvalId === "a1" && waits.text.includes("Approval a1 waits"));
  await assert.rejects(gate.judge("tool", given), { name: "Unavailable" });
  const names = server.asked.map((one) => /^idempotency-key: (.*)$/im.exec(one)?.[1]);
  assert.deepEqual([names[0] === names[1], names[1] === names[2], names[3]], [true, false, undefined]);
  assert.equal(server.bodies[1]?.["context"].session, "s1");
  server.close();
});

test("a generator cannot be guarded", () => {
  const remit = new Remit({ url: "http://127.0.0.1:1", key: KEY });
  assert.throws(() => remit.guard("b", "t", function* () {}), /generator/);
  assert.throws(() => remit.guard("b", "t", async function* () {}), /generator/);
});

for (const mapping of [{ refund_create: "refund.create" }, (name: string) => name.replace("_", ".")]) {
  test("a framework's name is mapped to the policies'", async () => {
    const server = await FaultyServer.start([YES]);
    const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
    const enforcer = new Enforcer(remit, "bot", { toolName: mapping });
    await enforcer.check("refund_create", {});
    await enforcer.check("toString", {});
    assert.deepEqual(
      server.bodies.map((one) => one["tool_name"]),
      ["refund.create", "toString"],
    );
    server.close();
  });
}

function big(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}n` : value;
}
