"""Sets of policies in a running service, over HTTP."""

import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click
import msgspec

from app.cli.policy_sets import file_agent
from app.cli.remote import Remote
from app.errors import AgentNotFound, Invalid
from app.model.actors import ChangedBy
from app.model.ids import canonical_uuid
from app.model.policies import Owner
from app.model.policy_sets import PolicyEntry, PolicySet, entry_of
from app.model.times import parse_time_ms, rfc3339

if TYPE_CHECKING:
    from app.lint import PolicyWarning
    from app.model.policies import Policy
    from app.model.replays import ReplayReport
    from app.policy_files.policy_file import FileAgent


class RemoteSets:
    """Policy sets of the workspace of REMIT_API_KEY, over HTTP."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def agent(self, called: str) -> tuple[str, str]:
        if (agent_id := canonical_uuid(called)) is not None:
            found = self._remote.call("GET", f"/v1/agents/{agent_id}")
            return found["id"], found["name"]
        agents = await self.agents()
        named = [(agent_id, agent.name) for agent_id, agent in agents if agent.alias == called]
        named = named or [(agent_id, agent.name) for agent_id, agent in agents if agent.name == called]
        if not named:
            raise AgentNotFound(f'No agent is called "{called}"; `remit agents list` shows all of them')
        if len(named) > 1:
            raise Invalid(f'{len(named)} agents are called "{called}"; say which by its id')
        return named[0]

    async def create_agent(self, agent: "FileAgent", by: ChangedBy) -> str:
        return str(self._remote.call("POST", "/v1/agents", msgspec.to_builtins(agent), reason=by.reason)["id"])

    async def get(self, owner: Owner) -> PolicySet:
        return _set_of(self._remote.call("GET", _path(owner)))

    async def put(self, owner: Owner, entries: list[PolicyEntry], version: str, *, prune: bool, by: ChangedBy) -> None:
        query = "?prune=true" if prune else ""
        body = {"policies": _bodies(entries), "version": version}
        self._remote.call("PUT", f"{_path(owner)}{query}", body, reason=by.reason)

    async def replay(self, owner: Owner, entries: list[PolicyEntry], span_ms: int) -> "ReplayReport":
        from app.cli.replay import BROKEN_OFF, reported
        from app.cli.session import progress_bar
        from app.model.replays import ReplayLine

        to_ms = time.time_ns() // 1_000_000
        asked = {"agent_id": owner.agent_id, "group": owner.group, "policies": _bodies(entries)}
        span = {"from": rfc3339(max(0, to_ms - span_ms)), "to": rfc3339(to_ms)}
        with progress_bar("replaying") as progress:
            for each in self._remote.lines("/v1/replay", asked | span):
                line = msgspec.json.decode(each, type=ReplayLine)
                if isinstance(line.error, str):
                    raise click.ClickException(line.error)
                if (report := reported(line, progress)) is not None:
                    return report
        raise click.ClickException(BROKEN_OFF)

    async def warnings(self, owner: Owner, policies: list["Policy"]) -> "list[list[PolicyWarning]]":
        from app.lint import PolicyWarning

        found: list[list[PolicyWarning]] = [[] for _ in policies]
        body = {"agent_id": owner.agent_id, "group": owner.group, "policies": _bodies(list(map(entry_of, policies)))}
        for each in self._remote.call("POST", "/v1/policies/lint", body)["warnings"]:
            place, path = _placed(each["path"])
            found[place].append(msgspec.convert(each | {"path": path}, PolicyWarning))
        return found

    async def agents(self) -> "list[tuple[str, FileAgent]]":
        from app.views.agents import AgentView

        found = msgspec.convert(self._remote.call("GET", "/v1/agents"), list[AgentView])
        return [(each.id, file_agent(each)) for each in found]

    async def owners(self) -> AsyncIterator[Owner]:
        for each in self._remote.call("GET", "/v1/policies"):
            yield Owner(each["agentId"], each["group"])


def _path(owner: Owner) -> str:
    if owner.agent_id is not None:
        return f"/v1/agents/{owner.agent_id}/policies"
    return "/v1/workspace/policies" if owner.group is None else f"/v1/groups/{quote(owner.group, safe='')}/policies"


def _placed(path: str) -> tuple[int, str]:
    """`$.policies[2].rules[0]` split into the policy's index and the path below it."""
    place, _, below = path.removeprefix("$.policies[").partition("]")
    return int(place), f"${below}"


def _bodies(entries: list[PolicyEntry]) -> list[dict[str, Any]]:
    return [{name: value for name, value in msgspec.to_builtins(each).items() if value is not None} for each in entries]


def _set_of(answer: Any) -> PolicySet:
    from app.views.policies import PolicyView

    shown = msgspec.convert(answer["policies"], list[PolicyView])
    return PolicySet(answer["version"], [_policy_of(each) for each in shown])


def _policy_of(shown: Any) -> "Policy":
    from app.model.policies import Policy

    fields = {name: getattr(shown, name) for name in Policy.__struct_fields__ if hasattr(shown, name)}
    times = {"created_ms": parse_time_ms(shown.created_at), "updated_ms": parse_time_ms(shown.updated_at)}
    return Policy(**fields | times)
