"""`remit explain`: why the service would give an answer; `remit audit explain`: why it gave one."""

import json
from typing import Any, BinaryIO

import click

from app.cli.addresses import KEY
from app.cli.api import URL_OPTION, Api, on_api
from app.cli.authorize import CONTEXT, asked, named_value
from app.cli.completion import AGENT
from app.cli.option_types import Time, Uuid
from app.cli.output import Shown, in_colour, print_json, print_table, shows
from app.model.times import rfc3339

_SHOWN = 60


@click.command()
@AGENT
@click.argument("tool")
@click.argument("parameters", nargs=-1, metavar="[NAME=VALUE]...")
@CONTEXT
@click.option("--at", type=Time(), help="When the call would be made: ISO 8601 or a date; now if left out.")
@click.option(
    "--policy",
    "files",
    multiple=True,
    type=click.File("rb"),
    help="A draft as JSON, or a list; may be repeated.",
)
@URL_OPTION
@click.option("--key", envvar=KEY, help=f"The API key to ask with, with the scope view, read or policies; {KEY}.")
@click.option("--json", "as_json", is_flag=True, help="Print the service's JSON answer unchanged.")
def explain(
    agent: str,
    tool: str,
    parameters: tuple[str, ...],
    context: tuple[str, ...],
    at: int | None,
    files: tuple[BinaryIO, ...],
    url: str,
    key: str | None,
    as_json: bool,
) -> None:
    """Print whether AGENT might call TOOL, and why, rule by rule; nothing is counted, logged or created.

    VALUE is read as JSON where possible (120, true, [1, 2]), otherwise as a string. A draft with the id of a policy
    replaces it; one without an id is added.
    """
    body: dict[str, Any] = {"agent_id": agent, "tool_name": tool, "parameters": dict(map(named_value, parameters))}
    if context:
        body["context"] = dict(map(named_value, context))
    if at is not None:
        body["at"] = rfc3339(at)
    if files:
        body["policies"] = [draft for file in files for draft in _drafts(file)]
    told = asked(url, key, "/v1/explain", body, "view")
    if as_json:
        print_json(told)
    else:
        print_explanation(told)


@click.command("explain")
@on_api
@click.argument("entry", type=Uuid("remit audit query --json"))
@shows
def explain_decision(api: Api, entry: str) -> Shown:
    """Print why a logged decision was made, rule by rule, by the policies of its time. ENTRY is its id.

    Values that the log does not contain are reported as unknown, never guessed.
    """
    told = api.get(f"/v1/audit-logs/{entry}/explanation")
    yield told
    click.echo(f"{told['at']}  agent {told['agent']['alias'] or told['agent']['name']}  {told['code']}")
    print_explanation(told)
    if told["unknown"]:
        click.echo(f"\nThe log does not hold {', '.join(told['unknown'])}")


def print_explanation(told: dict[str, Any]) -> None:
    """Print the answer, then a row for each rule and for each policy without rules."""
    result = str(told["result"])
    click.echo(f"{in_colour(result)}  {told['reason']}")
    if told.get("retryAfterSeconds") is not None:
        click.echo(f"a rate limit or budget has room again in {told['retryAfterSeconds']:g} s")
    if "shadow" in told:
        click.echo(_with_shadow(told["shadow"], result))
    rows: list[tuple[str, ...]] = []
    for policy in told["policies"]:
        kind = "guardrail" if policy["kind"] == "guardrail" else f"tier {policy['priority']}"
        kind = f"{kind}, shadow" if policy["mode"] == "shadow" else kind
        name = policy["name"] if policy["version"] is None else f"{policy['name']} v{policy['version']}"
        if not policy["rules"]:
            rows.append((kind, name, "", policy["part"], "", ""))
        for rule in policy["rules"]:
            which = f"{rule['index']} {rule['type']}"
            rows.append((kind, name, which, _words(rule["part"]), rule["pattern"] or "-", _about(rule)))
            kind = name = ""
    click.echo()
    hint = "No policy governs the agent, so every call of it is denied; `remit policies create` creates one"
    print_table(("ASKED", "POLICY", "RULE", "CAME TO", "COVERS BY", "BECAUSE OF"), rows, hint)


def _with_shadow(shadow: dict[str, Any], result: str) -> str:
    """The result if the shadow policies were enforced, in words."""
    if shadow["result"] == result:
        return "the same if the shadow policies were enforced"
    rule = shadow["rule"]
    called = shadow.get("policyName") or shadow["policyId"] or "a draft"
    would = in_colour(shadow["result"])
    return f"{would}  if the shadow policies were enforced: {called}, rule {rule['index']} {rule['type']}"


def _about(rule: dict[str, Any]) -> str:
    """A rule's reason, the values it reads, and how full its quota is."""
    parts = [rule["reason"]] if rule["reason"] else []
    if rule["reason"] is None or rule["part"] == "unknown":
        parts += (f"{each['name']}={_value(each)}" for each in rule["values"])
    if "quota" in rule:
        quota = rule["quota"]
        span = "in all" if quota["windowSeconds"] is None else f"in {quota['windowSeconds']} s"
        frees = "" if quota["freesInSeconds"] is None else f", frees in {quota['freesInSeconds']:g} s"
        parts.append(f"{quota['left']:g} of {quota['most']:g} left {span}{frees}")
    if rule["part"] == "failed" and "approvedBy" in rule:
        parts.append(f"{rule['approvedBy']} must approve")
    for mark in rule.get("session", ()):
        ago = mark["allowedSecondsAgo"]
        parts.append(f"{mark['tool']} " + ("not allowed yet" if ago is None else f"allowed {ago:g} s ago"))
    return "; ".join(parts)


def _value(seen: dict[str, Any]) -> str:
    if "value" not in seen:
        return "(not given)"
    text = json.dumps(seen["value"], ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _words(part: str) -> str:
    return part.replace("_", " ")


def _drafts(file: BinaryIO) -> list[Any]:
    try:
        given = json.load(file)
    except ValueError as error:
        raise click.ClickException(f"{file.name}: is not JSON ({error})") from None
    return given if isinstance(given, list) else [given]
