/** Random histories of each framework with a real service: no tool runs more often than the log has allowed it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { RemitError } from "../../src/index.js";
import { DRIVERS, type Made } from "./drivers.js";
import { type Cast, cast, Stage } from "./stage.js";

/** By hand: HISTORIES=10000, and SEED for others. */
const HISTORIES = Number(process.env["HISTORIES"] ?? 8);
const SEED = Number(process.env["SEED"] ?? 1);
const AT_ONCE = 8;
const STEPS_MAX = 4;
const LEGS_MAX = 40;
const RULES = [{}, { asks: true }, { limit: 1 }, { limit: 3 }];
const LEGS = ["start", "resume", "resume", "resume", "refuse", "amend", "again", "again"] as const;
const BETWEEN = ["restart", "edit", "approve", "approve", "approve", "deny"] as const;

/** Numbers below `below`, the same for the same seed (mulberry32). */
function randomly(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Runs of one agent. Plain: ids are unique, everybody says yes, and nothing is edited or played again. */
class History {
  #ids = 0;

  private constructor(
    readonly stage: Stage,
    readonly random: (below: number) => number,
    readonly isPlain: boolean,
  ) {}

  static async of(seed: number, made: Made, given: Cast): Promise<History> {
    const random = randomly(seed);
    const isPlain = random(5) < 2;
    const setting = { ...RULES[random(RULES.length)], calls: [], pauses: random(2) };
    return new History(await Stage.of(made, setting, given), random, isPlain);
  }

  /** How often the tool has run, and how often the log has allowed it. */
  async play(): Promise<[ran: number, allowed: number]> {
    await this.#leg("start");
    for (let left = this.random(STEPS_MAX); left > 0; left -= 1) {
      await this.#leg(this.isPlain ? "start" : LEGS[this.random(LEGS.length)]!);
    }
    return [this.stage.desk.ran.length, await this.stage.allowed()];
  }

  /** And what follows it, until nothing waits, if the history is plain. */
  async #leg(leg: (typeof LEGS)[number]) {
    const { desk } = this.stage;
    if (leg === "start") desk.calls = Array.from({ length: 1 + this.random(2) }, () => this.#message());
    try {
      await (leg === "again" ? desk.again(this.random(3)) : desk[leg]());
    } catch (error) {
      // What the framework refuses, such as ids that it has seen, or an answer that nothing waits for.
      if (this.isPlain || error instanceof RemitError) throw error;
    }
    await this.#between();
    for (let left = LEGS_MAX; this.isPlain && left > 0 && (await desk.waits()); left -= 1) {
      await desk.resume();
      await this.#between();
    }
  }

  /** Calls with ids that nobody else has, or with some of a few. */
  #message(): [string, number][] {
    return Array.from({ length: 1 + this.random(3) }, () =>
      this.isPlain ? [`c${(this.#ids += 1)}`, this.#ids] : [`c${this.random(3)}`, 1 + this.random(2)],
    );
  }

  /** People and programs do something, or nothing. */
  async #between() {
    const { stage } = this;
    const pending = stage.setting.asks ? await stage.pending() : [];
    for (const id of this.isPlain ? pending : []) await stage.approve(id);
    if (this.random(2)) return;
    const step = this.isPlain ? "restart" : BETWEEN[this.random(BETWEEN.length)]!;
    if (step === "restart" || step === "edit") await stage[step]();
    else if (pending.length) await stage[step](pending[this.random(pending.length)]);
  }
}

for (const [name, made] of DRIVERS) {
  test(`${name}: no tool runs more often than it was allowed, and none less often where the history is plain`, async () => {
    const given = await cast();
    let next = SEED;
    let completed = 0;
    const wrong: string[] = [];
    const player = async () => {
      while (next < SEED + HISTORIES) {
        const seed = next++;
        const history = await History.of(seed, made, given);
        const [ran, allowed] = await history.play();
        completed += ran;
        if (ran <= allowed && (ran === allowed || !history.isPlain)) continue;
        wrong.push(`seed ${seed}: ran ${ran} times, allowed ${allowed} times`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, player));
    assert.deepEqual(wrong, []);
    assert.ok(completed > HISTORIES, "tools run at all");
    if (process.env["HISTORIES"]) console.log(`${name}: ${HISTORIES} histories, ${completed} runs of tools`);
  });
}
