"""`remit policies …`: policies, their versions, and how shadow policies diverge."""

import json
from typing import Any

import click

from app.cli.api import Api, on_api
from app.cli.completion import POLICY
from app.cli.find import find_agent, find_policy
from app.cli.groups import LazyGroup
from app.cli.option_types import WholeNumber
from app.cli.options import OF_AGENT, OF_GROUP, REASON
from app.cli.output import Shown, print_record, print_table, shows
from app.cli.replay import replay_draft
from app.model.text import counted

_PATH = "/v1/policies"
_LAZILY = {
    "create": "app.cli.policy_edits:create_policy",
    "update": "app.cli.policy_edits:update_policy",
    "apply": "app.cli.policy_apply:apply_policies",
    "bounds": "app.cli.policy_bounds:print_bounds",
    "diff": "app.cli.policy_apply:diff_policies",
    "export": "app.cli.policy_export:export_policies",
    "reviews": "app.cli.policy_reviews:reviews",
    "propose": "app.cli.policy_propose:propose_policies",
    "lint": "app.cli.policy_lint:lint",
    "schema": "app.cli.policy_export:print_schema",
    "test": "app.cli.policy_tests:test_policies",
}
_SHOWN = {"key", "priority", "enabled", "mode"}
"""Optional fields that `show` prints in its own way; any other, if it differs from its default."""


@click.group(cls=LazyGroup, lazily=_LAZILY, also={})
def policies() -> None:
    """Manage policies. POLICY is an id, or a unique key or name; AGENT is an id, an alias or a unique name.

    Keys and names are looked up among all policies, or among those of --agent or --group. `create` and `update` take a
    file with the body of POST /v1/policies without its owner: name, rules, and optionally kind, mode, …. `export`,
    `diff` and `apply` work with files that contain all policies of an agent, of a group or of the workspace.
    """


@policies.command("list")
@on_api
@click.option("--agent", help="Only those of this agent, in evaluation order.")
@click.option("--group", help="Only those of this group.")
@shows
def list_policies(api: Api, agent: str | None, group: str | None) -> Shown:
    """List a workspace's policies."""
    agent_id = None if agent is None else find_agent(api, agent)["id"]
    found = api.get(_PATH, agent_id=agent_id, group=group)
    yield found
    names = {each["id"]: each["alias"] or each["name"] for each in api.get("/v1/agents")}
    rows = [
        (
            each["id"],
            str(each["priority"]),
            _state(each),
            counted(len(each["rules"]), "rule"),
            _governed(each, names),
            each["key"] or "-",
            each["managedBy"] or "-",
            each["name"],
        )
        for each in found
    ]
    hint = "There are no policies; `remit policies create AGENT --file FILE` creates one"
    print_table(("ID", "PRIORITY", "MODE", "RULES", "GOVERNS", "KEY", "MANAGED BY", "NAME"), rows, hint)


@policies.command("show")
@on_api
@POLICY
@OF_AGENT
@OF_GROUP
@shows
def show_policy(api: Api, policy: str, agent: str | None, group: str | None) -> Shown:
    """Print one policy, one rule per line."""
    found = find_policy(api, policy, agent, group)
    yield found
    more = [(field, found[spelled]) for field, spelled, default in _optional_fields() if found[spelled] != default]
    print_record(
        [
            ("id", found["id"]),
            ("governs", _governed(found, {})),
            ("key", found["key"] or "-"),
            ("name", found["name"]),
            ("priority", str(found["priority"])),
            ("mode", _state(found)),
            *((field.replace("_", " "), str(value)) for field, value in more),
            ("created", found["createdAt"]),
            ("changed", f"{found['updatedAt']}, version {found['version']}"),
            *((f"rule {index}", _as_line(rule)) for index, rule in enumerate(found["rules"])),
        ]
    )


@policies.command("delete")
@on_api
@POLICY
@OF_AGENT
@OF_GROUP
@shows
@REASON
def delete_policy(api: Api, policy: str, agent: str | None, group: str | None, reason: str) -> Shown:
    """Delete a policy and its quotas."""
    found = find_policy(api, policy, agent, group)
    deleted, source = found["id"], found["managedBy"]
    api.call("DELETE", f"{_PATH}/{deleted}", reason=reason)
    if source is not None:
        click.echo(f'Warning: it is managed by "{source}", which will create it again when applied', err=True)
    yield {"deleted": deleted}
    click.echo(f"deleted {deleted}")


def _optional_fields() -> list[tuple[str, str, Any]]:
    """Those that are not `_SHOWN`: name, spelling in answers, default."""
    from msgspec.structs import fields

    from app.model.policies import DEFAULTS
    from app.model.policy_sets import PolicyEntry

    named = {each.name: each for each in fields(PolicyEntry)}
    return [(name, named[name].encode_name, each) for name, each in DEFAULTS.items() if name not in _SHOWN]


def _state(policy: dict[str, Any]) -> str:
    """Its mode, or `off` if it is disabled."""
    return str(policy["mode"]) if policy["enabled"] else "off"


def _governed(policy: dict[str, Any], names: dict[str, str]) -> str:
    """The agent's name or id, the group, or the whole workspace."""
    agent_id = policy["agentId"]
    if agent_id is not None:
        return names.get(agent_id, str(agent_id))
    return "every agent" if policy["group"] is None else f"group {policy['group']}"


def _as_line(rule: dict[str, Any]) -> str:
    return json.dumps(rule, ensure_ascii=False, separators=(",", ":"))


@policies.command("versions")
@on_api
@POLICY
@shows
def list_versions(api: Api, policy: str) -> Shown:
    """Print a policy's versions, newest first: who changed it, when, what and why."""
    versions = api.get(f"/v1/policies/{find_policy(api, policy)['id']}/versions")
    yield versions
    rows = [
        (
            str(each["version"]),
            each["timestamp"] or "unknown",
            each["actorName"] or "unknown",
            ", ".join(each["changed"]) or ("created" if each["timestamp"] else "unknown"),
            each.get("reason") or "",
        )
        for each in versions
    ]
    print_table(("VERSION", "CHANGED AT", "BY", "WHAT", "WHY"), rows, "")


@policies.command("rollback")
@on_api
@POLICY
@click.argument("version", type=WholeNumber(1))
@REASON
@shows
def roll_back(api: Api, policy: str, version: int, reason: str) -> Shown:
    """Make a former version of a policy current again, as a new version."""
    from app.cli.policy_edits import print_written

    path = f"/v1/policies/{find_policy(api, policy)['id']}/rollback"
    changed = api.call("POST", path, {"version": version}, reason=reason)
    yield changed
    print_written(changed, f"policy {changed['id']} is at version {changed['version']}, as it was at {version}")


@policies.command("divergence")
@on_api
@POLICY
@OF_AGENT
@OF_GROUP
@shows
def show_divergence(api: Api, policy: str, agent: str | None, group: str | None) -> Shown:
    """Print how often a shadow policy would have changed a result, since its last change."""
    found = api.get(f"/v1/policies/{find_policy(api, policy, agent, group)['id']}/divergence")
    yield found
    state = found["mode"] if found["enabled"] else "off"
    calls = f"{counted(found['total'], 'call')} would have had another result since {found['since']}"
    click.echo(f"{calls} (version {found['version']}, mode {state})")
    rows = [(each["result"], each["shadowResult"], str(each["count"])) for each in found["counts"]]
    if rows:
        print_table(("WAS", "WOULD BE", "CALLS"), rows, "")
        click.echo(f"`remit audit query --shadow {found['policyId']}` prints them", err=True)


policies.add_command(replay_draft)
