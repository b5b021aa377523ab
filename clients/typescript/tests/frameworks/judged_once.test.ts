/** The rows of clients/adapters.json, played by each adapter that names calls, with a real service. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { ROOT } from "../faults.js";
import { CANNOT, DRIVERS } from "./drivers.js";
import { type Setting, Stage } from "./stage.js";

interface Row extends Setting {
  name: string;
  steps: string[];
  ran: number[];
  allowed: number;
  says: string;
}

const { rows } = JSON.parse(readFileSync(path.join(ROOT, "clients/adapters.json"), "utf8")) as { rows: Row[] };

for (const [name, Made] of DRIVERS) {
  const reasons = Object.entries(CANNOT).flatMap(([framework, rows]) => (name.startsWith(framework) ? [rows] : []));
  const cannot = Object.assign({}, ...reasons) as Record<string, string>;
  describe(name, () => {
    test("what it cannot play is a row", () => {
      assert.deepEqual(Object.keys(cannot).filter((each) => !rows.some((row) => row.name === each)), []);
    });

    for (const row of rows.filter((each) => !(each.name in cannot))) {
      test(row.name, async () => {
        const stage = await Stage.of(Made, row);
        const { desk } = stage;
        for (const step of row.steps) await ((step in stage ? stage : desk) as any)[step]();
        assert.deepEqual([[...desk.ran].sort((one, other) => one - other), await stage.allowed()], [row.ran, row.allowed]);
        assert.match(desk.said.replaceAll('\\"', '"').replaceAll('\\"', '"'), new RegExp(row.says, "i"));
        assert.deepEqual(await stage.pending(), []);
      });
    }
  });
}
