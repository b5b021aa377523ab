"""Mistakes made on purpose, each of which some test must catch. `run.py` applies them, one at a time.

A mutant is a place: a text that occurs once in its file, what stands there instead, and what that breaks. Who rewrites
the code moves the mistake to where the same decision is taken now.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One mistake. breaks: what is no longer true."""

    name: str
    file: str
    old: str
    new: str
    breaks: str


PDP = [
    Mutant(
        "guardrails-grant",
        "app/pdp/compiled.py",
        "each.policy.kind is PolicyKind.GRANT]",
        "each.policy.kind in PolicyKind]",
        "a guardrail never allows",
    ),
    Mutant(
        "shadow-decides",
        "app/pdp/compiled.py",
        "each.decides if shadow is None else",
        "each.enabled if shadow is None else",
        "a shadow policy changes no answer",
    ),
    Mutant(
        "one-tier",
        "app/pdp/compiled.py",
        "groupby(grants, key=lambda each: each.policy.priority)",
        "groupby(grants, key=lambda each: each.policy.kind)",
        "grants of the highest priority decide alone",
    ),
    Mutant(
        "suspended-is-asked",
        "app/pdp/compiled.py",
        "agent.status is AgentStatus.ACTIVE",
        "agent.status is not AgentStatus.REVOKED",
        "calls of a suspended agent are denied",
    ),
    Mutant(
        "last-escalation-named",
        "app/pdp/decide.py",
        "if escalated is None:",
        "if True:",
        "of several policies with one result the first is named",
    ),
    Mutant(
        "limits-per-key-shared",
        "app/pdp/decide.py",
        "settled_quotas(view.varying, request, key_id)",
        'settled_quotas(view.varying, request, "")',
        "a limit per key counts each key's calls",
    ),
    Mutant(
        "holds-a-minute-longer",
        "app/pdp/decide.py",
        "holds_until_us=(minute + 1) * MINUTE_US",
        "holds_until_us=(minute + 2) * MINUTE_US",
        "a plan that depends on the time holds for its minute",
    ),
    Mutant(
        "later-escalating-quotas",
        "app/pdp/quotas.py",
        "asked[:deciding] if result is Result.ESCALATED else asked",
        "asked if result is not Result.DENIED else asked",
        "a quota of a later policy does not replace an escalation",
    ),
    Mutant(
        "missing-parameter-passes",
        "app/pdp/constraints.py",
        "return missing if required else None",
        "return None",
        "a named parameter must be given",
    ),
    Mutant(
        "unless-as-when",
        "app/pdp/constraints.py",
        "return holds is all_hold",
        "return holds",
        "`unless` is the opposite of `when`",
    ),
    Mutant(
        "max-excluded",
        "app/pdp/value_tests.py",
        "return failure if value > bound else None",
        "return failure if value >= bound else None",
        "`max` is the largest value that passes",
    ),
    Mutant(
        "no-day-7",
        "app/pdp/rules/time_based.py",
        "frozenset(day % 7 for day in window.allowed_days)",
        "frozenset(window.allowed_days)",
        "day 7 is Sunday, too",
    ),
    Mutant(
        "negative-amounts",
        "app/pdp/rules/limits.py",
        "not 0 <= value <= MAX_AMOUNT",
        "not value <= MAX_AMOUNT",
        "a call cannot give a budget back",
    ),
    Mutant(
        "no-session-needed",
        "app/pdp/rules/sequence.py",
        "return None if _session_of(context) else _NO_SESSION",
        "return None",
        "a sequence rule fails a call that names no session",
    ),
    Mutant(
        "approval-lifts-every-limit",
        "app/pdp/escalations.py",
        "is_covered = asked is not None and asked.fingerprint in approved.rules",
        "is_covered = asked is not None",
        "an approval lifts only the limits of rules that asked for it",
    ),
    Mutant(
        "first-condition-named",
        "app/pdp/policy_views.py",
        "first = min(present, key=lambda ref: ref.index)",
        "first = present[0]",
        "of several rules that pass, the first is named",
    ),
]

AUTHORIZE = [
    Mutant(
        "bound-key-by-alias",
        "app/authorize/authorizer.py",
        "if not caller.may_ask_for(agent_id):",
        "if not agent_id:",
        "a bound key may not ask for another agent by its alias",
    ),
    Mutant(
        "message-to-the-allowed",
        "app/authorize/authorizer.py",
        "if message is None or outcome.result is Result.ALLOWED:",
        "if message is None:",
        "only calls that are not allowed get a policy's message",
    ),
    Mutant(
        "one-call-more",
        "app/authorize/commit/quotas.py",
        "newest_spared = quota.max_calls - 1 if",
        "newest_spared = quota.max_calls if",
        "a limit admits its maximum",
    ),
    Mutant(
        "approval-covers-all-rules",
        "app/authorize/approvals.py",
        "{each.fingerprint for each in asking} <= set(rules) and",
        "rules is not None and",
        "an approval is for the rules that asked for it",
    ),
    Mutant(
        "deleted-policy-approves",
        "app/authorize/approvals.py",
        "and set(policies) <= set(governing)",
        "and policies is not governing",
        "an approval ends with the policies that asked for it",
    ),
    Mutant(
        "any-approval-by-name",
        "app/authorize/escalated_calls.py",
        'named in ("", current.id) and current.covers(asking',
        "current.covers(asking",
        "a call that names an approval uses no other",
    ),
    Mutant(
        "session-not-bound",
        "app/authorize/approvals.py",
        "names = {*ALWAYS_BOUND, *agent.context_names}",
        "names = {*agent.context_names}",
        "an approval is for one session and user",
    ),
    Mutant(
        "grant-beyond-the-rule",
        "app/approvals/approvals.py",
        "grant.uses > most_uses",
        "grant.uses < 0",
        "a person who grants more than the rule allows is told so",
    ),
    Mutant(
        "hidden-part-approved",
        "app/approvals/approvals.py",
        "if approval.hides and not accepts_hidden:",
        "if approval.hides and accepts_hidden:",
        "a person who does not see the whole call must accept that",
    ),
    Mutant(
        "answered-after-the-verdict",
        "app/authorize/commit/first_answers.py",
        'record.get("status") != ApprovalStatus.PENDING',
        'record.get("status") == ApprovalStatus.DENIED',
        "a first answer that asked a person ends with the person's verdict",
    ),
]

LUA = [
    Mutant(
        "workspace-token-ignored",
        "lua/commit_decision.lua",
        "elseif not version or version .. ' ' .. (last[4] or '') ~= versions then",
        "elseif not version or version ~= string.match(versions, '^%S+') then",
        "I8: a plan made before a workspace's guardrail is stale",
    ),
    Mutant(
        "escalated-takes",
        "lua/commit_decision.lua",
        "if result == 'allowed' or state.takes then",
        "if result ~= 'denied' or state.takes then",
        "I4: a call that is not allowed costs nothing",
    ),
    Mutant(
        "waiting-for-nothing",
        "lua/commit_decision.lua",
        "full, full_result ~= result and retry_us or 0",
        "full, retry_us",
        "a call is not told to wait where waiting changes nothing",
    ),
    Mutant(
        "one-denial-late",
        "lua/commit_decision/breakers.lua",
        "call('LINDEX', breaker.denials, breaker.most - 2)",
        "call('LINDEX', breaker.denials, breaker.most - 1)",
        "a breaker trips with the denial that reaches its maximum",
    ),
    Mutant(
        "answer-outlives-guardrail",
        "lua/commit_decision/first_answers.lua",
        "elseif first[2] ~= version or first[3] ~= state.shared_version then",
        "elseif first[2] ~= version then",
        "a first answer ends with a change of a shared policy",
    ),
    Mutant(
        "group-token-gone",
        "lua/commit_decision/groups.lua",
        "if (token or '-') ~= planned[i] then",
        "if token and token ~= planned[i] then",
        "a plan made before a group's last policy was deleted is stale",
    ),
    Mutant(
        "last-of-the-budget",
        "lua/commit_decision/limits.lua",
        "if (newest - oldest) % TOTALS + amount > max then",
        "if (newest - oldest) % TOTALS + amount >= max then",
        "a budget can be spent to the last millionth",
    ),
    Mutant(
        "session-remembers-too-long",
        "lua/commit_decision/sequences.lua",
        "wait = wait > 0 and 0 or math.huge",
        "wait = wait >= 0 and 0 or math.huge",
        "a call exactly as long ago as a sequence looks back no longer counts",
    ),
    Mutant(
        "late-report",
        "lua/record_outcome.lua",
        "if time_ms - decided_ms >= report_ms then",
        "if time_ms - decided_ms > report_ms then",
        "an outcome can be reported for a day, and no longer",
    ),
    Mutant(
        "used-up-stays-approved",
        "lua/commit_decision/approvals.lua",
        "if uses_left == 0 then set('status', 'consumed') end",
        "if uses_left < 0 then set('status', 'consumed') end",
        "I14: an approval that is used up is consumed",
    ),
    Mutant(
        "own-child-approves",
        "lua/decide_approval.lua",
        "elseif root == asker_root or has(made_by, asker_root) then",
        "elseif root == asker_root then",
        "a key made by the asker cannot approve for it",
    ),
    Mutant(
        "suspension-ends-nothing",
        "lua/put_agent.lua",
        "local approvals_ended = active and stored[7] or not active and sequence",
        "local approvals_ended = stored[7]",
        "suspending an agent ends its approvals",
    ),
    Mutant(
        "alias-of-the-dead",
        "lua/delete_agent.lua",
        "if has_alias then",
        "if not has_alias then",
        "a deleted agent leaves nothing",
    ),
    Mutant(
        "lifetime-shrinks",
        "lua/rotate_key.lua",
        "redis.call('HSETNX', key, 'meant_to_expire_ms', expires_ms)",
        "redis.call('HSET', key, 'meant_to_expire_ms', until_ms)",
        "a successor lives as long as the first key was meant to",
    ),
    Mutant(
        "rotated-key-approves-again",
        "app/store/api_keys.py",
        "root=key.root, made_by=tuple(",
        "made_by=tuple(",
        "a key and its successor are one person",
    ),
    Mutant(
        "maker-approves-after-child",
        "lua/decide_approval.lua",
        "if has(approvers, root) or has(approvers_made_by, root) then",
        "if has(approvers, root) then",
        "whoever made an approver's key does not approve a second time",
    ),
    Mutant(
        "another-key-uses-an-approval",
        "app/model/canonical_call.py",
        "_parts([asker, agent_id,",
        "_parts([agent_id,",
        "an approval is only for the key that asked",
    ),
    Mutant(
        "asker-decides",
        "lua/decide_approval.lua",
        "elseif root == asker_root or has(made_by, asker_root) then",
        "elseif has(made_by, asker_root) then",
        "the key that asked decides nothing",
    ),
    Mutant(
        "decided-though-suspended",
        "lua/decide_approval.lua",
        "or not (tonumber(stored[9] or 0) > tonumber(of_agent[2] or -1)) then",
        "then",
        "what was asked before a suspension cannot be decided",
    ),
    Mutant(
        "decided-without-its-policy",
        "lua/decide_approval.lua",
        "if call('HEXISTS', KEYS[i], 'version') == 0 then",
        "if not KEYS[i] then",
        "what a deleted policy asked cannot be decided",
    ),
    Mutant(
        "decided-unseen",
        "app/approvals/approvals.py",
        "if if_match is not None and approval.version not in if_match:",
        "if if_match == frozenset() and approval.version not in if_match:",
        "a verdict is on the approval as the person saw it",
    ),
    Mutant(
        "finished-call-stays",
        "lua/decide_approval.lua",
        "if is_current then call('DEL', approval_call) end",
        "if not is_current then call('DEL', approval_call) end",
        "the store forgets which call a finished approval was for",
    ),
]

SURFACE = [
    Mutant(
        "filtered-pages-restart",
        "app/store/agents.py",
        "skipped, left = offset if filtered else 0, limit",
        "skipped, left = 0, limit",
        "pages of a filtered list do not overlap",
    ),
    Mutant(
        "revoked-is-reactivated",
        "app/store/agents.py",
        "if agent.status is AgentStatus.REVOKED and status not in (UNSET, AgentStatus.REVOKED):",
        "if agent.status is AgentStatus.REVOKED and status is AgentStatus.SUSPENDED:",
        "a revoked agent stays revoked",
    ),
    Mutant(
        "edits-forget-calls",
        "app/store/put_policies.py",
        "return sorted(before - bucket_keys(keyspace, change.after))",
        "return sorted(before)",
        "a limit that stays keeps the calls it has counted",
    ),
    Mutant(
        "pages-of-a-kind",
        "app/store/policies.py",
        "skipped, matches = max(0, skipped - len(matches)), matches[skipped:]",
        "skipped, matches = 0, matches[skipped:]",
        "pages of policies of one kind miss nothing",
    ),
    Mutant(
        "set-over-the-limit",
        "lua/put_policies.lua",
        "if more > 0 and owner_held + more > per_owner_max then",
        "if more > 0 and owner_held + math.min(more, 1) > per_owner_max then",
        "a set exceeds no limit",
    ),
    Mutant(
        "set-overwrites",
        "app/store/policy_sets.py",
        "if if_match is not None and version not in if_match:",
        "if if_match and len(if_match) > 1 and version not in if_match:",
        "a set that somebody has changed meanwhile is not overwritten",
    ),
    Mutant(
        "prune-keeps",
        "app/model/policy_sets.py",
        "PolicyChange(policy, None if prune else policy)",
        "PolicyChange(policy, policy)",
        "with `prune` a set is all there is",
    ),
    Mutant(
        "history-ends-early",
        "app/store/policy_versions.py",
        "if len(ids) < most:",
        "if len(ids) > most:",
        "a policy older than its versions has the state before them",
    ),
    Mutant(
        "rollback-without-a-look",
        "app/store/policy_versions.py",
        "            if_match=if_match,\n            by=replace(by,",
        "            by=replace(by,",
        "a rollback respects If-Match",
    ),
    Mutant(
        "expired-admin-counts",
        "app/store/api_keys.py",
        "(key.expires_ms is None or now_ms < key.expires_ms)",
        "(key.expires_ms is None or key.expires_ms)",
        "an expired admin key is none",
    ),
    Mutant(
        "overlap-prolongs",
        "app/store/api_keys.py",
        "now_ms + overlap_ms if key.expires_ms is None else key.expires_ms)",
        "now_ms + overlap_ms)",
        "a rotated key that ends soon still does",
    ),
    Mutant(
        "suspended-is-left-open",
        "app/admin/agents.py",
        "if agent.status is not AgentStatus.ACTIVE:",
        "if agent.status is AgentStatus.REVOKED:",
        "an answer to a suspension is sent after its approvals have ended",
    ),
    Mutant(
        "trail-of-all",
        "app/model/snapshots.py",
        "unchanged = {name for name, value in now.items() if",
        "unchanged = {name for name, value in now.items() if name == '' and",
        "the trail has the fields that changed, and no others",
    ),
    Mutant(
        "weak-tags-match",
        "app/http/headers.py",
        "if match is not None and match[1] is None)",
        "if match is not None)",
        "a weak entity tag matches nothing",
    ),
]

MUTANTS = [*PDP, *AUTHORIZE, *LUA, *SURFACE]
