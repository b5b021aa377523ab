/** Every adapter, through its framework: what is allowed runs, as it was judged, and nothing else. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { type EnforcerOptions, Remit } from "../../src/index.js";
import { at, CASES, ESCALATED, FaultyServer, HURRY_MS, KEY, PATIENT_MS, said, YES } from "../faults.js";
import { service } from "../service.js";
import { type Framework, NAME, PARAMETERS, TELLING, THROWING } from "./scripted.js";

const EVERY: Record<string, Framework> = { ...THROWING, ...TELLING };
const RULES = [{ type: "parameter_constraint", tools: [NAME], parameters: { amount: { max: 500 } } }];
const silent = { hide: false };

for (const [name, framework] of Object.entries(EVERY)) {
  describe(name, () => {
    test("an allowed call runs and is in the log", async () => {
      const { admin, remit, newAgent } = await service();
      const agent = await newAgent(RULES);
      const ran: unknown[] = [];
      assert.equal(await framework(remit, agent, ran), "paid");
      assert.deepEqual(ran, [PARAMETERS]);
      const log = await admin.request("GET", "/v1/audit-logs", { query: { agent_id: agent } });
      assert.deepEqual(
        log.map((one) => [one.toolName, one.parameters, one.result]),
        [[NAME, PARAMETERS, "allowed"]],
      );
    });

    test("a denied call does not run, and the model reads why", async () => {
      const { admin, remit, newAgent } = await service();
      const agent = await newAgent([{ type: "tool_denylist", tools: ["*"] }]);
      const ran: unknown[] = [];
      assert.match(
        await framework(remit, agent, ran),
        /refund_create\\*" is on the denylist of policy \\*"refunds and mail/,
      );
      assert.deepEqual(ran, []);
      const log = await admin.request("GET", "/v1/audit-logs", { query: { agent_id: agent } });
      assert.equal(log.length, 1, "one call, one request");
    });

    test("what is judged cannot be changed, and has the context of the program and the framework", async () => {
      const server = await FaultyServer.start([YES]);
      const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
      const ran: unknown[] = [];
      // what_runs.test.ts changes what the caller keeps; here, the very object that is judged cannot be changed.
      const authorize = remit.authorize.bind(remit);
      const context = () => ({ user: "ann" });
      remit.authorize = async (...call) => {
        const answer = await authorize(...call);
        assert.throws(() => Object.assign(call[2] as object, { amount: 9000 }), TypeError);
        assert.throws(() => (call[2] as typeof PARAMETERS).lines.push(9000), TypeError);
        return answer;
      };
      assert.equal(await framework(remit, "desk", ran, { context, ...silent } as EnforcerOptions), "paid");
      assert.deepEqual(ran, [PARAMETERS]);
      assert.deepEqual(server.bodies[0]?.["parameters"], PARAMETERS);
      assert.equal(server.bodies[0]?.["context"].user, "ann");
      if (framework === EVERY["langChain"] || framework === EVERY["claude"]) {
        assert.equal(server.bodies[0]?.["context"].session, "s1");
      }
      server.close();
    });

    test("with waitMs an approved call runs after the yes", async () => {
      const approved = said({ body: { id: "a1", status: "approved" } });
      const server = await FaultyServer.start([ESCALATED, approved, YES]);
      const ran: unknown[] = [];
      const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
      assert.equal(await framework(remit, "desk", ran, { waitMs: 9_000, ...silent } as EnforcerOptions), "paid");
      assert.equal(ran.length, 1);
      server.close();
    });

    test("a name is mapped to the policies'", async () => {
      const server = await FaultyServer.start([YES]);
      const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
      await framework(remit, "desk", [], { toolName: { [NAME]: "refund.create" }, ...silent } as EnforcerOptions);
      assert.equal(server.bodies[0]?.["tool_name"], "refund.create");
      server.close();
    });

    // The others only judge: they never see a result.
    if (!["claude", "mcpClient", "mcpServer"].includes(name)) {
      test("records of a result are reported", async () => {
        const server = await FaultyServer.start([YES]);
        const remit = new Remit({ url: server.url, key: KEY, timeoutMs: PATIENT_MS });
        const records = (tool: string, parameters: typeof PARAMETERS, result: unknown) => ({
          [`${tool} ${parameters.amount}`]: { isPaid: result === "paid" },
        });
        assert.equal(await framework(remit, "desk", [], { records }), "paid");
        const reported = { [`${NAME} ${PARAMETERS.amount}`]: { isPaid: true } };
        assert.deepEqual(server.bodies.at(-1), { status: "executed", records: reported });
        server.close();
      });
    }

    for (const one of CASES.filter(({ fault }) => fault !== "another host's certificate")) {
      test(`a tool does not run without a yes: ${one.name}`, async () => {
        const faulty = await at(one);
        const ran: unknown[] = [];
        const remit = new Remit({ url: faulty.url, key: KEY, timeoutMs: one.hurry ? HURRY_MS : PATIENT_MS });
        const isDecision = one.raised === "Denied" || one.raised === "ApprovalPending";
        const outcome = framework(remit, "desk", ran, silent as EnforcerOptions);
        if (framework.name in THROWING && !isDecision) {
          await assert.rejects(outcome, (error) => kinds(error).includes(one.raised));
        } else {
          const text = await outcome;
          assert.match(text, /was not run|once it is approved/);
          assert.ok(!text.includes(KEY));
        }
        assert.deepEqual(ran, []);
        faulty.close();
      });
    }
  });
}

/** The names of an error and of what caused it; some frameworks wrap it. */
function kinds(error: unknown): string[] {
  const found: string[] = [];
  for (let at = error as any; at; at = at.cause ?? at.error) found.push(at.name);
  return found;
}
