/** A guarded call, as a program: `node ask.js URL KEY` prints `ran`, or the error. */

import { Remit } from "../src/index.js";

const [url = "", key = ""] = process.argv.slice(2);
const remit = new Remit({ url, key, timeoutMs: 20_000 });
try {
  await remit.guard("bot", "tool", () => console.log("ran"), { onUnavailable: "allow" })({});
} catch (error) {
  console.log(String(error));
}
