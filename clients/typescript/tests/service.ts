/** A real Remit on a store of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";

import { Remit } from "../src/index.js";
import { PATIENT_MS, ROOT } from "./faults.js";

export const ADMIN_KEY = `svc_${"5eed".repeat(8)}`;
const COMMAND = process.env["REMIT_COMMAND"] ?? path.join(ROOT, ".venv/bin/remit");
const STARTS = 5;
const READY_MS = 60_000;
const REFUND = ["refund.create", "refund_create"];
const MAIL = ["mail.send", "mail_send"];
const RULES = [
  { type: "parameter_constraint" as const, tools: REFUND, parameters: { amount: { min: 0, max: 500 } } },
  { type: "approval_required" as const, tools: MAIL },
  { type: "parameter_constraint" as const, tools: MAIL, parameters: { to: { required: true } } },
];

/** A service with its clients: one that may do everything, and one of an agent's runtime. */
export interface Service {
  url: string;
  admin: Remit;
  remit: Remit;
  /** The key of an agent's runtime. */
  key: string;
  /** The last line of its store's answer to a command, in which `{}` begins the names of the workspace's keys. */
  store(command: string): Promise<string>;
  /** The id of an agent that may refund up to 500, and may send mail if a person approves. */
  newAgent(rules?: object[]): Promise<string>;
}

let starting: Promise<Service> | undefined;
let child: ChildProcess | undefined;
after(() => child && ended(child));

/** The service of this process; it ends with the tests. */
export function service(): Promise<Service> {
  return (starting ??= start());
}

async function start(): Promise<Service> {
  const folder = mkdtempSync(path.join(tmpdir(), "remit-typescript-"));
  const url = await running(folder);
  const admin = new Remit({ url, key: ADMIN_KEY, timeoutMs: PATIENT_MS });
  const made = await admin.request("POST", "/v1/api-keys", { body: { name: "runtime", scopes: ["read"] } });
  const remit = new Remit({ url, key: made.key, timeoutMs: PATIENT_MS });
  const newAgent = async (rules: object[] = RULES) => {
    const agent = await admin.request("POST", "/v1/agents", { body: { name: "refund-bot" } });
    const body = { agent_id: agent.id, name: "refunds and mail", rules: rules as typeof RULES };
    await admin.request("POST", "/v1/policies", { body });
    return agent.id;
  };
  const ask = (command: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = net.connect(path.join(folder, "data/store.sock"), () => socket.write(`${command}\r\n`));
      socket.once("data", (answer) => (resolve(answer.toString().trim().split("\r\n").at(-1)!), socket.end()));
      socket.once("error", reject);
    });
  const workspace = await ask("HGET remit:workspaces default");
  const store = (command: string) => ask(command.replace("{}", `remit:{${workspace}}:`));
  return { url, admin, remit, key: made.key, store, newAgent };
}

async function running(folder: string): Promise<string> {
  const log = path.join(folder, "service.log");
  for (let tries = 0; tries < STARTS; tries += 1) {
    const port = await freePort();
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("REMIT_"));
    const env = {
      ...Object.fromEntries(inherited),
      REMIT_DATA_DIR: path.join(folder, "data"),
      REMIT_PORT: String(port),
      REMIT_BOOTSTRAP_KEY: ADMIN_KEY,
      REMIT_AUTH_FAILURES_PER_MINUTE: "0",
      REMIT_STORE_TIMEOUT_MS: "5000", // its disk may be shared and slow
    };
    const output = openSync(log, "w");
    child = spawn(COMMAND, ["serve"], { env, stdio: ["ignore", output, output], detached: true });
    closeSync(output);
    const url = `http://127.0.0.1:${port}`;
    if (await isReady(url, child)) return url;
    await ended(child); // somebody was faster at the port
  }
  throw new Error(`the service did not start: ${readFileSync(log, "utf8").slice(-2000)}`);
}

async function isReady(url: string, child: ChildProcess): Promise<boolean> {
  for (const until = Date.now() + READY_MS; Date.now() < until && child.exitCode === null;) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => child.once("exit", resolve));
  if (child.exitCode === null && child.kill("SIGTERM")) await exit;
}

async function freePort(): Promise<number> {
  const probe = net.createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as net.AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
