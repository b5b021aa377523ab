/** The cases of clients/cases.json, and a server that fails in every way a network has. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";
import tls from "node:tls";
import { fileURLToPath } from "node:url";

/** The root of the repository, found from wherever the tests were compiled to. */
export const ROOT = rootOf(path.dirname(fileURLToPath(import.meta.url)));
export const KEY = `svc_${"0".repeat(32)}`;
export const HURRY_MS = 600;
export const PATIENT_MS = 20_000;
const DRIP_MS = 20;

interface Given {
  bytes?: string;
  raw?: string;
  more?: [string, number];
  status?: number;
  headers?: string[];
  type?: string;
  decision?: string;
  with?: object;
  problem?: string;
  body?: unknown;
  cut?: number;
  hangsUp?: boolean;
  resets?: boolean;
  drips?: boolean;
}

export interface Case {
  name: string;
  answer?: Given | null;
  fault?: string;
  hurry?: boolean;
  raised: string;
  says: string;
}

interface Shared {
  decisions: Record<"allowed" | "denied" | "escalated", Record<string, unknown>>;
  cases: Case[];
  spellings: Record<string, { same: string[]; other: string[] }>;
  ambiguous: string[];
}

export const SHARED = JSON.parse(readFileSync(path.join(ROOT, "clients/cases.json"), "utf8")) as Shared;
/** fetch reads no proxy from the environment, and its parser skips a header without a name; the body is no decision. */
export const CASES = SHARED.cases
  .filter(({ name }) => name !== "a proxy that refuses")
  .map((one) =>
    one.name === "no name of a header" ? { ...one, raised: "MalformedAnswer", says: "not a decision" } : one,
  );

/** What a server sends. */
export interface Said {
  readonly bytes: Buffer;
  readonly hangsUp: boolean;
  readonly resets: boolean;
  readonly drips: boolean;
}

/** One HTTP answer, as cases.json describes it. inBatch: a decision in it is that of a batch. */
export function said(given: Given, { inBatch = false } = {}): Said {
  const [text, times] = given.more ?? ["", 0];
  let bytes = Buffer.concat([Buffer.from(given.bytes ?? given.raw ?? "", "latin1"), Buffer.from(text.repeat(times))]);
  if (given.bytes === undefined) {
    const { problem, decision } = given;
    let body = given.body ?? null;
    if (decision !== undefined) {
      body = { ...SHARED.decisions[decision as "allowed"], ...given.with };
      if (inBatch) body = { results: [{ decision: body }] };
    }
    if (problem !== undefined) body = { error: { code: problem, message: `This is ${problem}`, details: [] } };
    if (given.raw === undefined) bytes = Buffer.from(JSON.stringify(body));
    const type = `Content-Type: ${given.type ?? "application/json"}`;
    const lines = [
      `HTTP/1.1 ${given.status ?? 200} X`,
      `Content-Length: ${bytes.length}`,
      type,
      ...(given.headers ?? []),
    ];
    bytes = Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), bytes]);
  }
  bytes = bytes.subarray(0, bytes.length - (given.cut ?? 0));
  const hangsUp = Boolean(given.hangsUp) || !bytes.includes("Content-Length");
  return { bytes, hangsUp, resets: Boolean(given.resets), drips: Boolean(given.drips) };
}

export const YES = said({ decision: "allowed" });
export const NO = said({ decision: "denied" });
export const ESCALATED = said({
  decision: "escalated",
  with: { approval: { id: "a1", status: "pending", expiresAt: "2026-11-22T05:00:00.000Z" } },
});

const started: FaultyServer[] = [];
after(() => started.forEach((server) => server.close()));

/** Answers each request with the next of `answers`, and repeats the last one; null = no answer. */
export class FaultyServer {
  url = "";
  readonly asked: string[] = [];
  readonly #open = new Set<net.Socket>();
  readonly #server: net.Server;
  #answers: (Said | null)[];
  #heard: (() => void)[] = [];

  private constructor(
    answers: (Said | null)[],
    private readonly options: { greets?: string; tls?: string },
  ) {
    this.#answers = answers;
    const converse = (socket: net.Socket) => this.#converse(socket);
    const { tls: pem } = options;
    this.#server = pem
      ? tls.createServer({ key: readFileSync(pem), cert: readFileSync(pem) }, converse)
      : net.createServer(converse);
    this.#server.on("tlsClientError", () => undefined);
  }

  /** A server that ends with the tests at the latest. */
  static async start(answers: (Said | null)[], options: { greets?: string; tls?: string } = {}): Promise<FaultyServer> {
    const made = new FaultyServer(answers, options);
    await new Promise<void>((resolve) => made.#server.listen(0, "127.0.0.1", resolve));
    made.url = `${options.tls ? "https" : "http"}://127.0.0.1:${(made.#server.address() as net.AddressInfo).port}`;
    started.push(made);
    return made;
  }

  /** The bodies of the requests so far, as JSON. */
  get bodies(): Record<string, any>[] {
    return this.asked.map((one) => JSON.parse(one.slice(one.indexOf("\r\n\r\n") + 4)) as Record<string, any>);
  }

  /** Resolves once there have been so many requests. */
  async wasAsked(times: number): Promise<void> {
    while (this.asked.length < times) await new Promise<void>((resolve) => this.#heard.push(resolve));
  }

  readonly close = (): void => {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  };

  #converse(socket: net.Socket): void {
    this.#open.add(socket);
    socket.on("close", () => this.#open.delete(socket));
    socket.on("error", () => undefined);
    if (this.options.greets) {
      socket.end(this.options.greets);
      return;
    }
    let got = "";
    socket.on("data", (chunk) => {
      got += chunk.toString("latin1");
      const end = got.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(got)?.[1] ?? 0);
      if (end < 0 || got.length < end + 4 + length) return;
      const request = got;
      got = "";
      this.asked.push(Buffer.from(request, "latin1").toString());
      this.#heard.splice(0).forEach((resolve) => resolve());
      void this.#answer(socket, request);
    });
  }

  async #answer(socket: net.Socket, request: string): Promise<void> {
    const [first, ...later] = this.#answers;
    if (later.length) this.#answers = later;
    if (!first) return;
    const id = /x-request-id: (.*)\r\n/i.exec(request)?.[1] ?? "";
    const bytes = Buffer.from(first.bytes.toString("latin1").replaceAll("{id}", id), "latin1");
    if (first.drips) {
      for (const byte of bytes) {
        if (socket.destroyed) return;
        socket.write(Buffer.of(byte));
        await new Promise((resolve) => setTimeout(resolve, DRIP_MS));
      }
    } else socket.write(bytes);
    if (first.resets) socket.resetAndDestroy();
    else if (first.hangsUp) socket.end();
  }
}

export interface At {
  url: string;
  /** What the program must trust, as NODE_EXTRA_CA_CERTS. */
  trusts?: string;
  close(): void;
}

/** A service with the fault of a case. */
export async function at(one: Case, options: { inBatch?: boolean } = {}): Promise<At> {
  const { fault } = one;
  if (fault === "closed port") {
    const { url, close } = await FaultyServer.start([YES]);
    close();
    return { url, close };
  }
  if (fault === "no such host") return { url: "http://remit.invalid:8080", close: () => undefined };
  if (fault === "plain text where TLS is wanted") {
    const server = await FaultyServer.start([null], { greets: "HTTP/1.1 400 Bad Request\r\n\r\n" });
    return { url: server.url.replace("http", "https"), close: server.close };
  }
  if (fault === "its own authority" || fault === "another host's certificate") {
    const tls = certificate(fault === "its own authority" ? "127.0.0.1" : "remit.example");
    const server = await FaultyServer.start([YES], { tls });
    const trusts = fault === "its own authority" ? {} : { trusts: tls };
    return { url: server.url, ...trusts, close: server.close };
  }
  if (one.answer === undefined) throw new Error(`no such fault: ${fault}`);
  return FaultyServer.start([one.answer && said(one.answer, options)]);
}

/** A certificate for a host, which is its own authority, and its key, in one file; made anew for every run. */
export function certificate(host: string): string {
  const made = path.join(mkdtempSync(path.join(tmpdir(), "remit-tls-")), "certificate.pem");
  const words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split(" ");
  const name = /^\d/.test(host) ? `IP:${host}` : `DNS:${host}`;
  const named = ["-subj", `/CN=${host}`, "-addext", `subjectAltName=${name}`, "-keyout", made, "-out", made];
  execFileSync("openssl", [...words, ...named], { stdio: "ignore" });
  return made;
}

function rootOf(folder: string): string {
  const parent = path.dirname(folder);
  if (path.basename(parent) === "clients") return path.dirname(parent);
  if (parent === folder) throw new Error("the tests are not in the repository");
  return rootOf(parent);
}
