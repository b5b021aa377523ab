"""A naive model of a workspace: plain dicts, one step at a time. It says what every request must be answered.

It shares no code with the service; calls are judged by the mirror. What the service alone can choose (ids, times, raw
keys) is taken from its answer, `told`. A method returns the answer's JSON, or raises `Refused`.
"""

import copy
import json
from collections import Counter
from dataclasses import dataclass, field

from mirror import naive

OPERATOR = "console"
AUTHOR = (
    "agentId",
    "group",
    "key",
    "kind",
    "name",
    "rules",
    "priority",
    "enabled",
    "mode",
    "agentMessage",
    "managedBy",
    "keepsRequests",
)
"""The fields of a policy that a change records, in addition to its version."""

DEFAULTS = {"kind": "grant", "priority": 0, "enabled": True, "mode": "enforce", "key": None, "agentMessage": None}
DEFAULTS |= {"managedBy": None, "keepsRequests": False}
MISMATCHES_MAX = 20
TERMS = {"expiresSeconds": 3_600, "approvals": 1, "validSeconds": 900, "maxUses": 1}


class Refused(Exception):
    """The request is refused with this error code, and nothing has changed."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


@dataclass
class Approval:
    """A question to people.

    call: what it binds. rules: those that asked, as (policy id, JSON), full limits among them.
    """

    id: str
    call: tuple
    agent: str
    tool: str
    asker: str
    rules: list
    policy: str | None
    rule: int | None
    people: int
    valid_ms: int
    uses_left: int
    expires_ms: int
    decisions: list
    status: str = "pending"
    over: bool = False
    version: int = 1
    requests: int = 1
    said: list = field(default_factory=list)
    said_yes: list = field(default_factory=list)
    usable_until_ms: int = 0

    @property
    def ends_ms(self):
        return self.expires_ms if self.status == "pending" else self.usable_until_ms

    def is_open(self, now_ms):
        return self.status in ("pending", "approved") and now_ms < self.ends_ms

    def shown(self, now_ms):
        """What a reader sees."""
        is_late = self.status in ("pending", "approved") and now_ms >= self.ends_ms
        return {
            "id": self.id, "status": "expired" if is_late else self.status, "version": self.version,
            "agentId": self.agent, "toolName": self.tool, "policyId": self.policy, "requests": self.requests,
            "requestedBy": self.asker, "required": self.people, "usesLeft": self.uses_left, "said": self.said,
            "decisions": self.decisions,
        }  # fmt: skip


class Model:
    """A workspace with its limits.

    is_remote: requests come with API keys, which are checked first, and a change ends approvals at once; otherwise the
    caller is the operator, and approvals end with the reaper's next round.
    slack_ms: how far times that the service computes may be from the model's.
    """

    def __init__(self, limits, *, is_remote, slack_ms):
        self.limits, self.is_remote, self.slack_ms = limits, is_remote, slack_ms
        self.now_us = 0
        self.agents, self.policies, self.keys, self.versions = {}, {}, {}, {}
        self.trail, self.log = [], []
        self.approvals, self.of_call = {}, {}
        self.mismatches = Counter()
        self.admitted, self.history = {}, []
        self.moves = {}

    @property
    def now_ms(self):
        return self.now_us // 1000

    # Agents

    def create_agent(self, told, actor, reason, name, alias, groups, description):
        self._enter(actor)
        self._require_actor(actor)
        self._require_room(len(self.agents), "agents")
        self._require_alias(alias, None)
        made = {"id": get(told, "id"), "name": name, "alias": alias, "description": description, "status": "active"}
        made |= {"type": "agent", "groups": groups, "version": 1, "createdAt": get(told, "createdAt")}
        made["updatedAt"] = made["createdAt"]
        self.agents[made["id"]] = made
        self._note(actor, reason, "created", "agent", made["id"], None, agent_fields(made))
        return made

    def update_agent(self, told, actor, reason, agent, changes, if_match):
        self._enter(actor)
        held = self._agent(agent)
        require_version(held["version"], if_match)
        if not changes:
            return held
        if held["status"] == "revoked" and changes.get("status", "revoked") != "revoked":
            raise Refused("AGENT_REVOKED")
        self._require_actor(actor)
        self._require_alias(changes.get("alias"), held["id"])
        made = held | changes | {"version": held["version"] + 1, "updatedAt": later(told, held)}
        self.agents[held["id"]] = made
        self._moved(held["id"], None)
        self._note(actor, reason, "updated", "agent", held["id"], *differing(agent_fields(held), agent_fields(made)))
        if made["status"] != "active":
            self._end(lambda each: each.agent == made["id"])
            self._end_at_once(made["id"])
        return made

    def delete_agent(self, _told, actor, reason, agent, if_match):
        self._enter(actor)
        held = self._agent(agent)
        require_version(held["version"], if_match)
        self._require_actor(actor)
        for policy in self.policies_of(held["id"], None):
            self._drop_policy(policy, actor, reason)
        before = agent_fields(held) | {"createdAt": held["createdAt"]}
        self._note(actor, reason, "deleted", "agent", held["id"], before, None)
        del self.agents[held["id"]]
        self._end(lambda each: each.agent == held["id"])
        self._end_at_once(held["id"])

    # Policies

    def create_policy(self, told, actor, reason, owner, fields):
        self._enter(actor)
        agent_id, group = self._owner(owner)
        body = DEFAULTS | fields
        self._require_key(agent_id, group, body["key"], None)
        self._require_actor(actor)
        self._require_limits(agent_id, group, [], [body])
        return self._put(told, actor, reason, None, body | {"agentId": agent_id, "group": group})

    def update_policy(self, told, actor, reason, policy, changes, if_match):
        self._enter(actor)
        held = self._policy(policy)
        require_version(held["version"], if_match)
        return self._change(told, actor, reason, held, held | changes) if changes else held

    def delete_policy(self, _told, actor, reason, policy, if_match):
        self._enter(actor)
        held = self._policy(policy)
        require_version(held["version"], if_match)
        self._require_actor(actor)
        self._drop_policy(held, actor, reason)
        self._end_at_once()

    def roll_back(self, told, actor, reason, policy, version, if_match):
        self._enter(actor)
        held = self._policy(policy)
        if version > held["version"]:
            raise Refused("POLICY_VERSION_NOT_FOUND")
        past = next((each["policy"] for each in self.versions[held["id"]] if each["version"] == version), None)
        if past is None:
            raise Refused("VERSION_NOT_KEPT")
        require_version(held["version"], if_match)
        wanted = held | {name: past[name] for name in AUTHOR}
        return self._change(told, actor, reason or f"back to version {version}", held, wanted)

    def put_policies(self, told, actor, reason, owner, entries, prune, seen):
        """seen: the set's version as it was read, and how often it had changed by then; None = any."""
        self._enter(actor)
        agent_id, group = self._owner(owner)
        held = self.policies_of(agent_id, group)
        if seen is not None:
            is_current = seen[0] == "0" if agent_id is None and not held else seen[1] == self.moved(agent_id, group)
            if not is_current:
                raise Refused("VERSION_CONFLICT")
        matched, left = settled(held, entries)
        wanted = [
            (was, DEFAULTS | {name: each[name] for name in each if name != "id"})
            for was, each in zip(matched, entries, strict=True)
        ]
        if not prune and {each["key"] for _, each in wanted if each["key"]} & {each["key"] for each in left}:
            raise Refused("POLICY_KEY_TAKEN")
        changed = [(was, each) for was, each in wanted if was is None or not same(was, was | each)]
        deleted = left if prune else []
        result = {"created": [], "updated": [], "deleted": [each["id"] for each in deleted]}
        if changed or deleted:
            kept = [each for each in held if each not in deleted and all(each is not was for was, _ in changed)]
            self._require_limits(agent_id, group, held, [*kept, *(each for _, each in changed)], is_set=True)
            self._require_actor(actor)
            by_id = {each["id"]: each for each in get(told, "policies") or []}
            new = iter(get(told, "created") or [])
            for was, each in changed:
                policy_id = next(new, None) if was is None else was["id"]
                result["created" if was is None else "updated"].append(policy_id)
                written = (was or {"agentId": agent_id, "group": group}) | each
                self._put(by_id.get(policy_id), actor, reason, was, written)
            for each in deleted:
                self._drop_policy(each, actor, reason)
            if deleted:
                self._end_at_once()
        return result | {"policies": self.policies_of(agent_id, group)}

    # API keys

    def create_key(self, told, actor, reason, name, scopes, agents, expires_ms):
        self._enter(actor)
        for each in agents:
            self._agent(each)
        self._require_actor(actor)
        self._require_room(len(self.keys), "keys")
        return self._new_key(told, actor, reason, name, scopes, agents, expires_ms, self._makers(actor))

    def rotate_key(self, told, actor, reason, key, overlap_s):
        held = self._key(key)
        self._require_actor(actor)
        self._require_room(len(self.keys), "keys")
        until = self.now_ms + overlap_s * 1000
        until = self._about(get(told, "untilMs"), until if held["expiresMs"] is None else min(until, held["expiresMs"]))
        life = None if held["meantMs"] is None else max(0, held["meantMs"] - held["createdMs"])
        ends = None if life is None else self._about(get(told, "expiresMs"), self.now_ms + life)
        made = self._new_key(told, actor, reason, held["name"], held["scopes"], held["agents"], ends, [])
        makers = {*held["makers"], *self._makers(actor)} - {held["root"]}
        self.keys[made["id"]] |= {"root": held["root"], "makers": makers}
        before, after = {"expiresMs": held["expiresMs"]}, {"expiresMs": until}
        self._note(actor, reason, "updated", "api_key", held["id"], *differing(before, after))
        held["expiresMs"] = until
        return made | {"untilMs": until}

    def revoke_key(self, _told, actor, reason, key, force):
        self._enter(actor)
        held = self._key(key)
        admins = [each["id"] for each in self.keys.values() if "admin" in each["scopes"] and self.is_valid(each["id"])]
        if not force and admins == [held["id"]]:
            raise Refused("LAST_ADMIN_KEY")
        self._require_actor(actor)
        self._note(actor, reason, "deleted", "api_key", held["id"], key_fields(held), None)
        del self.keys[held["id"]]
        self._end(lambda each: each.asker == held["id"])
        self._end_at_once()

    # Calls

    def authorize(self, told, key, agent, tool, parameters, session, approval_id=""):
        # A replica that remembers the key looks for the agent first.
        if not (self.is_valid(key) or (told == "AGENT_NOT_FOUND" and not self._is_agent(agent))):
            self._require_valid(key)
        bound = self.keys[key]["agents"] if key in self.keys else []
        try:
            held = self._agent(agent)
        except Refused:
            raise Refused("INSUFFICIENT_SCOPE" if bound and agent not in bound else "AGENT_NOT_FOUND") from None
        if bound and held["id"] not in bound:
            raise Refused("INSUFFICIENT_SCOPE")
        call = {"tool_name": tool, "parameters": parameters, "context": {"session": session} if session else {}}
        governing = [each for each in self.policies.values() if self.governs(each, held)]
        answer, approval = self._judged(told, held, key, call, governing, approval_id)
        if answer.result == "allowed":
            self._take(held["id"], key, call, governing, session)
        policy = self.policies.get(answer.policy)
        self.log.append(
            {
                "id": get(told, "id"), "agentId": held["id"], "keyId": key, "toolName": tool, "parameters": parameters,
                "said": answer.result, "policyId": answer.policy, "rule": answer.rule,
                "policyVersion": policy["version"] if policy else None, "approvalId": approval and approval.id,
            }
        )  # fmt: skip
        message = None if policy is None or answer.result == "allowed" else policy["agentMessage"]
        return {
            "id": get(told, "id"), "result": answer.result, "policyId": answer.policy, "rule": answer.rule,
            "retryUs": answer.retry_us, "agentMessage": message, "approvalId": approval and approval.id,
        }  # fmt: skip

    def decide(self, _told, key, approval_id, verdict, if_match):
        if self.is_remote:
            self._require_valid(key)
        held = self.approvals.get(approval_id)
        if held is None:
            raise Refused("APPROVAL_NOT_FOUND")
        if if_match not in (None, held.version):
            raise Refused("APPROVAL_CHANGED")
        self._require_valid(key, expired="UNAUTHORIZED")
        withdraws = (held.status, verdict) == ("approved", "cancelled")
        if not (held.status == "pending" or withdraws) or not held.is_open(self.now_ms) or held.over:
            raise Refused("APPROVAL_DECIDED")
        decider, asker = self.keys[key], self.keys[held.asker]["root"]
        is_own = asker == decider["root"] or (verdict != "cancelled" and asker in decider["makers"])
        may_decide = not self.is_remote or not {"admin", "approve"}.isdisjoint(decider["scopes"])
        if is_own != (verdict == "cancelled") and not (withdraws and may_decide):
            raise Refused("OWN_APPROVAL")
        if not withdraws and any(
            root in (decider["root"], *decider["makers"]) or decider["root"] in by for root, by in held.said_yes
        ):
            raise Refused("APPROVAL_DECIDED")
        held.version += 1
        held.said = [*held.said, [key, verdict]]
        self._log_ending(held, f"approval_{verdict}", key)
        if verdict == "approved":
            held.said_yes = [*held.said_yes, (decider["root"], tuple(decider["makers"]))]
            if len(held.said) >= held.people:
                held.status, held.usable_until_ms = verdict, self.now_ms + held.valid_ms
        else:
            held.status = verdict
            self._leave(held)
        return held.shown(self.now_ms)

    def end_approvals(self, _told):
        """What the reaper does: first what has expired ends, then what has lost its basis."""
        late = [each for each in self.open_approvals() if self.now_ms >= each.ends_ms]
        for each in late:
            self._end_one(each, "expired")
        for each in [each for each in self.open_approvals() if each.over]:
            self._end_one(each, "cancelled")

    # What readers see

    def governs(self, policy, agent):
        if policy["group"] is not None:
            return policy["group"] in agent["groups"]
        return policy["agentId"] in (None, agent["id"])

    def policies_of(self, agent_id, group):
        """Those of an owner, in evaluation order."""
        return [each for each in self.in_order() if (each["agentId"], each["group"]) == (agent_id, group)]

    def in_order(self):
        return sorted(
            self.policies.values(), key=lambda each: (-each["priority"], each["createdAt"] or "", each["id"] or "")
        )

    def is_valid(self, key):
        held = self.keys.get(key)
        return held is not None and (held["expiresMs"] is None or self.now_ms < held["expiresMs"])

    def moved(self, agent_id, group):
        """How often the owner's set has changed."""
        return self.moves.get((agent_id, group), 0)

    # How it is done

    def _judged(self, told, agent, key, call, governing, approval_id):
        """The answer to a call, and its approval; both are noted."""
        enforced = naive.enforced(governing)
        admitted = {bucket: self._seen(bucket, agent["id"], key) for bucket in self.admitted}
        answer = naive.evaluate(agent["status"], enforced, call, self.now_us, admitted, self._past(agent["id"]))
        bound = (agent["id"], call["tool_name"], json_of(call["parameters"]), json_of(call["context"]))
        bound += (self.keys[key]["root"],)
        if approval_id and told == "TOO_MANY_MISMATCHES" and self.mismatches[bound[-1]] >= MISMATCHES_MAX:
            raise Refused(told)
        approved = [each for each in self.open_approvals() if each.call == bound and each.status == "approved"]
        if answer.result == "denied" and approved:
            # Once approved, a call has to wait for every limit that is full, and not only for those that deny.
            return answer._replace(retry_us=answer.retry_us and get(told, "retryUs")), None
        if answer.result != "escalated":
            return answer, None
        asking = self._asking(enforced, call, admitted)
        held = self.approvals.get(self.of_call.get(bound, ""))
        is_open = held is not None and held.is_open(self.now_ms) and not held.over and approval_id in ("", held.id)
        governed = is_open and {policy for policy, _ in held.rules} <= {each["id"] for each in governing}
        if governed and asking <= set(held.rules):
            if held.status == "approved":
                self._use(held, get(told, "id"))
                plan = naive.decide(enforced, call, self.now_us, ())
                return naive.Answer("allowed", plan.policy, plan.rule), held
            held.requests += 1
            held.decisions = [*held.decisions, get(told, "id")]
            return answer, held
        if approval_id:
            self._log_mismatch(agent["id"], key, call["tool_name"], approval_id)
            raise Refused("APPROVAL_MISMATCH")
        return answer, self._asked(get(told, "id"), bound, key, answer, asking)

    def _asking(self, policies, call, admitted):
        """The rules that ask people about the call: all that do so by themselves, and all limits that are full."""
        asking = set()
        asked = [policy for policy, _ in naive.deciding_tier(policies, call, self.now_us, ())]
        for policy in asked + naive.guardrails(policies):
            verdicts = naive.verdicts_of(policy, call, self.now_us, ())
            for index, (rule, verdict) in enumerate(zip(policy["rules"], verdicts, strict=True)):
                is_full = rule.get("effect") == "escalate" and self._is_full(policy, index, rule, call, admitted)
                if verdict == naive.ESCALATE or is_full:
                    asking.add((policy["id"], json_of(rule)))
        return asking

    def _use(self, held, decision_id):
        held.uses_left -= 1
        held.version += 1
        held.decisions = [*held.decisions, decision_id]
        if not held.uses_left:
            held.status = "consumed"
            self._leave(held)

    def _asked(self, approval_id, bound, key, answer, asking):
        """A new approval of the call, which all these rules ask for."""
        terms = [TERMS | json.loads(rule).get("approval", {}) for _, rule in asking]
        made = Approval(
            id=approval_id, call=bound, agent=bound[0], tool=bound[1], asker=key, rules=sorted(asking),
            policy=answer.policy, rule=answer.rule, decisions=[approval_id],
            people=max(each["approvals"] for each in terms),
            valid_ms=min(each["validSeconds"] for each in terms) * 1000,
            uses_left=min(each["maxUses"] for each in terms),
            expires_ms=self.now_ms + min(each["expiresSeconds"] for each in terms) * 1000,
        )  # fmt: skip
        self.approvals[made.id] = made
        self.of_call[bound] = made.id
        return made

    def _is_full(self, policy, index, rule, call, admitted):
        limit = naive.limit_of(rule)
        if limit is None or not naive.is_limit(rule, call) or not naive.covers(rule["tools"], call["tool_name"]):
            return False
        values, amount = naive.reading(rule, call)
        times = admitted.get(naive.bucket(policy, index, values), ())
        return naive.wait_us(limit, times, self.now_us, amount) > 0

    def _seen(self, bucket, agent_id, key):
        """A bucket's calls as this call sees them: the mirror does not know agents and keys."""
        per = bucket[1][4]
        return [
            (time, amount)
            for time, amount, of_agent, of_key in self.admitted[bucket]
            if ("agent" not in per or of_agent == agent_id) and ("key" not in per or of_key == key)
        ]

    def _past(self, agent_id):
        """Allowed calls: those of other agents count for `forbiddenAfter` only."""
        return [
            (time, session, frozenset(each for each in left if of_agent == agent_id or each[0] == "forbiddenAfter"))
            for time, session, of_agent, left in self.history
        ]

    def _take(self, agent_id, key, call, governing, session):
        for bucket, amount in naive.takes(naive.enforced(governing), call):
            self.admitted.setdefault(bucket, []).append((self.now_us, amount, agent_id, key))
        everyone = naive.leaves(self.policies.values(), call)
        left = naive.leaves(governing, call) | {each for each in everyone if each[0] == "forbiddenAfter"}
        left |= naive.uses(naive.enforced(governing), call)
        self.history.append((self.now_us, session, agent_id, left))

    def _change(self, told, actor, reason, held, wanted):
        if wanted["kind"] == "grant" and (wanted["agentId"], wanted["group"]) == (None, None):
            raise Refused("VALIDATION_ERROR")
        if wanted["key"] != held["key"]:
            self._require_key(held["agentId"], held["group"], wanted["key"], held["id"])
        self._require_actor(actor)
        self._require_limits(held["agentId"], held["group"], [held], [wanted])
        return self._put(told, actor, reason, held, wanted)

    def _put(self, told, actor, reason, held, wanted):
        policy_id = get(told, "id") if held is None else held["id"]
        made = {name: wanted[name] for name in AUTHOR} | {
            "id": policy_id,
            "version": held["version"] + 1 if held else 1,
        }
        made["createdAt"] = held["createdAt"] if held else get(told, "createdAt")
        made["updatedAt"] = later(told, held) if held else made["createdAt"]
        self.policies[policy_id] = made
        before, after = differing(policy_fields(held), policy_fields(made)) if held else (None, policy_fields(made))
        by = self._note(actor, reason, "updated" if held else "created", "policy", policy_id, before, after)
        version = {"version": made["version"], "actorId": by[0], "actorName": by[1], "reason": reason or None}
        version |= {"changed": sorted(set(before or ()) - {"version"}), "policy": made}
        kept = [version, *self.versions.get(policy_id, [])]
        self.versions[policy_id] = kept[: self.limits["policy_versions"]]
        names = {naive.bucket(made | {"id": ""}, index, ())[1:3] for index, rule in enumerate(made["rules"])
                 if naive.limit_of(rule)}  # fmt: skip
        self.admitted = {
            bucket: calls
            for bucket, calls in self.admitted.items()
            if bucket[0].removeprefix(naive.SHADOW) != policy_id or bucket[1:3] in names
        }
        self._moved(made["agentId"], made["group"])
        return made

    def _drop_policy(self, policy, actor, reason):
        before = policy_fields(policy) | {"createdAt": policy["createdAt"]}
        self._note(actor, reason, "deleted", "policy", policy["id"], before, None)
        del self.policies[policy["id"]], self.versions[policy["id"]]
        self._moved(policy["agentId"], policy["group"])
        self.admitted = {
            bucket: calls
            for bucket, calls in self.admitted.items()
            if bucket[0].removeprefix(naive.SHADOW) != policy["id"]
        }
        self._end(lambda each: any(policy_id == policy["id"] for policy_id, _ in each.rules))

    def _new_key(self, told, actor, reason, name, scopes, agents, expires_ms, makers):
        made = {"id": get(told, "id"), "name": name, "scopes": scopes, "expiresMs": expires_ms}
        made |= {"agents": agents, "prefix": (get(told, "key") or "")[:12]}
        hidden = {
            "root": made["id"],
            "makers": makers,
            "meantMs": expires_ms,
            "createdMs": self.now_ms,
            "raw": get(told, "key"),
        }
        self.keys[made["id"]] = made | hidden
        self._note(actor, reason, "created", "api_key", made["id"], None, key_fields(made))
        return made | {"key": hidden["raw"]}

    def _makers(self, actor):
        """Roots of all that make a key which this actor makes."""
        return [] if actor == OPERATOR else [*self.keys[actor]["makers"], self.keys[actor]["root"]]

    def _about(self, told_ms, wanted_ms):
        """The time that the service chose, if it is near enough."""
        return told_ms if told_ms is not None and abs(told_ms - wanted_ms) <= self.slack_ms else wanted_ms

    def _moved(self, agent_id, group):
        self.moves[agent_id, group] = self.moved(agent_id, group) + 1

    def _note(self, actor, reason, kind, resource, resource_id, before, after):
        by = (actor, OPERATOR if actor == OPERATOR else self.keys[actor]["name"])
        sequence = None if resource == "api_key" else len(self.log)
        self.trail.append(
            {
                "actorId": by[0], "actorName": by[1], "kind": kind, "resourceType": resource, "resourceId": resource_id,
                "before": before or None, "after": after or None, "sequence": sequence, "reason": reason or None,
            }
        )  # fmt: skip
        return by

    def _end(self, rests_on_it):
        for each in self.open_approvals():
            each.over = each.over or rests_on_it(each)

    def _end_at_once(self, agent_id=None):
        if self.is_remote:
            for each in [each for each in self.open_approvals() if each.over and agent_id in (None, each.agent)]:
                self._end_one(each, "cancelled")

    def open_approvals(self):
        found = [each for each in self.approvals.values() if each.status in ("pending", "approved")]
        return sorted(found, key=lambda each: (each.ends_ms, each.id))

    def _end_one(self, held, ending):
        held.status, held.version = ending, held.version + 1
        self._leave(held)
        self._log_ending(held, f"approval_{ending}", held.asker)

    def _log_ending(self, held, said, key):
        self.log.append(
            {
                "id": None, "agentId": held.agent, "keyId": key, "toolName": held.tool, "parameters": {}, "said": said,
                "policyId": held.policy, "rule": held.rule, "policyVersion": None, "approvalId": held.id,
            }
        )  # fmt: skip

    def _log_mismatch(self, agent_id, key, tool, approval_id):
        self.mismatches[self.keys[key]["root"]] += 1
        self.log.append(
            {
                "id": None, "agentId": agent_id, "keyId": key, "toolName": tool, "parameters": {},
                "said": "approval_mismatch", "policyId": None, "rule": None, "policyVersion": None,
                "approvalId": approval_id,
            }
        )  # fmt: skip

    def _leave(self, held):
        if self.of_call.get(held.call) == held.id:
            del self.of_call[held.call]

    def _enter(self, actor):
        if self.is_remote:
            self._require_valid(actor)

    def _require_valid(self, key, expired="API_KEY_EXPIRED"):
        if key not in self.keys:
            raise Refused("UNAUTHORIZED")
        if not self.is_valid(key):
            raise Refused(expired)

    def _require_actor(self, actor):
        if actor != OPERATOR and actor not in self.keys:
            raise Refused("UNAUTHORIZED")

    def _require_room(self, count, what):
        if count >= self.limits[what]:
            raise Refused("LIMIT_REACHED")

    def _require_limits(self, agent_id, group, before, after, *, is_set=False):
        """Policies and rate limits of the owner, and policies of the workspace; what is over a limit may not grow."""
        whose = "agent" if agent_id is not None else "group"
        others = [] if is_set else [each for each in self.policies_of(agent_id, group) if each not in before]
        if len(others) + len(after) > max(len(others) + len(before), self.limits[f"policies_per_{whose}"]):
            raise Refused("LIMIT_REACHED")
        if len(after) > len(before) and len(self.policies) + len(after) - len(before) > self.limits["policies"]:
            raise Refused("LIMIT_REACHED")
        was, now, rest = (
            sum(counted(rule) for each in many for rule in each["rules"]) for many in (before, after, others)
        )
        if now > was and rest + now > self.limits[f"rate_limits_per_{whose}"]:
            raise Refused("LIMIT_REACHED")

    def _require_alias(self, alias, agent_id):
        if alias and any(each["alias"] == alias for each in self.agents.values() if each["id"] != agent_id):
            raise Refused("ALIAS_TAKEN")

    def _require_key(self, agent_id, group, key, policy_id):
        others = (each for each in self.policies_of(agent_id, group) if each["id"] != policy_id)
        if key is not None and any(each["key"] == key for each in others):
            raise Refused("POLICY_KEY_TAKEN")

    def _is_agent(self, called):
        return any(called in (each["id"], each["alias"]) for each in self.agents.values())

    def _agent(self, called):
        found = next((each for each in self.agents.values() if called in (each["id"], each["alias"])), None)
        if found is None:
            raise Refused("AGENT_NOT_FOUND")
        return found

    def _owner(self, owner):
        return (self._agent(owner["agent"])["id"], None) if "agent" in owner else (None, owner.get("group"))

    def _policy(self, policy_id):
        if policy_id not in self.policies:
            raise Refused("POLICY_NOT_FOUND")
        return self.policies[policy_id]

    def _key(self, key):
        if key not in self.keys:
            raise Refused("API_KEY_NOT_FOUND")
        return self.keys[key]


def get(told, name):
    """A field that only the service can know; None if it refused."""
    return told.get(name) if isinstance(told, dict) else None


def later(told, held):
    """The time of a change, which is after the one before."""
    changed = get(told, "updatedAt")
    return changed if changed is not None and changed > held["updatedAt"] else f"later than {held['updatedAt']}"


def require_version(version, if_match):
    if if_match not in (None, version):
        raise Refused("VERSION_CONFLICT")


def json_of(value):
    return json.dumps(value, sort_keys=True)


def same(one, other):
    return json_of([one[name] for name in AUTHOR]) == json_of([other[name] for name in AUTHOR])


def counted(rule):
    """Whether it counts towards the limit of rate limits."""
    return bool({"rateLimit", "budget", "sequence"} & rule.keys())


def agent_fields(view):
    return {name: view[name] for name in ("name", "description", "status", "groups", "alias", "type", "version")}


def policy_fields(view):
    return {name: view[name] for name in (*AUTHOR, "version")}


def key_fields(key):
    bound = {"agents": key["agents"]} if key["agents"] else {}
    return {name: key[name] for name in ("name", "prefix", "scopes", "expiresMs")} | bound


def differing(before, after):
    """The fields that differ, before and after."""
    names = [name for name in after if json_of(before[name]) != json_of(after[name])]
    return {name: before[name] for name in names}, {name: after[name] for name in names}


def settled(held, entries):
    """The policy that each entry means, and those that no entry means.

    By id; else by key; else by name, among policies without a key if the entry has one: first those that would not
    change.
    """
    left, found = list(held), [None] * len(entries)

    def match(is_meant, among=lambda entry: "id" not in entry):
        for number, entry in enumerate(entries):
            if found[number] is None and among(entry):
                found[number] = next((each for each in left if is_meant(entry, each)), None)
                left[:] = [each for each in left if each is not found[number]]

    def is_named(entry, each):
        return each["name"] == entry["name"] and not (entry.get("key") and each["key"])

    match(lambda entry, each: entry["id"] == each["id"], lambda entry: "id" in entry)
    if any("id" in entry and was is None for entry, was in zip(entries, found, strict=True)):
        raise Refused("POLICY_NOT_FOUND")
    match(lambda entry, each: entry.get("key") is not None and entry["key"] == each["key"])
    match(lambda entry, each: is_named(entry, each) and same(each, each | DEFAULTS | entry))
    match(is_named)
    return found, left


def copied(model):
    """An independent copy, to try what might have happened. What is in the logs and the views never changes."""
    other = copy.copy(model)
    for name in ("agents", "policies", "versions", "of_call", "moves", "trail", "log", "history"):
        setattr(other, name, copy.copy(getattr(model, name)))
    other.keys, other.approvals = copy.deepcopy((model.keys, model.approvals))
    other.admitted = {bucket: list(calls) for bucket, calls in model.admitted.items()}
    return other
