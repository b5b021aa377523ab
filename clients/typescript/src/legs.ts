/** Calls of MCP whose server asks its client. Since 2026-07-28, each answer is a request of its own, a leg of a call. */

import { write } from "./arguments.js";

const LEGS_MAX = 10_000;

/** Agent, tool, and what the client gave as arguments, which all legs of a call have. */
export type Asked = readonly [agent: string, tool: string, given: unknown];

/** The place of a call, by which its legs are one. */
export type PlaceOfLegs = readonly [string];

/**
 * The places of calls whose server has asked something: each question lets one more leg pass, with its state.
 *
 * What a client writes is not enough for that: a leg without a question, or that is sent again, is a call of its own. So
 * is the next leg of the oldest, if more than LEGS_MAX wait for one.
 */
export class Legs {
  readonly #expected: [leg: string, place: PlaceOfLegs][] = [];

  /** That of the call that the leg goes on with, or a new one. answers: it says that it answers a question. */
  place(asked: Asked, answers: boolean, state: unknown): PlaceOfLegs {
    const leg = answers ? write([asked, state]) : undefined;
    const at = this.#expected.findIndex((each) => each[0] === leg);
    const [found] = at < 0 ? [] : this.#expected.splice(at, 1);
    return found ? found[1] : [crypto.randomUUID()];
  }

  /** The server has asked, and given this state, which comes back with the answer. */
  expect(asked: Asked, place: PlaceOfLegs, state: unknown): void {
    this.#expected.push([write([asked, state]), place]);
    if (this.#expected.length > LEGS_MAX) this.#expected.shift();
  }
}
