// Reads each line of its input as a service in Node would, and writes what it would run: the amount, or null.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  let amount;
  try {
    amount = JSON.parse(line).amount;
  } catch {}
  console.log(JSON.stringify(typeof amount === "number" ? amount : null));
}
