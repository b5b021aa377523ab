"""Policy sets as `remit policy` reads and writes them."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from app.cli.api import Api, Refused, segment
from app.cli.find import find_agent
from app.errors import InsufficientScope
from app.model.changes import Change, ChangeKind
from app.model.past_states import Past
from app.model.policies import Owner, Policy
from app.model.policy_sets import PolicyEntry, PolicySet, entry_of
from app.model.query_fields import MAX_PAGE
from app.model.times import parse_time_ms, rfc3339

if TYPE_CHECKING:
    from app.model.replays import ReplayReport
    from app.policy_tools.files.policy_file import FileAgent
    from app.policy_tools.lint import PolicyWarning

NEW_AGENT = Owner("")
"""An agent that is still to be created."""


class Sets:
    """Reads and writes the policy sets of one workspace."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def agent(self, called: str) -> tuple[str, str]:
        """Id and name of the agent with this id, this alias or, if only one has it, this name.

        Raises AgentNotFound, Invalid.
        """
        found = find_agent(self._api, called)
        return found["id"], found["name"]

    def create_agent(self, agent: "FileAgent", reason: str) -> str:
        """Create an agent and return its id."""
        return str(self._api.call("POST", "/v1/agents", msgspec.to_builtins(agent), reason=reason)["id"])

    def get(self, owner: Owner) -> PolicySet:
        """The owner's policies, and the version of the set."""
        answer = self._api.get(_path(owner))
        return PolicySet(answer["version"], [policy_of(each) for each in answer["policies"]])

    def put(
        self, owner: Owner, entries: list[PolicyEntry], version: str, *, prune: bool, source: str | None, reason: str
    ) -> list[dict[str, str]]:
        """Make the entries current, if the version is still this one; return the warnings. source: what manages it."""
        body = {"policies": bodies(entries), "version": version}
        written = self._api.call("PUT", _path(owner), body, reason=reason, prune=prune, managed_by=source)
        found: list[dict[str, str]] = written["warnings"]
        return found

    def replay(self, owner: Owner, entries: list[PolicyEntry], span_ms: int) -> "ReplayReport":
        """The results of the latest `span_ms` of the log that would flip if these were the owner's only policies."""
        to_ms = time.time_ns() // 1_000_000
        span = {"from": rfc3339(max(0, to_ms - span_ms)), "to": rfc3339(to_ms)}
        asked = {"agent_id": owner.agent_id, "group": owner.group, "policies": bodies(entries)}
        return report_of(self._api, asked | span)

    def warnings(self, owner: Owner, policies: list[Policy]) -> "list[list[PolicyWarning]]":
        """The warnings about each of the owner's policies, judged with all others that govern the same agents."""
        from app.policy_tools.lint import PolicyWarning

        found: list[list[PolicyWarning]] = [[] for _ in policies]
        body = {"agent_id": owner.agent_id, "group": owner.group, "policies": bodies(list(map(entry_of, policies)))}
        for each in self._api.call("POST", "/v1/policies/lint", body)["warnings"]:
            place, path = _placed(each["path"])
            found[place].append(msgspec.convert(each | {"path": path}, PolicyWarning))
        return found

    def agents(self) -> "list[tuple[str, FileAgent]]":
        """Every agent by its id."""
        from app.policy_tools.files.policy_file import FileAgent

        return [(each["id"], FileAgent.of(each)) for each in self._api.get("/v1/agents")]

    def owners(self) -> list[Owner]:
        """Every owner of a policy, the workspace first."""
        found = {Owner(each["agentId"], each["group"]) for each in self._api.get("/v1/policies")}
        return sorted(found, key=lambda owner: (owner.agent_id or "", owner.group or ""))


class FormerSets(Sets):
    """The policy sets of one workspace as they were at a time.

    knows_deleted: False if the trail of changes may not be read, so that policies which were deleted since are missing.
    """

    def __init__(self, api: Api, at_ms: int) -> None:
        super().__init__(api)
        self._at_ms = at_ms
        self._deleted: list[Policy] = []
        self.knows_deleted = True
        try:
            self._deleted = self._deleted_since()
        except Refused as refused:
            if refused.code != InsufficientScope.code:
                raise
            self.knows_deleted = False

    def get(self, owner: Owner) -> PolicySet:
        """The owner's policies at that time. Raises ClickException if the version of one is no longer kept."""
        current = super().get(owner)
        then = [self._then(each) for each in current.policies]
        deleted = [each for each in self._deleted if each.owner == owner]
        return PolicySet(current.version, [*(each for each in then if each is not None), *deleted])

    def _deleted_since(self) -> list[Policy]:
        """The policies of that time that there are no more, by undoing what was done to them since."""
        past, cursor = Past((), ()), None
        asked = {"resource_type": "policy", "from": rfc3339(self._at_ms + 1), "limit": MAX_PAGE}
        while True:
            page, cursor = self._api.page("/v1/changes", {**asked, "cursor": cursor})
            for line in page:
                change = msgspec.json.decode(line, type=Change)
                if change.kind is ChangeKind.DELETED or change.resource_id in past.policies:
                    past.undo(change)
            if cursor is None:
                return [each.get() for each in past.policies.values()]

    def _then(self, policy: Policy) -> Policy | None:
        """The policy at that time; None if it did not exist yet."""
        version = 0
        for each in self._api.get(f"/v1/policies/{policy.id}/versions"):
            version = each["version"]
            if each["timestamp"] is None or parse_time_ms(each["timestamp"]) <= self._at_ms:
                return policy_of(each["policy"])
        if version > 1:
            message = f'policy "{policy.name}": its versions before {version} are no longer kept'
            raise click.ClickException(message)
        return None


def report_of(api: Api, asked: dict[str, Any]) -> "ReplayReport":
    """The report of a replay. Raises ClickException."""
    from app.cli.output import result_of
    from app.model.replays import ReplayLine, ReplayReport

    body = {name: value for name, value in asked.items() if value is not None}
    report: ReplayReport = result_of("replaying", api.lines("/v1/replay", body), ReplayLine, "report")
    return report


def _path(owner: Owner) -> str:
    if owner.agent_id is not None:
        return f"/v1/agents/{owner.agent_id}/policies"
    return "/v1/workspace/policies" if owner.group is None else f"/v1/groups/{segment(owner.group)}/policies"


def _placed(path: str) -> tuple[int, str]:
    """`$.policies[2].rules[0]` split into the policy's index and the path below it."""
    place, _, below = path.removeprefix("$.policies[").partition("]")
    return int(place), f"${below}"


def bodies(entries: Sequence[PolicyEntry]) -> list[dict[str, Any]]:
    """The entries as the API takes them: fields that are null are left out."""
    return [{name: value for name, value in msgspec.to_builtins(each).items() if value is not None} for each in entries]


def policy_of(shown: dict[str, Any]) -> Policy:
    """The policy that an answer shows."""
    from app.http.views.policies import PolicyView

    view = msgspec.convert(shown, PolicyView)
    fields = {name: getattr(view, name) for name in Policy.__struct_fields__ if hasattr(view, name)}
    times = {"created_ms": parse_time_ms(view.created_at), "updated_ms": parse_time_ms(view.updated_at)}
    return Policy(**fields | times)
