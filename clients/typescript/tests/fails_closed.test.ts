/** The tool runs only if Remit says so: every other case. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, test } from "node:test";
import { inspect, promisify } from "node:util";

import * as remitClient from "../src/index.js";
import { Denied, Interrupted, MalformedAnswer, NotAnOutage, Remit, RemitError, Unavailable } from "../src/index.js";
import {
  at,
  type Case,
  CASES,
  certificate,
  FaultyServer,
  HURRY_MS,
  KEY,
  NO,
  PATIENT_MS,
  said,
  SHARED,
  YES,
} from "./faults.js";

const ASK = fileURLToPath(new URL("ask.js", import.meta.url));

/** A guarded call in a process of its own, which trusts a certificate; the error as `name: message`. */
async function askTrusting(url: string, pem: string): Promise<string> {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: pem };
  return (await promisify(execFile)(process.execPath, [ASK, url, KEY], { env })).stdout.trim();
}

function limitOf(one: Case): number {
  return one.hurry ? HURRY_MS : PATIENT_MS;
}

function kindOf(one: Case): new (...args: never[]) => RemitError {
  return remitClient[one.raised as "Unavailable"];
}

describe("a tool does not run without a yes", () => {
  for (const one of CASES) {
    test(one.name, async () => {
      const service = await at(one);
      if (service.trusts) {
        const answered = await askTrusting(service.url, service.trusts);
        assert.match(answered, new RegExp(`^${one.raised}: .*${one.says}`));
        service.close();
        return;
      }
      const ran: unknown[] = [];
      const remit = new Remit({ url: service.url, key: KEY, timeoutMs: limitOf(one) });
      const error = await remit
        .guard("bot", "tool", (x: object) => ran.push(x))({ a: 1 })
        .catch((raised: unknown) => raised);
      assert.ok(error instanceof kindOf(one), String(error));
      assert.equal((error as Error).name, one.raised);
      assert.ok((error as Error).message.includes(one.says), (error as Error).message);
      assert.deepEqual(ran, []);
      const shown = [error, remit, (error as RemitError).forAgent()].map((each) =>
        inspect(each, { depth: 9, showHidden: true }),
      );
      assert.ok(!`${shown.join()}${JSON.stringify(remit)}${(error as Error).stack}`.includes(KEY));
      service.close();
    });
  }
  test("all cases that apply are run", () => assert.equal(CASES.length, SHARED.cases.length - 1));
});

describe("a batch without decisions fails as a single call does", () => {
  for (const one of CASES.filter(({ name }) => name !== "denied" && name !== "escalated")) {
    test(one.name, async () => {
      const service = await at(one, { inBatch: true });
      if (!service.trusts) {
        const remit = new Remit({ url: service.url, key: KEY, timeoutMs: limitOf(one) });
        const error = await remit.authorizeMany([{ agent: "bot", tool: "tool" }]).catch((raised: unknown) => raised);
        assert.ok(error instanceof kindOf(one), String(error));
        assert.equal((error as Error).name, one.raised);
        assert.ok((error as Error).message.includes(one.says), (error as Error).message);
      }
      service.close();
    });
  }
});

describe("only a missing decision is let through on request", () => {
  for (const one of CASES) {
    test(one.name, async () => {
      const service = await at(one);
      const ran: unknown[] = [];
      const warned: string[] = [];
      const remit = new Remit({
        url: service.url,
        key: KEY,
        timeoutMs: limitOf(one),
        warn: (said) => warned.push(said),
      });
      const guarded = remit.guard("bot", "tool", (x: object) => ran.push(x), { onUnavailable: "allow" });
      const lets = one.raised === "Unavailable";
      if (lets) await guarded({ a: 1 });
      else await assert.rejects(guarded({ a: 1 }), RemitError);
      assert.equal(ran.length, lets ? 1 : 0);
      assert.equal(warned.length, ran.length, "who lets calls through is told about each");
      service.close();
    });
  }
});

describe("a large call is never let through", () => {
  for (const one of CASES.filter(({ raised }) => raised === "Unavailable")) {
    test(one.name, async () => {
      const service = await at(one);
      const ran: unknown[] = [];
      const remit = new Remit({ url: service.url, key: KEY, timeoutMs: limitOf(one) });
      const guarded = remit.guard("bot", "tool", (x: object) => ran.push(x), { onUnavailable: "allow" });
      for (const large of [
        { x: "a".repeat(66_000) },
        { x: "\u20ac".repeat(22_000) },
        { ["a".repeat(66_000)]: 1 },
        { x: Array(33_000).fill(0) },
      ]) {
        await assert.rejects(
          guarded(large),
          (error) => error instanceof NotAnOutage && /may itself be the cause/.test(error.message),
        );
      }
      assert.deepEqual(ran, []);
      service.close();
    });
  }
});

test("a trusted certificate is accepted", async () => {
  const pem = certificate("127.0.0.1");
  const server = await FaultyServer.start([YES], { tls: pem });
  assert.equal(await askTrusting(server.url, pem), "ran");
  server.close();
});

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect is not followed: ${status}`, async () => {
    const elsewhere = await FaultyServer.start([YES]);
    const server = await FaultyServer.start([
      said({ status, body: null, headers: [`Location: ${elsewhere.url}/v1/authorize`] }),
    ]);
    await assert.rejects(new Remit({ url: server.url, key: KEY }).authorize("bot", "tool"), /not followed/);
    assert.deepEqual(elsewhere.asked, []);
    server.close();
    elsewhere.close();
  });
}

test("allowing without an answer must be written out", () => {
  const remit = new Remit({ url: "http://127.0.0.1:1", key: KEY });
  assert.throws(() => remit.guard("bot", "tool", () => 1, { onUnavailable: "Allow" as "allow" }), /onUnavailable/);
});

test("an outage after the call was escalated lets nothing through", async () => {
  const asks = said({ decision: "escalated", with: { approval: { id: "a1" } } });
  const approved = said({ body: { id: "a1", status: "approved" } });
  const server = await FaultyServer.start([asks, approved, said({ status: 502, raw: "" })]);
  const ran: unknown[] = [];
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
  const guarded = remit.guard("bot", "tool", (x: object) => ran.push(x), { onUnavailable: "allow", waitMs: 9_000 });
  await assert.rejects(guarded({}), Unavailable);
  assert.equal(server.asked.length, 4, "once more, before it says so");
  assert.deepEqual(ran, []);
  server.close();
});

describe("before a tool runs undecided, Remit is asked once more", () => {
  const away = said({ status: 502, raw: "" });
  for (const [name, first] of Object.entries({ "502": away, "a restart": said({ bytes: "" }) })) {
    test(`after ${name}, with the same Idempotency-Key`, async () => {
      const server = await FaultyServer.start([first, NO]);
      const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
      const guarded = remit.guard("bot", "tool", () => assert.fail("it ran"), { onUnavailable: "allow" });
      await assert.rejects(guarded({}), Denied);
      const keys = server.asked.map((one) => /idempotency-key: (.*)\r\n/i.exec(one)?.[1]);
      assert.equal(keys.length, 2);
      assert.ok(keys[0] && keys[0] === keys[1], String(keys));
      server.close();
    });
  }

  test("under the name of a call that has one", async () => {
    const server = await FaultyServer.start([away, NO]);
    const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
    const enforcer = new remitClient.Enforcer(remit, "bot", { onUnavailable: "allow" });
    await assert.rejects(enforcer.check("tool", {}, undefined, undefined, ["here"]), Denied);
    const keys = server.asked.map((one) => /idempotency-key: (.*)\r\n/i.exec(one)?.[1]);
    assert.deepEqual(keys, [keys[0], keys[0]]);
    assert.match(keys[0] ?? "", /^[0-9a-f]{64}$/);
    server.close();
  });

  test("where the store has no room for names, without one", async () => {
    const full = said({ status: 409, problem: "LIMIT_REACHED" });
    const server = await FaultyServer.start([full, NO]);
    const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
    await assert.rejects(remit.guard("bot", "tool", () => 1, { onUnavailable: "allow" })({}), Denied);
    assert.equal(server.asked.length, 2);
    server.close();
  });
});

for (const [name, errors] of Object.entries({
  "refuses at one address and is silent at another": ["ECONNREFUSED", "ETIMEDOUT"],
  "could not be looked up": ["EAI_AGAIN"],
})) {
  test(`a host that ${name} is no outage`, async () => {
    const cause = new AggregateError(errors.map((code) => Object.assign(new Error(code), { code })));
    const send = () => Promise.reject(new TypeError("fetch failed", { cause }));
    const remit = new Remit({ url: "http://127.0.0.1:1", key: KEY, timeoutMs: PATIENT_MS, fetch: send });
    const guarded = remit.guard("bot", "tool", () => assert.fail("it ran"), { onUnavailable: "allow" });
    await assert.rejects(guarded({}), NotAnOutage);
  });
}

test("a call that its caller ends does not run, outage or not", async () => {
  const server = await FaultyServer.start([null]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS, retries: 3 });
  const end = new AbortController();
  const asking = remit.authorize("bot", "tool", {}, { signal: end.signal });
  await server.wasAsked(1);
  end.abort();
  await assert.rejects(asking, Interrupted);
  await assert.rejects(remit.authorize("bot", "tool", {}, { signal: end.signal }), Interrupted);
  assert.equal(server.asked.length, 1);
  server.close();
});

test("calls that wait for others of the client are no outage", async () => {
  const server = await FaultyServer.start([null]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: HURRY_MS, maxInFlight: 1 });
  const end = new AbortController();
  const holding = remit.approval("a1", { waitMs: PATIENT_MS, signal: end.signal });
  await server.wasAsked(1);
  const ran: unknown[] = [];
  const guarded = remit.guard("bot", "tool", (x: object) => ran.push(x), { onUnavailable: "allow" });
  await assert.rejects(guarded({}), (error) => error instanceof NotAnOutage && /maxInFlight/.test(error.message));
  end.abort();
  await assert.rejects(holding, Interrupted);
  const free = remit.authorize("bot", "tool");
  await server.wasAsked(2); // the slot is free again
  await assert.rejects(free, Unavailable);
  assert.deepEqual(ran, []);
  server.close();
});

// As long as the timeout, or so long that too little of it is left for an answer.
for (const blockedMs of [HURRY_MS + 10, HURRY_MS * 0.8]) {
  test(`a program that is busy for ${blockedMs} ms has no outage`, async () => {
    const server = await FaultyServer.start([null]);
    const ran: unknown[] = [];
    const remit = new Remit({ url: server.url, key: KEY, timeoutMs: HURRY_MS });
    const asking = remit.guard("bot", "tool", (x: object) => ran.push(x), { onUnavailable: "allow" })({});
    await server.wasAsked(1);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockedMs);
    await assert.rejects(asking, (error) => error instanceof NotAnOutage && /did not answer within/.test(error.message));
    assert.deepEqual(ran, []);
    server.close();
  });
}

test("a call that got its turn shortly before the deadline has no outage", async () => {
  const server = await FaultyServer.start([null]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: HURRY_MS, maxInFlight: 1 });
  const end = new AbortController();
  const holding = remit.approval("a1", { waitMs: PATIENT_MS, signal: end.signal });
  await server.wasAsked(1);
  const asking = remit.guard("bot", "tool", () => assert.fail("it ran"), { onUnavailable: "allow" })({});
  setTimeout(() => end.abort(), HURRY_MS * 0.8);
  await assert.rejects(holding, Interrupted);
  await assert.rejects(asking, (error) => error instanceof NotAnOutage && /did not answer within/.test(error.message));
  server.close();
});

test("a timeout longer than any timer does not end the call at once", async () => {
  const server = await FaultyServer.start([YES]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: Infinity });
  assert.equal((await remit.authorize("bot", "tool")).allowed, true);
  server.close();
});

test("a second answer is not taken for the next request's", async () => {
  const twice = said({ decision: "allowed", headers: ["X-Request-ID: {id}"] });
  const server = await FaultyServer.start([{ ...twice, bytes: Buffer.concat([twice.bytes, twice.bytes]) }, NO]);
  const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
  await remit.authorize("bot", "first").catch(() => undefined);
  const second = await remit
    .guard("bot", "second", () => assert.fail("it ran"))({})
    .catch((error: unknown) => error);
  assert.ok(
    second instanceof Denied || second instanceof MalformedAnswer || second instanceof Unavailable,
    String(second),
  );
  server.close();
});

describe("retries, only on request, and then so that no call counts twice", () => {
  const away = said({ status: 503, problem: "STORE_UNAVAILABLE" });
  const keysOf = (server: FaultyServer) => server.asked.map((one) => /idempotency-key: (.*)\r\n/i.exec(one)?.[1]);

  test("without retries a request is sent once", async () => {
    const server = await FaultyServer.start([away, YES]);
    await assert.rejects(new Remit({ url: server.url, key: KEY }).authorize("bot", "tool"), Unavailable);
    assert.deepEqual(keysOf(server), [undefined]);
    server.close();
  });

  test("each retry of a request carries the same key", async () => {
    const server = await FaultyServer.start([away, said({ status: 502, raw: "" }), YES]);
    const remit = new Remit({ url: server.url, key: KEY, retries: 2 });
    assert.ok((await remit.authorize("bot", "tool")).allowed);
    assert.ok((await remit.authorize("bot", "tool")).allowed);
    assert.ok((await remit.authorize("bot", "tool", {}, { idempotencyKey: "mine" })).allowed);
    const keys = keysOf(server);
    assert.equal(keys.length, 5);
    assert.equal(new Set(keys.slice(0, 3)).size, 1);
    assert.notEqual(keys[3], keys[0]);
    assert.equal(keys[4], "mine");
    server.close();
  });

  test("they end with the deadline", async () => {
    const server = await FaultyServer.start([away]);
    await assert.rejects(
      new Remit({ url: server.url, key: KEY, retries: 1000, timeoutMs: 400 }).authorize("b", "t"),
      Unavailable,
    );
    assert.ok(server.asked.length >= 2 && server.asked.length <= 4);
    server.close();
  });

  for (const answer of [
    said({ status: 401, problem: "UNAUTHORIZED" }),
    said({ status: 429, problem: "RATE_LIMITED" }),
    NO,
  ]) {
    test("an answered request is not repeated", async () => {
      const server = await FaultyServer.start([answer]);
      await assert.rejects(
        new Remit({ url: server.url, key: KEY, retries: 3 }).guard("b", "t", () => 1)({}),
        RemitError,
      );
      assert.equal(server.asked.length, 1);
      server.close();
    });
  }
});
