// Stopping a group or everything: a guardrail that denies every tool. Resuming deletes it.
import { ask } from "./api.js";
import { policies } from "./names.js";
import { session } from "./session.js";

const NAME = "Stopped by ";

/** The stops in force. */
export function stops() {
  return [...(policies.all?.values() ?? [])].filter(
    (each) =>
      each.kind === "guardrail" &&
      each.enabled &&
      each.name.startsWith(NAME) &&
      each.rules.length === 1 &&
      each.rules[0].type === "tool_denylist" &&
      each.rules[0].tools.includes("*"),
  );
}

/** Deny every call of a group, or of the whole workspace. @param {string | null} group @param {string} reason */
export async function stop(group, reason) {
  const name =
    `${NAME}${session.value?.name ?? "a session"}, ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`.slice(
      0,
      255,
    );
  await ask("POST", "/v1/policies", {
    body: { name, kind: "guardrail", ...(group && { group }), rules: [{ type: "tool_denylist", tools: ["*"] }] },
    reason,
  });
  await policies.refresh();
}

/** @param {Policy} policy @param {string} reason */
export async function resume(policy, reason) {
  try {
    await ask("DELETE", `/v1/policies/${policy.id}`, { reason, ifMatch: policy.version });
  } finally {
    await policies.refresh();
  }
}
