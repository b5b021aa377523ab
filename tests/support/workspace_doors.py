"""Three ways into a workspace, with one set of methods: the store's classes in process, HTTP, and the command line.

Each request of `workspace_model.Model` is a method here, with the same arguments. It returns the API's JSON, reduced to
what the model knows, or raises `Refused`. Only `StoreDoor` knows classes of `app`.
"""

import asyncio
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
from approvals_world import Clock, Clocked, InProcess
from command_line import run_remit
from commit_scene import names
from servers import clean_env
from workspace_model import OPERATOR, Refused

from app.approvals.reaper import ApprovalReaper
from app.audit.log import AuditLog
from app.authorize.authenticator import Authenticator
from app.errors import AppError, Unauthorized
from app.http.api.agents import AgentView
from app.http.api.api_keys import ApiKeyView
from app.http.api.policy_sets import AppliedSetView, PolicySetView
from app.http.api.policy_versions import PolicyVersionView
from app.http.views.audit_log import with_code
from app.http.views.decisions import DecisionView
from app.http.views.policies import PolicyView
from app.model.actors import COMMAND_LINE, Actor, ActorKind, ChangedBy
from app.model.agents import AgentStatus
from app.model.api_keys import Scope
from app.model.approvals import ApprovalQuery, ApprovalStatus
from app.model.audit import AuditQuery
from app.model.changes import ChangeQuery
from app.model.decisions import AuthorizeRequest, Result
from app.model.ids import Ids
from app.model.policies import Owner, PolicyChanges, PolicyFields, PolicyKind, PolicyMode, owner_or_none
from app.model.policy_sets import PolicyEntry
from app.model.rules import Rules
from app.model.times import parse_time_ms
from app.runtime.clock import monotonic_us
from app.store.changes import Changes
from app.store.keyspace import counting_workspace
from app.store.limits import POLICIES_OF_GROUP, RATE_LIMITS_OF_AGENT, RATE_LIMITS_OF_GROUP, WorkspaceLimits
from tests.support import parts

LIMITS = {
    "agents": 5, "policies_per_agent": 5, "policies": 14, "policies_per_group": 3, "rate_limits_per_agent": 3,
    "rate_limits_per_group": 2, "keys": 8, "policy_versions": 4,
}  # fmt: skip
OF_SERVICE = LIMITS | {
    "policies_per_group": POLICIES_OF_GROUP, "rate_limits_per_agent": RATE_LIMITS_OF_AGENT,
    "rate_limits_per_group": RATE_LIMITS_OF_GROUP,
}  # fmt: skip
"""Those of a running service, of which some are constants."""
SETTINGS = {f"REMIT_{name.upper()}_MAX": str(most) for name, most in OF_SERVICE.items() if most == LIMITS[name]}
ONLY_BUCKET = re.compile(":quota:[^:]+:[^:]+$")
"""Of a limit without `per`; it goes with its policy."""

UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SHOWN = {"id", "name", "scopes", "agents", "prefix", "expiresAt", "key"}


class Door:
    """What the ways in have in common. is_exact: whether the test sets the time."""

    is_remote, is_exact, asks_people, binds, conditional = True, False, True, True, True
    operator = False
    limits = OF_SERVICE

    def now_us(self):
        return time.time_ns() // 1000

    def told(self, name, given):
        """The answer to a request, or the code of its refusal."""
        try:
            return getattr(self, name)(**given)
        except Refused as refused:
            return refused.code


class StoreDoor(Door):
    """The classes of the store and of the hot path, on three replicas with caches of their own."""

    is_remote, is_exact, binds = False, True, False
    operator = True
    limits = LIMITS

    def __init__(self, open_store, workspace_id, chance):
        self._loop = asyncio.Runner()
        self.clock, self._chance, self._at = Clock(), chance, workspace_id
        self._open = open_store()
        client, ids, limits = Clocked(self._open, self.clock), Ids(), WorkspaceLimits(**LIMITS)
        self._agents, self._policies = parts.agents(client, ids, limits), parts.policies(client, ids, limits)
        self._sets, self._keys = parts.policy_sets(client, ids, limits), parts.api_keys(client, ids, limits)
        self._versions = parts.policy_versions(client, self._policies, LIMITS["policy_versions"])
        self._changes, self._log = Changes(client), AuditLog(client)
        self._replicas = [(InProcess(client), Authenticator(client, 10)) for _ in range(3)]
        self._reaper, self._raw = ApprovalReaper(client, ids, 1 << 30), {}
        self.told("create_key", {"actor": OPERATOR, "reason": "", "name": "first", "scopes": ["admin"], "agents": [],
                                 "expires_ms": None})  # fmt: skip

    def close(self):
        self._loop.run(self._open.close())
        self._loop.close()

    def now_us(self):
        return self.clock.now_ms * 1000

    def told(self, name, given):
        return self._loop.run(self._answered(name, given))

    def together(self, requests):
        """The answers to requests made at once."""

        async def race():
            return await asyncio.gather(*(self._answered(*each) for each in requests))

        return self._loop.run(race())

    async def _answered(self, name, given):
        try:
            return await getattr(self, name)(**given)
        except AppError as error:
            return error.code

    async def create_agent(self, name, alias, groups, description, **by):
        made = await self._agents.create(self._at, name, description, groups, alias=alias, **who(by))
        return shown(AgentView.of(made))

    async def update_agent(self, agent, changes, if_match, **by):
        changes = changes | ({"status": AgentStatus(changes["status"])} if "status" in changes else {})
        agent_id = await self._agents.id_of(self._at, agent)
        changed = await self._agents.update(self._at, agent_id, **changes, if_match=tags(if_match), **who(by))
        return shown(AgentView.of(changed))

    async def delete_agent(self, agent, if_match, **by):
        agent_id = await self._agents.id_of(self._at, agent)
        await self._agents.delete(self._at, agent_id, if_match=tags(if_match), **who(by))

    async def create_policy(self, owner, fields, **by):
        owner = await self._owner(owner)
        made = await self._policies.create(self._at, owner, PolicyFields(**typed(fields)), **who(by))
        return shown(PolicyView.of(made))

    async def update_policy(self, policy, changes, if_match, **by):
        wanted = PolicyChanges(**typed(changes))
        changed = await self._policies.update(self._at, policy, wanted, if_match=tags(if_match), **who(by))
        return shown(PolicyView.of(changed))

    async def delete_policy(self, policy, if_match, **by):
        await self._policies.delete(self._at, policy, if_match=tags(if_match), **who(by))

    async def roll_back(self, policy, version, if_match, **by):
        back = await self._versions.roll_back(self._at, policy, version, if_match=tags(if_match), **who(by))
        return shown(PolicyView.of(back))

    async def put_policies(self, owner, entries, prune, seen, **by):
        owner = await self._owner(owner)
        done = await self._sets.put(
            self._at, owner, msgspec.convert(entries, list[PolicyEntry]), prune=prune,
            if_match=None if seen is None else frozenset({seen[0]}), **who(by)
        )  # fmt: skip
        return applied(shown(AppliedSetView.applied(done, owner, [])))

    async def _owner(self, owner):
        agent_id = await self._agents.id_of(self._at, owner["agent"]) if "agent" in owner else None
        return Owner(agent_id, owner.get("group"))

    async def create_key(self, name, scopes, agents, expires_ms, **by):
        key, raw_key = await self._keys.create(
            self._at, name, tuple(map(Scope, scopes)), expires_ms, agents=tuple(agents), **who(by)
        )  # fmt: skip
        return self._known(key, raw_key)

    async def rotate_key(self, key, overlap_s, **by):
        made, raw_key, old = await self._keys.rotate(self._at, key, overlap_s * 1000, **who(by))
        return self._known(made, raw_key) | {"untilMs": old.expires_ms}

    def _known(self, key, raw_key):
        self._raw[key.id] = raw_key
        return as_key(shown(ApiKeyView.of(key)) | {"key": raw_key})

    async def revoke_key(self, key, force, **by):
        await self._keys.revoke(self._at, key, force=force, **who(by))

    async def authorize(self, key, agent, tool, parameters, session, approval_id=""):
        replica, callers = self._chance.choice(self._replicas)
        caller = callers.cached(self._raw[key]) or await callers.authenticate_once(self._raw[key])
        context = {"session": session} if session else {}
        asked = {"agent_id": agent, "tool_name": tool, "parameters": parameters, "context": context}
        body, encode = msgspec.json.encode(asked), msgspec.json.encode
        request = AuthorizeRequest(
            agent, tool, "authorize", parameters, encode(parameters), context=context or None,
            recorded_context=encode(context) if context else b"", size=len(body), written=body, approval_id=approval_id,
        )  # fmt: skip
        try:
            decision = await replica.authorizer.authorize(caller, request, monotonic_us())
        except Unauthorized:
            callers.forget(self._raw[key])
            raise
        return as_decision(shown(DecisionView.of(decision)) | {"retryUs": decision.retry_after_us})

    async def decide(self, key, approval_id, verdict, if_match):
        approvals = self._chance.choice(self._replicas)[0].approvals
        decided = await approvals.decide(
            self._at, approval_id, ApprovalStatus(verdict), by=actor_of(key), if_match=tags(if_match)
        )
        return as_approval(shown(decided))

    async def end_approvals(self):
        await self._reaper.end_approvals([self._at])

    async def agents(self, limit=None, offset=0, **filters):
        filters |= {"status": AgentStatus(filters["status"])} if "status" in filters else {}
        return [shown(AgentView.of(each)) async for each in self._agents.each(self._at, limit, offset, **filters)]

    async def agent(self, called):
        return shown(AgentView.of(await self._agents.get(self._at, await self._agents.id_of(self._at, called))))

    async def policies(self, limit=None, offset=0, agent=None, **filters):
        filters |= {"kind": PolicyKind(filters["kind"])} if "kind" in filters else {}
        found = self._policies.each(
            self._at, owner_or_none(agent, filters.pop("group", None)), limit, offset, **filters
        )
        return [shown(PolicyView.of(each)) async for each in found]

    async def policy_set(self, owner):
        owner = await self._owner(owner)
        return shown(PolicySetView.of(await self._sets.get(self._at, owner), owner))

    async def versions(self, policy, limit=None):
        return [as_version(shown(PolicyVersionView.of(each)))
                async for each in self._versions.each(self._at, policy, limit)]  # fmt: skip

    async def keys(self, limit=None, offset=0):
        return [as_key(shown(ApiKeyView.of(each))) async for each in self._keys.each(self._at, limit, offset)]

    async def approvals(self, limit, **filters):
        filters |= {"status": (ApprovalStatus(filters["status"]),)} if "status" in filters else {}
        approvals, found, before = self._replicas[0][0].approvals, [], None
        while True:
            query = ApprovalQuery(limit=limit, before=before, **filters)
            page, before = await approvals.page(self._at, query)
            found += [as_approval(shown(each)) for each in page]
            if before is None:
                return found

    async def trail(self, limit):
        found, older_than = [], None
        while True:
            page = await self._changes.query(self._at, ChangeQuery(limit=limit, older_than=older_than))
            found += map(as_change, map(shown, page.changes))
            if (older_than := page.older_than) is None:
                return found

    async def log(self, limit, **filters):
        filters |= {"result": Result(filters["result"])} if "result" in filters else {}
        found, before = [], None
        while True:
            page = await self._log.query(self._at, AuditQuery(limit=limit, before=before, **filters))
            found += [as_entry(json.loads(with_code(line))) for line in page.lines]
            if (before := page.next_before) is None:
                return found

    async def named_keys(self):
        """The keys that neither soon expire nor are dropped once they count no more, each with the ids in its name."""
        found = [each for each in await names(self._open, f"remit:{{{self._at}}}:*") if await self._lasts(each)]
        return {name: [each for each in UUID.findall(name) if each != self._at] for name in found}

    async def _lasts(self, name):
        if counting_workspace(name) and not ONLY_BUCKET.search(name):
            return False
        return not 0 <= await self._open.call("TTL", name) < 100 * 24 * 3600


class HttpDoor(Door):
    """The API, of two replicas in turn."""

    def __init__(self, replicas, chance, raw_key):
        self._clients = [replica.client(raw_key) for replica in replicas]
        self._chance, self._raw = chance, {}
        [first] = self.keys()
        self.first, self._raw[first["id"]] = first["id"], raw_key

    def close(self):
        for each in self._clients:
            each.close()

    def together(self, requests):
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(lambda each: self.told(*each), requests))

    def _ask(self, method, path, *, actor=None, if_match=None, reason="", **options):
        headers = {} if actor is None else {"Authorization": f"Bearer {self._raw[actor]}"}
        headers |= {} if if_match is None else {"If-Match": f'"{if_match}"'}
        headers |= {"Change-Reason": reason} if reason else {}
        answer = self._chance.choice(self._clients).request(method, path, headers=headers, **options)
        if answer.is_error:
            raise Refused(answer.json()["error"]["code"])
        return answer

    def _pages(self, path, limit, as_shown, filters):
        found, cursor = [], {}
        while True:
            answer = self._ask("GET", path, params={"limit": limit, **filters, **cursor})
            found += map(as_shown, answer.json())
            if "X-Next-Cursor" not in answer.headers:
                return found
            cursor = {"cursor": answer.headers["X-Next-Cursor"]}

    def create_agent(self, name, alias, groups, description, **by):
        body = {"name": name, "alias": alias, "groups": groups, "description": description}
        return tagged(self._ask("POST", "/v1/agents", **by, json=body))

    def update_agent(self, agent, changes, if_match, **by):
        path = f"/v1/agents/{quoted(agent)}"
        return tagged(self._ask("PATCH", path, **by, if_match=if_match, json=changes))

    def delete_agent(self, agent, if_match, **by):
        self._ask("DELETE", f"/v1/agents/{quoted(agent)}", **by, if_match=if_match)

    def create_policy(self, owner, fields, **by):
        body = fields | ({"agent_id": owner["agent"]} if "agent" in owner else owner)
        return tagged(self._ask("POST", "/v1/policies", **by, json=body))

    def update_policy(self, policy, changes, if_match, **by):
        path = f"/v1/policies/{policy}"
        return tagged(self._ask("PATCH", path, **by, if_match=if_match, json=changes))

    def delete_policy(self, policy, if_match, **by):
        self._ask("DELETE", f"/v1/policies/{policy}", **by, if_match=if_match)

    def roll_back(self, policy, version, if_match, **by):
        path, body = f"/v1/policies/{policy}/rollback", {"version": version}
        return tagged(self._ask("POST", path, **by, if_match=if_match, json=body))

    def put_policies(self, owner, entries, prune, seen, **by):
        body, if_match = {"policies": entries}, seen and seen[0]
        if if_match and self._chance.random() < 0.5:
            body, if_match = body | {"version": if_match}, None
        return applied(
            self._ask(
                "PUT", path_of(owner), **by, params={"prune": "true"} if prune else {}, if_match=if_match, json=body
            ).json()
        )

    def create_key(self, name, scopes, agents, expires_ms, **by):
        body = {"name": name, "scopes": scopes, "expiresAt": None}
        body |= {"agents": agents} if agents else {}
        made = as_key(self._ask("POST", "/v1/api-keys", **by, json=body).json())
        self._raw[made["id"]] = made["key"]
        return made

    def revoke_key(self, key, force, **by):
        params = {"force": "true"} if force else {}
        self._ask("DELETE", f"/v1/api-keys/{key}", **by, params=params)

    def authorize(self, key, agent, tool, parameters, session, approval_id=""):
        body = {"agent_id": agent, "tool_name": tool, "parameters": parameters}
        body |= {"context": {"session": session}} if session else {}
        body |= {"approval_id": approval_id} if approval_id else {}
        return as_decision(self._ask("POST", "/v1/authorize", actor=key, json=body).json())

    def decide(self, key, approval_id, verdict, if_match):
        verb = {"approved": "approve", "denied": "deny", "cancelled": "cancel"}[verdict]
        path = f"/v1/approvals/{approval_id}/{verb}"
        return as_approval(tagged(self._ask("POST", path, actor=key, if_match=if_match, json={})))

    def agents(self, limit=None, offset=0, **filters):
        return self._ask("GET", "/v1/agents", params=page(limit, offset) | filters).json()

    def agent(self, called):
        return tagged(self._ask("GET", f"/v1/agents/{quoted(called)}"))

    def policies(self, limit=None, offset=0, agent=None, **filters):
        filters |= {} if agent is None else {"agent_id": agent}
        return self._ask("GET", "/v1/policies", params=page(limit, offset) | filters).json()

    def policy_set(self, owner):
        return tagged(self._ask("GET", path_of(owner)))

    def versions(self, policy, limit=None):
        found = self._ask("GET", f"/v1/policies/{policy}/versions", params=page(limit, 0)).json()
        return list(map(as_version, found))

    def keys(self, limit=None, offset=0):
        return list(map(as_key, self._ask("GET", "/v1/api-keys", params=page(limit, offset)).json()))

    def approvals(self, limit, **filters):
        return self._pages("/v1/approvals", limit, as_approval, filters)

    def trail(self, limit):
        return self._pages("/v1/changes", limit, as_change, {})

    def log(self, limit, **filters):
        return self._pages("/v1/audit-logs", limit, as_entry, filters)


class CommandLineDoor(HttpDoor):
    """The command line: what changes something works on the store, calls and verdicts go to a service."""

    is_remote, binds, conditional, asks_people = False, False, False, False
    operator = True

    def __init__(self, replicas, chance, raw_key, workspace_id):
        self._env = clean_env() | SETTINGS | {"REMIT_REDIS_URL": replicas[0].env["REMIT_REDIS_URL"]}
        self._at, self._workspace_id = replicas[0].base_url, workspace_id
        super().__init__(replicas, chance, raw_key)

    def _run(self, *words, key=None, stdin=None, actor=None, reason=""):
        where = ("-w", self._workspace_id) if key is None else ()
        env = self._env | ({} if key is None else {"REMIT_URL": self._at, "REMIT_API_KEY": self._raw[key]})
        why = ("--reason", reason) if reason else ()
        ran = run_remit([*words, *where, *why, "--json"], env, stdin=stdin)
        if ran.returncode:
            assert ran.returncode == 1, (words, ran.stderr)
            raise Refused(next((code for code, said in SENTENCES.items() if re.search(said, ran.stderr)), ran.stderr))
        return json.loads(ran.stdout)

    def create_agent(self, name, alias, groups, description, **by):
        words = [*option("--alias", alias), *option("--description", description)]
        words += [word for group in groups for word in ("--group", group)]
        return self._run("agents", "create", name, *words, **by)

    def update_agent(self, agent, changes, if_match, **by):
        if not changes:
            return self._run("agents", "show", agent)
        words = [word for name in ("name", "alias", "description", "status") if name in changes
                 for word in (f"--{name}", changes[name] or "")]  # fmt: skip
        if "groups" in changes:
            words += [word for group in changes["groups"] for word in ("--group", group)] or ["--no-groups"]
        return self._run("agents", "update", agent, *words, **by)

    def delete_agent(self, agent, if_match, **by):
        self._run("agents", "delete", agent, "--yes", **by)

    def create_policy(self, owner, fields, **by):
        whose = [owner["agent"]] if "agent" in owner else option("--group", owner.get("group"))
        return unwarned(self._run("policies", "create", *whose, "-f", "-", stdin=json.dumps(fields), **by))

    def update_policy(self, policy, changes, if_match, **by):
        words = ("policies", "update", policy, "-f", "-")
        return unwarned(self._run(*words, stdin=json.dumps(changes), **by))

    def delete_policy(self, policy, if_match, **by):
        self._run("policies", "delete", policy, **by)

    def roll_back(self, policy, version, if_match, **by):
        return unwarned(self._run("policies", "rollback", policy, str(version), **by))

    def put_policies(self, owner, entries, prune, seen, **by):
        raise NotImplementedError("policy files have tests of their own")

    def create_key(self, name, scopes, agents, expires_ms, **by):
        words = [word for scope in scopes for word in ("--scope", scope)]
        made = as_key(self._run("keys", "create", "--name", name, *words, **by))
        self._raw[made["id"]] = made["key"]
        return made

    def rotate_key(self, key, overlap_s, **by):
        made = self._run("keys", "rotate", key, "--overlap", f"{overlap_s}s", **by)
        assert made["replaces"] == key
        self._raw[made["id"]] = made["key"]
        return as_key(made) | {"untilMs": parse_time_ms(made["replacedUntil"])}

    def revoke_key(self, key, force, **by):
        self._run("keys", "revoke", key, *(("--force",) if force else ()), **by)

    def authorize(self, key, agent, tool, parameters, session, approval_id=""):
        words = [f"{name}={json.dumps(value)}" for name, value in parameters.items()]
        return as_decision(self._run("authorize", agent, tool, *words, key=key))

    def agent(self, called):
        return self._run("agents", "show", called)

    def versions(self, policy, limit=None):
        return list(map(as_version, self._run("policies", "versions", policy)))[:limit]

    def trail(self, limit):
        return list(map(as_change, self._run("changes", "--limit", "1000")))


SENTENCES = {
    "AGENT_NOT_FOUND": "No agent ", "ALIAS_TAKEN": "Another agent has the alias", "AGENT_REVOKED": "stays revoked",
    "POLICY_NOT_FOUND": "No policy ", "POLICY_KEY_TAKEN": "Another policy of the .* has the key",
    "POLICY_VERSION_NOT_FOUND": "there was no version", "VERSION_NOT_KEPT": "no longer kept",
    "LIMIT_REACHED": "as it may have|rate limits in all its policies", "API_KEY_NOT_FOUND": "No API key has",
    "LAST_ADMIN_KEY": "last admin key", "UNAUTHORIZED": "unknown or has been revoked",
    "VALIDATION_ERROR": "is a guardrail", "API_KEY_EXPIRED": "has expired",
}  # fmt: skip
"""The codes by what the command line says."""


def option(name, value):
    return [] if value is None else [name, value]


def page(limit, offset):
    return ({} if limit is None else {"limit": limit}) | ({"offset": offset} if offset else {})


def quoted(called):
    return called.replace("/", "%2F")


def path_of(owner):
    if "agent" in owner:
        return f"/v1/agents/{quoted(owner['agent'])}/policies"
    return f"/v1/groups/{quoted(owner['group'])}/policies" if "group" in owner else "/v1/workspace/policies"


def who(by):
    return {"by": ChangedBy(actor_of(by["actor"]), by["reason"])}


def actor_of(key_id):
    return COMMAND_LINE if key_id == OPERATOR else Actor(key_id, "", ActorKind.KEY)


def tags(if_match):
    return None if if_match is None else frozenset({if_match})


def shown(view):
    return json.loads(msgspec.json.encode(view))


def tagged(answer):
    """The body, whose version is in the ETag, too."""
    body = answer.json()
    assert answer.headers["ETag"] == f'"{body["version"]}"'
    return unwarned(body)


def unwarned(body):
    body.pop("warnings", None)
    return body


def typed(fields):
    """The fields of a policy as the store's classes take them."""
    named = {"agentMessage": "agent_message", "managedBy": "managed_by", "keepsRequests": "keeps_requests"}
    kinds = {"rules": lambda rules: msgspec.convert(rules, Rules), "kind": PolicyKind, "mode": PolicyMode}
    return {named.get(name, name): kinds.get(name, lambda value: value)(value) for name, value in fields.items()}


def applied(body):
    return {name: body[name] for name in ("created", "updated", "deleted", "policies")}


def as_key(body):
    ends = body["expiresAt"]
    return {name: body[name] for name in SHOWN & body.keys() - {"expiresAt"}} | {
        "agents": body.get("agents", []), "expiresMs": None if ends is None else parse_time_ms(ends)
    }  # fmt: skip


def as_decision(body):
    seconds = body["retryAfterSeconds"]
    return {
        "id": body["id"], "result": body["result"], "policyId": body["policyId"],
        "rule": body["rule"] and body["rule"]["index"], "agentMessage": body.get("agentMessage"),
        "retryUs": body.get("retryUs", None if seconds is None else round(seconds * 1e6)),
        "approvalId": body.get("approval", {}).get("id"), "timeUs": parse_time_ms(body["timestamp"]) * 1000,
    }  # fmt: skip


def as_approval(body):
    return {name: body[name] for name in ("id", "status", "version", "agentId", "toolName", "policyId", "requests")} | {
        "requestedBy": body["requestedBy"]["keyId"], "required": body["required"], "usesLeft": body["usesLeft"],
        "said": [[each["by"]["keyId"], each["verdict"]] for each in body["approvals"]], "decisions": body["decisions"],
    }  # fmt: skip


def as_version(body):
    return {name: body[name] for name in ("version", "actorId", "actorName", "reason", "policy")} | {
        "changed": sorted(body["changed"])
    }


def as_change(body):
    told = {name: body.get(name) for name in ("actorId", "actorName", "kind", "resourceType", "resourceId", "sequence")}
    for side in ("before", "after"):
        told[side] = body[side] and dict(body[side])
        if told[side] and body["resourceType"] == "api_key":
            ends = told[side].pop("expiresAt")
            told[side]["expiresMs"] = None if ends is None else parse_time_ms(ends)
    return told | {"reason": body.get("reason")}


def as_entry(body):
    told = {name: body.get(name) for name in ("agentId", "keyId", "toolName", "parameters", "policyId", "approvalId")}
    is_decision = body["result"] is not None
    return told | {
        "id": body["id"] if is_decision else None, "said": body["result"] or body["code"],
        "rule": body["rule"] and body["rule"]["index"], "policyVersion": body.get("policyVersion"),
    }  # fmt: skip
