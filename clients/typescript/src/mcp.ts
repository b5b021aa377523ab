/** MCP TypeScript SDK: transports that ask Remit before a tool call passes. */

import { folded } from "./arguments.js";
import type { Remit } from "./client.js";
import { Enforcer, type EnforcerOptions } from "./enforcement.js";
import { Gate, told, type Verdict } from "./gate.js";
import { type Asked, Legs, type PlaceOfLegs } from "./legs.js";

const CALL = "tools/call";
const NAMES = ["jsonrpc", "id", "method", "params", "result", "error", "name", "arguments", "_meta", "requestId"];
const INVALID_REQUEST = -32600;
const NAMES_MAX = 1000;
const VERSION = "io.modelcontextprotocol/protocolVersion";

/** Of this process: a server may have a transport of its own for each request. */
const legs = new Legs();

type Id = string | number;
interface Message {
  jsonrpc: "2.0";
  id?: Id;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: unknown;
}
type Pass = (message: Message) => unknown;
type OnMessage = (message: any, extra?: any) => void;
interface Transport {
  start(): Promise<void>;
  send(message: any, options?: any): Promise<void>;
  close(): Promise<void>;
  onmessage?: OnMessage | undefined;
  onerror?: ((error: Error) => void) | undefined;
  sessionId?: string | undefined;
}

export interface McpOptions extends EnforcerOptions {
  /** Leave tools that the agent can never call out of listings; on by default. */
  hide?: boolean;
}

/**
 * The same transport, for `server.connect(…)`: a tool runs only if Remit allows the call; otherwise the client gets a
 * tool error that says why.
 *
 * agent: the calling agent, or a function that reads it from what the transport says about a message, such as its
 * `authInfo`.
 */
export function guardServer<T extends Transport>(
  transport: T,
  remit: Remit,
  agent: string | ((extra: any) => string),
  options: McpOptions = {},
): T {
  const messages = new Messages(remit, options, () => transport.sessionId);
  const agentOf = (extra: unknown) => (typeof agent === "function" ? agent(extra) : agent);
  const send = (message: Message, given?: unknown) => messages.toClient(message, (shown) => transport.send(shown, given));
  return proxied(transport, send, (handle) => (message, extra) => {
    const refuse = (answer: Message) => transport.send(answer, { relatedRequestId: message.id });
    const pass = (judged: Message) => handle(judged, extra);
    messages.toServer(message, () => agentOf(extra), pass, refuse).catch((error) => transport.onerror?.(error));
  });
}

/** The same transport, for `client.connect(…)`: a call leaves only if Remit allows it; otherwise it has a tool error. */
export function guardClient<T extends Transport>(
  transport: T,
  remit: Remit,
  agent: string,
  options: McpOptions = {},
): T {
  const messages = new Messages(remit, options, () => transport.sessionId);
  let handler: OnMessage = () => undefined;
  const send = (message: Message, given?: unknown) =>
    messages.toServer(
      message,
      () => agent,
      (judged) => transport.send(judged, given),
      (answer) => handler(answer),
    );
  return proxied(transport, send, (handle) => {
    handler = handle;
    return (message, extra) => {
      messages.toClient(message, (shown) => handle(shown, extra)).catch((error) => transport.onerror?.(error));
    };
  });
}

/** Judges calls on their way to the server, and shortens listings on their way to the client. */
class Messages {
  readonly #judging = new Map<Id, AbortController>();
  readonly #listing = new Map<Id, () => string>();
  readonly #legs = new Map<Id, [asked: Asked, place: PlaceOfLegs]>();

  constructor(
    private readonly remit: Remit,
    private readonly options: McpOptions,
    private readonly session: () => string | undefined,
  ) {}

  async toServer(message: Message, agentOf: () => string, pass: Pass, refuse: Pass): Promise<void> {
    const { id, method } = message;
    const wrong = ambiguity(message);
    if (wrong) await refuse(errorOf(id, `Not passed on: ${wrong}`));
    else if (method === CALL) await this.#judge(message, agentOf, pass, refuse);
    else {
      if (method === "notifications/cancelled" && this.#cancel(message)) return;
      if (method === "tools/list" && id !== undefined) this.#listing.set(id, agentOf);
      await pass(message);
    }
  }

  async toClient(message: Message, pass: Pass): Promise<void> {
    const answered = message.method ? undefined : message.id;
    if (answered !== undefined) this.#expect(answered, message.result);
    const agentOf = answered === undefined ? undefined : this.#listing.get(answered);
    if (agentOf === undefined) return void (await pass(message));
    this.#listing.delete(message.id as Id);
    await pass(this.options.hide === false ? message : await this.#shown(message, agentOf));
  }

  async #judge(message: Message, agentOf: () => string, pass: Pass, refuse: Pass): Promise<void> {
    const { id, params = {} } = message;
    const { name, arguments: given = {} } = params as { name?: unknown; arguments?: unknown };
    if (id === undefined || typeof name !== "string" || this.#judging.has(id)) {
      return void (await refuse(
        errorOf(id, "tools/call must be a request with an id of its own and the name of a tool"),
      ));
    }
    const cancelled = new AbortController();
    this.#judging.set(id, cancelled);
    const verdict = await this.#verdict(message, name, given, agentOf, cancelled.signal);
    this.#judging.delete(id);
    if (cancelled.signal.aborted) return;
    if (verdict.kind !== "run") await refuse(toolError(message, verdict.text));
    else await pass({ ...message, params: { ...params, name, arguments: verdict.arguments } });
  }

  async #verdict(
    { id, params }: Message,
    tool: string,
    given: unknown,
    agentOf: () => string,
    signal: AbortSignal,
  ): Promise<Verdict> {
    const session = this.session();
    try {
      const agent = agentOf();
      const asked = [agent, tool, given] as const;
      const answers = params !== undefined && ("inputResponses" in params || "requestState" in params);
      const place = isModern(params) ? legs.place(asked, answers, params?.["requestState"]) : undefined;
      const known = { signal, place, ...(session === undefined ? {} : { context: { session } }) };
      const verdict = await new Gate(this.remit, agent, this.options).judge(tool, given, known);
      if (place && verdict.kind === "run") this.#legs.set(id as Id, [asked, place]);
      return verdict;
    } catch (error) {
      return told(error);
    }
  }

  /** If the server's answer to a call asks the client, the call's next leg may come. */
  #expect(id: Id, result: unknown): void {
    const leg = this.#legs.get(id);
    this.#legs.delete(id);
    const { resultType, requestState } = (result ?? {}) as Record<string, unknown>;
    if (leg && resultType === "input_required") legs.expect(...leg, requestState);
  }

  /** Ends the judgement of a call. False if there is none, so that the server must hear of the cancellation. */
  #cancel({ params }: Message): boolean {
    const id = params?.["requestId"] as Id;
    const judging = this.#judging.get(id);
    judging?.abort();
    this.#legs.delete(id); // a server does not answer what was cancelled
    return judging !== undefined;
  }

  /** A list of tools without those that can never be allowed; all, if Remit cannot say. */
  async #shown(message: Message, agentOf: () => string): Promise<Message> {
    const result = message.result as { tools?: { name: string }[] } | undefined;
    if (!Array.isArray(result?.tools)) return message;
    try {
      const agent = agentOf();
      const named = new Enforcer(this.remit, agent, this.options);
      const names = result.tools.map((tool) => named.policyName(tool.name));
      const never = await this.#denied(agent, names);
      return { ...message, result: { ...result, tools: result.tools.filter((_, at) => !never.has(names[at] as string)) } };
    } catch {
      return message; // listings only help the model; each call is judged anyway
    }
  }

  /** Those of these tools that the agent can never call, whether or not the catalogue has them. */
  async #denied(agent: string, names: string[]): Promise<Set<string>> {
    const denied = new Set<string>();
    for (let start = 0; start < names.length; start += NAMES_MAX) {
      const asked = { path: { agent_id: agent }, body: { names: names.slice(start, start + NAMES_MAX) } };
      const { tools } = await this.remit.request("POST", "/v1/agents/{agent_id}/tools", asked);
      for (const tool of tools) if (tool.status === "denied") denied.add(tool.name);
    }
    return denied;
  }
}

/** Why another program could read this message as a different one; undefined if it could not. */
function ambiguity(message: Message): string | undefined {
  const names = [...Object.keys(message), ...Object.keys(message.method === CALL ? (message.params ?? {}) : {})];
  const other = names.find((name) => !NAMES.includes(name) && NAMES.includes(folded(name)));
  if (other) return `"${folded(other)}" is in another spelling, which some programs read as that name`;
  const { method } = message;
  if (method === undefined || method === CALL) return undefined;
  if (typeof method !== "string" || !/^[!-~]+$/.test(method)) return "its method is not visible ASCII characters";
  if (folded(method) === CALL) return `the method ${CALL} is in another spelling`;
  return undefined;
}

function proxied<T extends Transport>(
  transport: T,
  send: (message: Message, options?: unknown) => Promise<void>,
  hear: (handle: OnMessage) => OnMessage,
): T {
  return new Proxy(transport, {
    get(target, name) {
      if (name === "send") return send;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" && !String(name).startsWith("on") ? value.bind(target) : value;
    },
    set(target, name, value) {
      return Reflect.set(target, name, name === "onmessage" && value ? hear(value as OnMessage) : value, target);
    },
  });
}

/** Whether a request is of the protocol of 2026-07-28 or later, in which each one names it. */
function isModern(params: Message["params"]): boolean {
  const meta = params?.["_meta"];
  return typeof meta === "object" && meta !== null && VERSION in meta;
}

function errorOf(id: Id | undefined, message: string): Message {
  return { jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code: INVALID_REQUEST, message } };
}

function toolError({ id, params }: Message, text: string): Message {
  const complete = isModern(params) ? { resultType: "complete" } : {};
  return { jsonrpc: "2.0", id: id as Id, result: { content: [{ type: "text", text }], isError: true, ...complete } };
}
