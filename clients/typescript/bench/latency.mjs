// Question: how much time does a guarded call add to a bare fetch of the same decision?
//
// Rows alternate call by call, so that load on the machine affects both alike; the processor's time hardly depends on it. Run with the service up, an agent that may
// call the tool, and a key that may ask: `REMIT_URL=… REMIT_API_KEY=… node bench/latency.mjs AGENT TOOL [CALLS]`.
import { Remit } from "remit-client";

const [agent, tool, count = "2000"] = process.argv.slice(2);
const parameters = { amount: 120 };
const guarded = new Remit({ timeoutMs: 20_000 }).guard(agent, tool, () => true);
const headers = { authorization: `Bearer ${process.env.REMIT_API_KEY}`, "content-type": "application/json" };

async function bare() {
  const body = JSON.stringify({ agent_id: agent, tool_name: tool, parameters });
  const answer = await fetch(`${process.env.REMIT_URL}/v1/authorize`, { method: "POST", headers, body });
  if (!(await answer.json()).allowed) throw new Error("the call is not allowed");
}

const rows = { "bare fetch": bare, "guarded call": () => guarded(parameters) };
const taken = { "bare fetch": [], "guarded call": [] };
const worked = { "bare fetch": 0, "guarded call": 0 };
for (let number = 0; number < 200 + Number(count); number += 1) {
  const names = Object.keys(rows);
  for (const name of number % 2 ? names : names.reverse()) {
    const [began, work] = [performance.now(), process.cpuUsage()];
    await rows[name]();
    if (number < 200) continue; // the first ones compile
    taken[name].push(performance.now() - began);
    const { user, system } = process.cpuUsage(work);
    worked[name] += (user + system) / 1000;
  }
}
const p50 = (times) => times.sort((one, other) => one - other)[times.length >> 1];
const baseline = p50(taken["bare fetch"]);
console.log("                p50 ms  added ms  x baseline    CPU ms");
for (const [name, times] of Object.entries(taken)) {
  const median = p50(times);
  const cells = [
    median.toFixed(3).padStart(8),
    (median - baseline).toFixed(3).padStart(10),
    (median / baseline).toFixed(2).padStart(12),
  ];
  console.log(name.padEnd(14) + cells.join("") + (worked[name] / times.length).toFixed(3).padStart(10));
}
