"""A random history of one workspace through one door: the model answers every request, and what is stored, first."""

import json
from collections import Counter
from itertools import permutations

from workspace_model import OPERATOR, Model, Refused, copied, json_of

TOOLS = ("file.read", "file.write", "pay")
PATTERNS = (["*"], ["file.*"], ["pay"], ["file.write", "pay"])
GROUPS = ("crew", "night shift")
ALIASES = ("payer", "team/bot", "x@1")
GONE = "00000000-0000-7000-8000-000000000000"

ENDING = {"update_agent", "delete_agent", "delete_policy", "put_policies", "revoke_key"}
"""Requests that may end approvals, which over HTTP is a second step."""


class History:
    """What has happened, and what can happen next.

    chance: decides everything. window_s: how long limits look back.
    """

    def __init__(self, door, chance):
        self.door, self.chance = door, chance
        self.model = Model(door.limits, is_remote=door.is_remote, slack_ms=0 if door.is_exact else 5_000)
        self.model.now_us = door.now_us()
        self.seen, self.done, self.revoked, self.read_sets = Counter(), [], [], {}
        [first] = self._read("keys")
        self.root = first["id"]
        self.model.keys[self.root] = first | {
            "root": self.root,
            "makers": [],
            "meantMs": None,
            "createdMs": 0,
            "raw": None,
        }
        self.model.trail = self._read("trail", limit=10)

    def begin(self):
        """Two agents that may do something, and a few keys."""
        for _ in range(2):
            self.request("create_agent", **self._create_agent())
        for agent in list(self.model.agents):
            rules = [{"type": "tool_allowlist", "tools": ["*"]}]
            self.request("create_policy", **self._by(), owner={"agent": agent}, fields={"name": "free", "rules": rules})
        for _ in range(3):
            self.request("create_key", **self._create_key())
        return self

    def run(self, steps):
        """So many steps; then everything that is stored must be as the model has it."""
        weights = {
            self._authorize: 36, self._decide: 12 * self.door.asks_people, self._create_agent: 3, self._update_agent: 6,
            self._delete_agent: 1, self._create_policy: 7, self._update_policy: 7, self._delete_policy: 2,
            self._roll_back: 4, self._put_policies: 5, self._create_key: 2, self._revoke_key: 2,
            self._rotate_key: 2 * self.door.operator, self.pass_time: 5 * self.door.is_exact,
            self._end_approvals: 2 * self.door.is_exact, self.race: 4, self.look: 8,
        }  # fmt: skip
        for step in self.chance.choices(list(weights), list(weights.values()), k=steps):
            given = step()
            if given is not None:
                self.request(step.__name__[1:], **given)
        self.look_at_everything()

    def request(self, name, /, **given):
        """Make the request; the answer must be the model's."""
        told = self.door.told(name, given)
        self.done.append((name, given, told))
        predicted = self._predicted(self.model, name, given, told)
        difference = unlike(told, predicted, is_exact=self.door.is_exact)
        assert difference is None, (difference, self.done[-1], predicted)
        self._count(name, given, told)

    def race(self):
        """Requests at once: the answers and what is stored afterwards must be those of some order."""
        if not hasattr(self.door, "together") or not self.door.conditional:
            return
        makers = [self._update_agent, self._update_policy, self._put_policies, self._create_policy, self._delete_policy]
        makers += [self._create_agent, self._revoke_key, self._delete_agent, self._roll_back, self._create_key]
        makers += [self._authorize, self._decide] * self.door.asks_people + [self._rotate_key] * self.door.operator
        count = self.chance.choice([2, 3, 3])
        chosen = self.chance.choices(makers, k=count)
        if self.chance.random() < 0.5:  # the same record or the same approval
            chosen[1:] = chosen[:1] * (count - 1)
        if self.door.is_remote and self.model.open_approvals():
            chosen = [each for each in chosen if each.__name__[1:] not in ENDING]
        made = [(each.__name__[1:], each()) for each in chosen]
        requests = [(name, self._by_id(given)) for name, given in made if given is not None]
        if len(requests) < 2:
            return
        answers = self.door.together(requests)
        self.done += [(*each, told) for each, told in zip(requests, answers, strict=True)]
        answers = [as_in_a_race(name, told) for (name, _), told in zip(requests, answers, strict=True)]
        trail, log = self._read("trail", limit=1000), self._read("log", limit=1000)
        why = []
        for order in permutations(range(len(requests))):
            model = copied(self.model)
            for number in order:
                predicted = self._predicted(model, *requests[number], answers[number])
                # A request that is refused either way may be told any of the reasons.
                is_refused = isinstance(answers[number], str) and isinstance(predicted, str)
                difference = None if is_refused else unlike(answers[number], predicted, is_exact=self.door.is_exact)
                if difference is not None:
                    why.append((order, number, difference))
                    break
            else:
                if (model.trail[::-1], ordered(model.log[::-1])) == (trail, ordered(log)):
                    self.model = model
                    break
                why.append((order, first_difference(trail, model.trail[::-1]), first_difference(log, model.log[::-1])))
        else:
            raise AssertionError(("no order explains it", requests, answers, why))
        for (name, given), told in zip(requests, answers, strict=True):
            self._count(name, given, told)
        self.seen["races"] += 1

    def pass_time(self):
        self.door.clock.now_ms += self.chance.choices([10, 5_000, 61_000, 3_700_000], [10, 8, 3, 0.5])[0]

    def look(self):
        """One of many views of what is stored."""
        model, chance = self.model, self.chance
        model.now_us = self.door.now_us()
        agents, policies = self._agents(), model.in_order()
        page = {"limit": chance.choice([1, 2, 3]), "offset": chance.choice([0, 1, 2])}
        of_page = slice(page["offset"], page["offset"] + page["limit"])
        narrow = chance.choice(
            [
                {},
                {"status": "active"},
                {"name": "p"},
                {"alias": chance.choice(ALIASES)},
                {"name": "p", "status": "active"},
            ]
        )
        kind = chance.choice(
            [{}, {"kind": "guardrail"}, {"key": "k1"}, {"group": "crew"}, {"kind": "grant", "key": "k2"}]
        )
        found = [each for each in agents if narrow.items() <= each.items()]
        self._same("agents", found[of_page], **page, **narrow)
        self._same("policies", [each for each in policies if kind.items() <= each.items()][of_page], **page, **kind)
        self._same("keys", self._keys()[of_page], **page)
        if agents:
            agent = chance.choice(agents)
            self._same("agent", agent, called=agent["alias"] or agent["id"])
            self._same("policies", model.policies_of(agent["id"], None), agent=agent["id"])
            self.see_set({"agent": agent["id"]})
        if policies:
            policy = chance.choice(policies)
            limit = chance.choice([None, 2])
            told = self._read("versions", policy=policy["id"], limit=limit)
            versions = list(map(untimed, model.versions[policy["id"]][:limit]))
            assert list(map(untimed, told)) == versions, (told, versions)
        status = chance.choice([{}, {"status": "pending"}, {"status": "approved"}, {"status": "expired"}])
        approvals = [each.shown(model.now_ms) for each in sorted(model.approvals.values(), key=lambda each: each.id)]
        wanted = [each for each in approvals[::-1] if status.items() <= each.items()]
        self._same("approvals", wanted, limit=chance.choice([1, 3, 100]), **status)
        self._same_log({"result": "denied"} if chance.random() < 0.3 else {}, chance.choice([7, 100]))

    def see_set(self, owner):
        """Read a set, and remember its version."""
        told = self._read("policy_set", owner=owner)
        agent_id, group = owner.get("agent"), owner.get("group")
        assert told["policies"] == self.model.policies_of(agent_id, group)
        self.read_sets[agent_id, group] = told["version"], self.model.moved(agent_id, group)

    def look_at_everything(self):
        """All lists, whole; and of what was deleted, the store has no key."""
        self._same("agents", self._agents())
        self._same("policies", self.model.in_order())
        self._same("keys", self._keys())
        self._same("trail", self.model.trail[::-1], limit=40)
        self._same_log({}, 50)
        if self.door.is_exact:
            model = self.model
            there = set().union(model.agents, model.policies, model.keys, model.approvals)
            for each in model.open_approvals():  # until the reaper ends them
                there |= {each.agent, each.asker}
            named = self._read("named_keys")
            left = {name for name, ids in named.items() if not there.issuperset(ids)}
            assert not left, left
            assert sum(":approvals:call:" in name for name in named) == len(model.of_call)

    def _agents(self):
        return sorted(self.model.agents.values(), key=lambda each: (each["createdAt"] or "", each["id"] or ""))

    def _keys(self):
        names = ("id", "name", "scopes", "agents", "prefix", "expiresMs")
        return [{name: key[name] for name in names} for _, key in sorted(self.model.keys.items())]

    def _same_log(self, filters, limit):
        wanted = [each for each in self.model.log[::-1] if filters.get("result") in (None, each["said"])]
        told = self._read("log", limit=limit, **filters)
        assert ordered(told) == ordered(wanted), first_difference(ordered(told), ordered(wanted))

    def _same(self, what, wanted, /, **given):
        told = self._read(what, **given)
        assert told == wanted, (what, given, first_difference(told, wanted))
        self.seen[f"looks at {what}"] += 1

    def _read(self, name, /, **given):
        told = self.door.told(name, given)
        assert not isinstance(told, str), (name, given, told)
        return told

    def _predicted(self, model, name, given, told):
        at_us = told.pop("timeUs", None) if isinstance(told, dict) else None
        if at_us is not None:
            told["timeUs"] = at_us
        model.now_us = self.door.now_us() if at_us is None or self.door.is_exact else at_us
        try:
            return getattr(model, name)(told, **given)
        except Refused as refused:
            # Of two reasons to refuse, either may be told: a key may go after the first of them was looked for.
            is_gone = given.get("actor", OPERATOR) not in {OPERATOR, *model.keys}
            return told if is_gone and told == "UNAUTHORIZED" else refused.code

    def _count(self, name, given, told):
        if name == "revoke_key" and not isinstance(told, str):
            self.revoked.append(given["key"])
        says = told if isinstance(told, str) else "done" if told is None else told.get("result", "done")
        self.seen[f"{name}: {says}"] += 1
        if name == "authorize" and not isinstance(told, str) and told["approvalId"]:
            self.seen[f"{says} with approval"] += 1

    # What can be asked next: the arguments of a request, or None if nothing can.

    def _by(self):
        actor = OPERATOR
        if self.door.is_remote or (self.door.is_exact and self.chance.random() < 0.5):
            admins = [each["id"] for each in self.model.keys.values() if "admin" in each["scopes"]]
            actor = self.chance.choice(admins or [OPERATOR])
        return {"actor": actor, "reason": self.chance.choice(["", "", "because", "tidying up"])}

    def _by_anybody(self):
        """Sometimes with a key that is gone."""
        by = self._by()
        gone = self.revoked and by["actor"] != OPERATOR and self.chance.random() < 0.1
        return by | {"actor": self.chance.choice(self.revoked)} if gone else by

    def _create_agent(self):
        groups = self.chance.choice([[], ["crew"], ["crew", "night shift"]])
        alias = self.chance.choice([None, None, *ALIASES])
        name = {"name": self.chance.choice(["p", "Buchung ✈"]), "description": self.chance.choice([None, "two\nlines"])}
        return self._by_anybody() | name | {"alias": alias, "groups": groups}

    def _update_agent(self):
        changes = {
            "name": "q", "description": self.chance.choice([None, "x"]), "alias": self.chance.choice([None, *ALIASES]),
            "groups": self.chance.choice([[], ["crew"], ["night shift"]]),
            "status": self.chance.choices(["active", "suspended", "revoked"], [8, 3, 1])[0],
        }  # fmt: skip
        agent = self._some_agent()
        held = self._called(agent)
        if held is not None and held["status"] == "suspended":
            changes["status"] = "active"
        return self._by_anybody() | {"agent": agent, "changes": self._some(changes), "if_match": self._match(held)}

    def _delete_agent(self):
        if len(self.model.agents) < 2:
            return None
        agent = self._some_agent()
        held = self._called(agent)
        return self._by_anybody() | {"agent": agent, "if_match": self._match(held)}

    def _create_policy(self):
        owner = self._some_owner()
        return self._by_anybody() | {"owner": owner, "fields": self._fields(is_workspace=not owner)}

    def _update_policy(self):
        policy = self._some_policy()
        held = self.model.policies.get(policy)
        given = self._fields(is_workspace=held is not None and (held["agentId"], held["group"]) == (None, None))
        if self.chance.random() < 0.2:
            given["kind"] = self.chance.choice(["grant", "guardrail"])
        return self._by_anybody() | {"policy": policy, "changes": self._some(given), "if_match": self._match(held)}

    def _delete_policy(self):
        policy = self._some_policy()
        return self._by_anybody() | {"policy": policy, "if_match": self._match(self.model.policies.get(policy))}

    def _roll_back(self):
        policy = self._some_policy()
        held = self.model.policies.get(policy)
        newest = 1 if held is None else held["version"]
        version = self.chance.choice([1, max(1, newest - 1), max(1, newest - 2), newest, newest + 1])
        return self._by_anybody() | {"policy": policy, "version": version, "if_match": self._match(held)}

    def _put_policies(self):
        if not self.door.conditional:
            return None
        owner = self._some_owner()
        agent = self._called(owner["agent"]) if "agent" in owner else None
        whose = (agent["id"] if agent else None, owner.get("group"))
        held = [] if "agent" in owner and agent is None else self.model.policies_of(*whose)
        entries, keys = [], set()
        for each in self.chance.sample(held, self.chance.randint(0, len(held))):
            given = {name: each[name] for name in ("name", "rules", "kind", "priority", "enabled", "mode", "key")}
            given |= {"agentMessage": each["agentMessage"]}
            if self.chance.random() < 0.4:
                given |= self._some({"priority": self.chance.randint(0, 3), "name": "renamed", "enabled": True})
            if self.chance.random() < 0.5:
                given["id"] = each["id"] if self.chance.random() < 0.95 else GONE
            entries.append(given)
        entries += [self._fields(is_workspace=not owner) for _ in range(self.chance.choice([0, 1, 1, 2]))]
        for each in entries:
            if each.get("key") in keys:
                each["key"] = None
            keys.add(each.get("key"))
        seen = self.read_sets.get(whose) if owner and self.chance.random() < 0.4 else None
        return self._by() | {"owner": owner, "entries": entries, "prune": self.chance.random() < 0.4, "seen": seen}

    def _create_key(self):
        scopes = self.chance.choice([["admin"], ["admin", "read"], ["authorize"], ["read"], ["approve", "read"]])
        agents = []
        if scopes == ["authorize"] and self.door.binds and self.model.agents:
            agents = [self.chance.choice(list(self.model.agents))]
        lasts_ms = self.chance.choice([None, None, 60_000, 4_000_000]) if self.door.is_exact else None
        expires_ms = None if lasts_ms is None else self.door.now_us() // 1000 + lasts_ms
        given = {
            "name": self.chance.choice(["ann", "bob"]),
            "scopes": scopes,
            "agents": agents,
            "expires_ms": expires_ms,
        }
        return self._by_anybody() | given

    def _rotate_key(self):
        key = self._some_key(self.model.keys)
        given = {"key": key, "overlap_s": self.chance.choice([0, 60, 3600])}
        return None if key == self.root else self._by() | given

    def _revoke_key(self):
        key = self._some_key(self.model.keys)
        is_needed = key == self.root and not self.door.operator
        return None if is_needed else self._by() | {"key": key, "force": self.chance.random() < 0.4}

    def _authorize(self):
        key = self._some_key(["admin", "read", "authorize"])
        tool = self.chance.choice(TOOLS)
        parameters = {"amount": self.chance.choice([1, 2, 6])} if tool == "pay" or self.chance.random() < 0.1 else {}
        session = self.chance.choice([None, "s1", "s2"]) if self.door.asks_people else None
        given = {"key": key, "agent": self._some_agent(), "tool": tool, "parameters": parameters, "session": session}
        recent = list(self.model.approvals.values())[-6:]
        recent = [each for each in recent if each.status == "approved"] or recent
        if recent and self.chance.random() < 0.4:  # the very call that people were asked about
            held = self.chance.choice(recent)
            amounts, contexts = map(json.loads, held.call[2:4])
            given |= {"agent": held.agent, "tool": held.tool, "parameters": amounts, "session": contexts.get("session")}
            if held.asker in self.model.keys and self.chance.random() < 0.8:
                given["key"] = held.asker
            if self.chance.random() < 0.3:
                given["approval_id"] = self.chance.choice(recent).id
        return given

    def _decide(self):
        approvals = list(self.model.approvals.values())
        if not approvals:
            return None
        pending = [each for each in approvals if each.status == "pending" and not each.over]
        held = self.chance.choice(pending if pending and self.chance.random() < 0.8 else approvals)
        verdict = self.chance.choices(["approved", "denied", "cancelled"], [8, 1, 1])[0]
        approved = [each for each in approvals if each.status == "approved" and not each.over]
        if approved and self.chance.random() < 0.1:
            held, verdict = self.chance.choice(approved), "cancelled"
        key = self._some_key(["admin", "approve"])
        if verdict == "cancelled":
            key = held.asker if self.chance.random() < 0.5 else self._some_key(["admin", "approve"])
        version = self.chance.choice([None, None, None, held.version, held.version - 1])
        return {"key": key, "approval_id": held.id, "verdict": verdict, "if_match": version}

    def _end_approvals(self):
        return {}

    def _some(self, changes):
        """Some of the changes; rarely none."""
        count = self.chance.choices([0, 1, 2, len(changes)], [1, 6, 4, 2])[0]
        return {name: changes[name] for name in self.chance.sample(sorted(changes), min(count, len(changes)))}

    def _match(self, held):
        if held is None or not self.door.conditional:
            return None
        return self.chance.choice([None, None, None, held["version"], held["version"] + 1])

    def _by_id(self, given):
        """The arguments with ids in place of aliases, which are looked up before anything is changed."""
        if "owner" in given and "agent" in given["owner"]:
            return given | {"owner": self._by_id(given["owner"])}
        agent = self._called(given.get("agent") or GONE)
        return given if agent is None else given | {"agent": agent["id"]}

    def _called(self, agent):
        return next((each for each in self.model.agents.values() if agent in (each["id"], each["alias"])), None)

    def _some_agent(self):
        if self.chance.random() < 0.03 or not self.model.agents:
            return self.chance.choice([GONE, *ALIASES])
        agent = self.chance.choice(list(self.model.agents.values()))
        return agent["alias"] if agent["alias"] and self.chance.random() < 0.5 else agent["id"]

    def _some_policy(self):
        if self.chance.random() < 0.03 or not self.model.policies:
            return GONE
        return self.chance.choice(list(self.model.policies))

    def _some_owner(self):
        draw = self.chance.random()
        return (
            {"agent": self._some_agent()} if draw < 0.7 else {"group": self.chance.choice(GROUPS)} if draw < 0.9 else {}
        )

    def _some_key(self, wanted):
        """A key with one of the scopes, or any of a mapping; sometimes one that is gone."""
        if self.revoked and self.chance.random() < 0.03:
            return self.chance.choice(self.revoked)
        keys = self.model.keys.values()
        found = [each["id"] for each in keys if isinstance(wanted, dict) or not set(wanted).isdisjoint(each["scopes"])]
        valid = [each for each in found if self.model.is_valid(each)]
        return self.chance.choice((valid if self.chance.random() < 0.93 else found) or found or self.revoked)

    def _fields(self, *, is_workspace):
        """A policy without its owner."""
        choose = self.chance.choice
        rules = [self._rule() for _ in range(choose([1, 1, 2, 3]))]
        if self.chance.random() < 0.15:  # an approval for two calls, and a limit that asks at the second
            tools, few = choose(PATTERNS), {"maxCalls": 1, "windowSeconds": self._window_s()}
            terms = {"approvals": 1, "maxUses": 2, "expiresSeconds": 900, "validSeconds": 900}
            both = {"tools": tools, "approval": terms}
            asks = both | {"type": "approval_required"}
            rules = [{"type": "tool_allowlist", "tools": ["*"]}, asks]
            rules += [both | {"type": "rate_limit", "rateLimit": few, "effect": "escalate"}]
        fields = {"name": choose(["p", "q"]), "rules": rules}
        kind = "guardrail" if is_workspace else choose(["grant", "grant", "guardrail"])
        fields |= {"kind": kind, "priority": choose([0, 0, 1]), "enabled": choose([True, True, True, False])}
        fields |= {"mode": choose(["enforce", "enforce", "enforce", "shadow"]), "key": choose([None, None, "k1", "k2"])}
        return fields | {"agentMessage": choose([None, "Ask for less."])}

    def _window_s(self):
        return self.chance.choice([60, 3600]) if self.door.is_exact else 86_400

    def _rule(self):
        choose = self.chance.choice
        tools, window_s = choose(PATTERNS), self._window_s()
        people = {"approval": {"approvals": choose([1, 1, 2]), "maxUses": choose([1, 2]),
                               "expiresSeconds": choose([60, 900]) if self.door.is_exact else 900,
                               "validSeconds": choose([60, 900]) if self.door.is_exact else 900}}  # fmt: skip
        effect = choose([{}, {}, {"effect": "escalate"} | people])
        per = choose([{}, {}, {"per": ["key"]}, {"per": ["agent"]}, {"per": ["parameters.amount"]}])
        limit = {"maxCalls": choose([1, 2, 3]), "windowSeconds": window_s} | per
        budget = {"parameter": "amount", "max": 6, "windowSeconds": window_s}
        sequence = choose(
            [
                {"forbiddenAfter": ["pay"]},
                {"requiresBefore": ["file.read"]},
                {"requiresBefore": ["file.read"], "once": True},
            ]
        )
        return choose([
            *[{"type": "tool_allowlist", "tools": choose([["*"], ["*"], ["file.*", "pay"]])}] * 4,
            {"type": "tool_denylist", "tools": ["file.write"]},
            *[{"type": "approval_required", "tools": tools} | people] * 2,
            {"type": "parameter_constraint", "tools": ["pay"], "parameters": {"amount": {"max": 5}}} | effect,
            {"type": "rate_limit", "tools": tools, "rateLimit": limit, "effect": "escalate"} | people,
            {"type": "rate_limit", "tools": tools, "rateLimit": limit},
            {"type": "budget", "tools": ["pay"], "budget": budget},
            {"type": "sequence", "tools": ["file.write"], "sequence": sequence},
        ])  # fmt: skip


def as_in_a_race(name, told):
    """The answer without what others may have changed since: a verdict is answered with the approval as it is then."""
    return {"id": told["id"]} if name == "decide" and not isinstance(told, str) else told


def untimed(version):
    """The version without the time of the change, which is that of its entry in the trail."""
    return version | {"policy": version["policy"] | {"updatedAt": ""}}


def unlike(told, predicted, *, is_exact):
    """What differs, as far as the answer says it; None if nothing does."""
    if isinstance(told, str) or isinstance(predicted, str) or told is None:
        return None if told == predicted or (told is None and not isinstance(predicted, str)) else (told, predicted)
    for name, value in told.items():
        if name == "timeUs":
            continue
        wanted = predicted[name]
        if name == "retryUs" and not is_exact and None not in (value, wanted) and abs(value - wanted) < 5_000_000:
            continue
        if value != wanted:
            return name, value, wanted
    return None


def ordered(log):
    """The log as it can be compared: neighbours that the reaper has written are in no particular order."""
    found, run = [], []
    for each in log:
        if each["said"] in ("approval_expired", "approval_cancelled"):
            run.append(each)
        else:
            found += [*sorted(run, key=json_of), each]
            run = []
    return found + sorted(run, key=json_of)


def first_difference(told, wanted):
    for number, (one, other) in enumerate(zip(told, wanted, strict=False)):
        if one != other:
            return number, one, other
    return None if len(told) == len(wanted) else (told[len(wanted) :], wanted[len(told) :])
