"""`remit approvals …`: decide waiting approvals with one's own key, over the API."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import click

from app.cli.api import LISTENING, URL_OPTION, Api, over_http
from app.cli.groups import CommandGroup
from app.cli.option_types import Uuid, WholeNumber
from app.cli.options import JSON, Option, filters
from app.cli.output import Shown, print_json, print_record, print_table, shows
from app.model.actors import Via
from app.model.approvals import NOT_APPROVED, SAYS, ApprovalFilters, ApprovalStatus
from app.model.catalog import Consequence
from app.model.text import with_hidden_shown
from app.model.usual import GRAVE

NOTE = click.option("--note", default="", help="A note for the log and for the caller that asked.")
IDS = click.argument("approval_ids", nargs=-1, required=True, type=Uuid("remit approvals list"))
_SESSION_SHOWN = 40
_UNKNOWN_BEFORE = {LISTENING, "lost"}
"""Events of the stream before which others may have happened that it does not tell."""


_ORIGINS = {"request": "the user's request", "approved_before": "approved before", "unverified": "unverified"}


@click.group(cls=CommandGroup)
def approvals() -> None:
    """Decide calls that wait for a person. Needs REMIT_API_KEY, a key of your own with the scope `approve`."""


@approvals.command("list")
@URL_OPTION
@filters(ApprovalFilters, agent_id=Option("--agent", help="Only those of the agent with this id or alias."))
@shows
def list_approvals(url: str, query: dict[str, str]) -> Shown:
    """List approvals, newest first; those of one plan or session together, the calls of a plan in their order."""
    found = _api(url).get("/v1/approvals", **query)
    yield found
    rows = [
        (each["id"], each["status"], each["expiresAt"], _session(each), _place(each), visible(each["toolName"]))
        for each in _together(found)
    ]
    titles = ("ID", "STATUS", "EXPIRES", "SESSION", "CALL", "TOOL")
    print_table(titles, rows, "Nothing is waiting; escalated decisions create approvals")


def _together(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The approvals by session and, within it, by plan, each where its newest one stands."""
    groups = dict[str, dict[str, list[dict[str, Any]]]]()
    for each in found:
        plan = each.get("plan", {"id": each["id"]})["id"]
        groups.setdefault(_session(each) or plan, {}).setdefault(plan, []).append(each)
    plans = (plan for session in groups.values() for plan in session.values())
    return [each for plan in plans for each in sorted(plan, key=lambda each: each.get("plan", {"index": 0})["index"])]


def _session(approval: dict[str, Any]) -> str:
    session = approval["context"].get("session", "")
    return visible(session)[:_SESSION_SHOWN] if isinstance(session, str) else ""


def _place(approval: dict[str, Any]) -> str:
    """The call's place in its plan, such as `2 of 3`."""
    return f"{approval['plan']['index'] + 1} of {approval['plan']['calls']}" if "plan" in approval else ""


@approvals.command("show")
@URL_OPTION
@click.argument("approval_id", type=Uuid("remit approvals list"))
@shows
def show_approval(url: str, approval_id: str) -> Shown:
    """Print one approval with the whole call."""
    api = _api(url)
    found = api.get(f"/v1/approvals/{approval_id}")
    yield found
    print_call(found)
    print_unusual(api, approval_id)


@approvals.command("approve")
@URL_OPTION
@IDS
@NOTE
@click.option("--uses", type=WholeNumber(1), help="For how many such calls, at most as many as the rule allows.")
@click.option(
    "--valid-seconds", type=WholeNumber(60), help="How long it can be used, at most as long as the rule allows."
)
@click.option("--accept-hidden", is_flag=True, help="Approve although some of the call is redacted or shortened.")
@JSON
def approve(
    url: str,
    approval_ids: tuple[str, ...],
    note: str,
    uses: int | None,
    valid_seconds: int | None,
    accept_hidden: bool,
    as_json: bool,
) -> None:
    """Approve calls, each with exactly its arguments."""
    if len(approval_ids) > 1 and (uses or valid_seconds or accept_hidden):
        raise click.UsageError("--uses, --valid-seconds and --accept-hidden are for a single approval")
    limits = {"uses": uses, "validSeconds": valid_seconds}
    body = {"note": note, "acceptHidden": accept_hidden} | {name: each for name, each in limits.items() if each}
    _decide(url, approval_ids, "approve", body, as_json=as_json)


@approvals.command("deny")
@URL_OPTION
@IDS
@NOTE
@JSON
def deny(url: str, approval_ids: tuple[str, ...], note: str, as_json: bool) -> None:
    """Deny calls."""
    _decide(url, approval_ids, "deny", {"note": note}, as_json=as_json)


@approvals.command("cancel")
@URL_OPTION
@click.argument("approval_id", type=Uuid("remit approvals list"))
@NOTE
@JSON
def cancel(url: str, approval_id: str, note: str, as_json: bool) -> None:
    """Withdraw a request made with this key, or what was approved and is not used yet, if you may decide it."""
    _decide(url, (approval_id,), "cancel", {"note": note}, as_json=as_json)


@approvals.command("watch")
@URL_OPTION
@click.option("--json", "as_json", is_flag=True, help="Ask nothing; print each change as a line of JSON.")
def watch(url: str, as_json: bool) -> None:
    """Show each new request and ask: y = yes, n = no, note = write a note first, s = decide later."""
    api = _api(url)
    with suppress(KeyboardInterrupt, click.Abort):
        if as_json:
            _print_changes(api)
        else:
            _ask_about_each(api)
        raise click.ClickException("The service has ended the stream; start this again, and it shows what is open")


def _print_changes(api: Api) -> None:
    """Print every open request, then every change of an approval, as JSON lines."""
    for name, data in api.events("/v1/approvals/stream"):
        waiting = _pending(api) if name in _UNKNOWN_BEFORE else [json.loads(data)]
        for each in waiting:
            click.echo(json.dumps(each))


def _ask_about_each(api: Api) -> None:
    shown = set[str]()
    for name, data in api.events("/v1/approvals/stream"):
        approval = json.loads(data or b"{}")
        if name in _UNKNOWN_BEFORE:  # requests made before the stream goes on are listed, so none is missed
            for waiting in [each for each in _pending(api) if each["id"] not in shown]:
                shown.add(waiting["id"])
                _ask(api, waiting)
            click.echo("listening; Ctrl-C ends it", err=True)
        elif name == ApprovalStatus.PENDING and approval["status"] == ApprovalStatus.PENDING:
            if approval["id"] not in shown:
                shown.add(approval["id"])
                _ask(api, approval)
        elif name != ApprovalStatus.PENDING:
            click.echo(f"{approval['id']} is {approval['status']}")


def _pending(api: Api) -> list[dict[str, Any]]:
    """The approvals that wait, oldest first."""
    return list(reversed(api.get("/v1/approvals", status="pending")))


def _decide(url: str, approval_ids: tuple[str, ...], verb: str, body: dict[str, Any], *, as_json: bool) -> None:
    """Send the verdict and print what became of each approval. Exit code 1 unless all of several were decided."""
    api = _api(url)
    if len(approval_ids) == 1:
        found = api.call("POST", f"/v1/approvals/{approval_ids[0]}/{verb}", body)
        results = [{"id": found["id"], "approval": found}]
    else:
        ids = dict.fromkeys(approval_ids)
        seen = [{"id": each, "version": api.get(f"/v1/approvals/{each}")["version"]} for each in ids]
        together = {"approvals": seen, "decision": verb, "note": body["note"]}
        found = results = api.call("POST", "/v1/approvals/decide", together)
    if as_json:
        print_json(found)
    for each in () if as_json else results:
        was = f"is {each['approval']['status']}" if "approval" in each else f"stays: {each['error']['message']}"
        click.echo(f"approval {each['id']} {was}")
    if any("error" in each for each in results):
        raise SystemExit(1)


def _ask(api: Api, approval: dict[str, Any]) -> None:
    """Show one call and send the person's verdict; if somebody else has decided it meanwhile, say so and go on."""
    click.echo()
    print_call(approval)
    print_unusual(api, approval["id"])
    note = ""
    while True:
        said = click.prompt("Allow this call? [y/n/note/s]", default="s", show_default=False).strip()
        match said.lower():
            case "y" | "yes" | "n" | "no":
                break
            case "s" | "":
                return
            case "note":
                note = click.prompt("Note")
            case _:
                note = said
                click.echo("kept as the note; y or n?")
    verdict = "approve" if said.lower().startswith("y") else "deny"
    body: dict[str, Any] = {"note": note}
    if verdict == "approve" and approval["hides"]:
        body["acceptHidden"] = click.confirm("Some of the call is redacted or shortened. Approve what you cannot see?")
    try:
        found = api.call("POST", f"/v1/approvals/{approval['id']}/{verdict}", body, if_match=f'"{approval["version"]}"')
    except click.ClickException as error:
        click.echo(error.format_message(), err=True)
        return
    click.echo(f"approval {found['id']} is {found['status']}")


def _api(url: str) -> Api:
    return over_http(
        url,
        "an approver's. Approvals are decided by people, each with a key of their own: "
        "`remit keys create --name ann --scope approve --scope view` creates one",
    )


def print_call(approval: dict[str, Any]) -> None:
    """Print the whole call. Nothing in it can move the cursor, colour a line or imitate another field."""
    status = approval["status"]
    fields = [
        ("approval", approval["id"]),
        ("status", status),
        ("agent", _called(approval, "agent")),
        ("tool", visible(approval["toolName"])),
        *_consequence(approval),
        ("action", visible(approval["action"])),
        ("reason", visible(approval["reason"])),
        ("policy", _called(approval, "policy")),
        ("asked by", f"{_named(approval['requestedBy'])}, {approval['requests']} times"),
        ("needs", visible(approval["needs"])),
        *_progress(approval),
        ("expires", approval["expiresAt"]),
        *_plan(approval),
    ]
    fields += [("said", f"{each['verdict']} by {_named(each['by'])}: {visible(each['note'])}")
               for each in approval["approvals"]]  # fmt: skip
    print_record(fields)
    bound = set(approval["boundContext"])
    said = {name: value for part in (approval["accessRequest"] or {}).values() for name, value in part.items()}
    parts = {"parameters": approval["parameters"], "context": approval["context"]}
    if approval["agentSays"]:
        parts[f"{SAYS.lower()} ({NOT_APPROVED})"] = approval["agentSays"]
    for title, values in (parts | ({"requested with": said} if said else {})).items():
        click.echo(f"{title}:")
        for name, value in values.items():
            mark = " (bound)" if name in bound and title == "context" else ""
            click.echo(f"  {visible(name)}{mark} = {visible(json.dumps(value, ensure_ascii=False))}")
    _print_records(approval)
    _print_commands(approval)
    _print_origins(approval)


def _print_records(approval: dict[str, Any]) -> None:
    """Print what rules read of records when the call was requested."""
    if approval["records"]:
        click.echo("what records say:")
    for each in approval["records"]:
        said = "nothing" if each["fields"] is None else json.dumps(each["fields"], ensure_ascii=False)
        click.echo(f"  {visible(each['of'])}: {visible(said)}")


def _print_commands(approval: dict[str, Any]) -> None:
    """Print what a shell line runs, command by command."""
    if approval["commands"]:
        click.echo("what the line runs:")
    for each in approval["commands"]:
        click.echo(f"  {visible(each['text'])}: {'may run' if each['passed'] else visible(each['why'])}")


def _print_origins(approval: dict[str, Any]) -> None:
    """Print where each value came from when the call was requested."""
    if not approval["values"]:
        return
    click.echo("where the values come from:")
    for each in approval["values"]:
        click.echo(f"  {visible(each['path'])}: {_ORIGINS.get(each['origin'], visible(each['origin']))}")
        if beside := each.get("notInRequest"):
            click.echo(f"    not in the request: {visible(', '.join(beside))}")


def print_unusual(api: Api, approval_id: str) -> None:
    """Print what is unusual about the call; or why that is not known, such as to the runtime that asked."""
    try:
        usual = api.get(f"/v1/approvals/{approval_id}/usual")
    except click.ClickException as error:
        click.echo(f"not compared with other calls: {error.format_message()}")
        return
    if not usual["calls"]:
        click.echo("this agent was never allowed to call this tool before")
        return
    click.echo(f"compared with the {usual['calls']} latest allowed calls:")
    found = [each for each in usual["values"] if "unusual" in each]
    unusual = sorted(found, key=lambda each: each["difference"] not in GRAVE)
    for each in unusual:
        mark = "!" if each["difference"] in GRAVE else " "
        click.echo(f"{mark} {visible(each['path'])}: {visible(each['unusual'])}")
    if usual["omitted"]:
        click.echo(f"  {usual['omitted']} more values were not compared")
    elif not unusual:
        click.echo("  nothing is unusual")


def _consequence(approval: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if said := approval["consequence"]:
        yield "consequence", f"{said}: {Consequence(said).in_words}"


def _plan(approval: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if plan := approval.get("plan"):
        yield "plan", f"call {plan['index'] + 1} of {plan['calls']}; `remit approvals list --plan-id {plan['id']}`"


def _progress(approval: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How many have approved, if several must, and how to be one of them, if that is not said yet."""
    if approval["required"] > 1:
        approved = [each for each in approval["approvals"] if each["verdict"] == ApprovalStatus.APPROVED]
        yield "approved by", f"{len(approved)} of {approval['required']}, each with a key of their own"
    if "fresh" in approval:
        yield "sign in", f"remit login --max-age {approval['fresh']}"
    elif "approvers" in approval:
        yield "sign in", "remit login"


def _called(approval: dict[str, Any], what: str) -> str:
    """The name and the id of its agent or policy; "-" if no policy asked."""
    name, known_as = approval[f"{what}Name"], approval[f"{what}Id"]
    return " · ".join(filter(None, (visible(name) if name else "", known_as))) or "-"


def _named(person: dict[str, Any]) -> str:
    """The name of who asked or decided and, if it was not with a key, how."""
    via = person.get("via", Via.KEY)
    return visible(person["name"]) + ("" if via == Via.KEY else f" ({via})")


def visible(text: str) -> str:
    """The string on one line; every invisible or cursor-moving character is shown as its code."""
    return with_hidden_shown(text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r"))
