"""`remit policy propose`: policies for an agent, made from its log and the marks of its tools."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.api import Api, on_api
from app.cli.find import find_agent, find_key
from app.cli.option_types import Time
from app.cli.options import JSON, NAME, require_span
from app.cli.output import print_json, result_of
from app.model.ids import uuid_of
from app.model.text import counted, with_hidden_shown
from app.model.times import rfc3339

if TYPE_CHECKING:
    from app.model.proposals import Proposal, ProposedChange, RuleEvidence

_NAMED = 3
_PERCENT = 100


@click.command("propose")
@on_api
@click.argument("agent")
@click.option("--from", "from_", type=Time(), help="The start of the span; 30 days before --to if left out.")
@click.option("--to", type=Time(end=True), help="The end of the span; now if left out. A date means its end.")
@click.option("--key", "keys", multiple=True, help="Only calls with this API key: its id, its beginning or its name.")
@click.option("--user", "users", multiple=True, type=NAME, help="Only calls with this context.user.")
@click.option("--session", "sessions", multiple=True, type=NAME, help="Only calls with this context.session.")
@click.option("--exclude-session", "excluded", multiple=True, type=NAME, help="No calls with this context.session.")
@click.option(
    "--reads",
    type=click.Choice(["seen", "all"]),
    default="seen",
    show_default=True,
    help="Which tools that change nothing are granted: those in the log, or all of the catalogue.",
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Write the files in this folder.")
@click.option("--shadow", is_flag=True, help="Write policies that change no answer, and count where they would.")
@click.option("--explain", "explained", metavar="RULE", help="Only print the calls of a rule, or of a tool's rules.")
@JSON
def propose_policies(
    api: Api, agent: str, from_: int | None, to: int | None, keys: tuple[str, ...], users: tuple[str, ...],
    sessions: tuple[str, ...], excluded: tuple[str, ...], reads: str, out: Path | None, shadow: bool,
    explained: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Propose policies for AGENT from what it was allowed to do, and from the marks of its tools.

    The options select the sessions that you vouch for. Nothing is applied: --out writes agents/AGENT.yaml, in which
    each rule says what it was made from, and agents/AGENT.test.yaml; files with these names are replaced.
    """
    require_span(from_, to)
    found = find_agent(api, agent)
    wanted = {
        "keyId": [uuid_of(each) or find_key(api, each)["id"] for each in keys],
        "user": list(users),
        "session": list(sessions),
        "excludeSession": list(excluded),
    }
    span = {"from": None if from_ is None else rfc3339(from_), "to": None if to is None else rfc3339(to)}
    body = {"agent_id": found["id"], "filter": wanted, "reads": reads}
    proposal = _proposal(api, body | {name: text for name, text in span.items() if text is not None})
    if explained is not None:
        _explain(proposal, explained, as_json=as_json)
        return
    if as_json:
        print_json(proposal)
    else:
        click.echo("\n".join(map(with_hidden_shown, _lines(proposal))))
    if out is not None and proposal.changes != []:
        for line in _write(api, found, proposal, out, shadow=shadow):
            click.echo(line, err=as_json)


def _proposal(api: Api, asked: dict[str, Any]) -> "Proposal":
    from app.model.proposals import Proposal, ProposalLine

    found: Proposal = result_of("proposing", api.lines("/v1/policies/propose", asked), ProposalLine, "proposal")
    return found


def _lines(proposal: "Proposal") -> "Iterator[str]":
    learned = proposal.learned
    calls, tools = counted(learned.calls, "call"), sum(each.calls > 0 for each in proposal.tools)
    # Beside changes, the proposal has only the tools that they are about.
    called = f", {counted(tools, 'tool')}" if proposal.changes is None else ""
    yield f"{calls} of {counted(learned.units, 'user')}{called}" + _not_learned(proposal)
    if proposal.changes is not None:
        yield from _changes(proposal.changes)
    elif proposal.tools:
        yield "  " + " · ".join(_uses(proposal))
    for each in proposal.tools:
        if each.why is not None:
            yield f"    {each.name} asks: {each.why}"
    left_out = [(each, value) for each in proposal.evidence for value in each.left_out]
    if left_out:
        evidence, value = left_out[0]
        words = (_tool_of(proposal, evidence), evidence.path.partition("parameters.")[2], value.value)
        many, which = counted(len(left_out), "value"), " ".join(filter(None, words))
        yield f"Left out, because too few users did it: {many}, e.g. {which} (entry {value.entry})"
    if proposal.unseen is not None:
        share = _PERCENT * proposal.unseen.escalated / max(1, proposal.unseen.total)
        denied = _or_none(proposal.unseen.denied)
        yield f"Users it has not seen (5 folds): {share:.1f} % of calls would ask, {denied} denied."
    replay, hostile = proposal.replay, proposal.hostile
    varied = (
        f" Hostile variations of these calls, {hostile.kinds} kinds, {hostile.calls}: "
        f"{_or_none(hostile.allowed, 'passes', 'pass')}."
    )
    yield (
        f"Replayed: {replay.allowed} allowed, {replay.escalated} asked, {replay.denied} denied."
        f"{varied if hostile.calls else ''}"
    )
    yield from (f"  passes: {each.tool}, {each.kind}: {each.parameters}" for each in hostile.examples)
    yield from (f"Warning: {each}" for each in proposal.warnings)


def _changes(changes: "Sequence[ProposedChange]") -> Iterator[str]:
    """The changes of the agent's own policies, each with the calls that it would answer otherwise."""
    from app.cli.policy_meaning import as_json

    if not changes:
        yield "  Its policies need no change: nothing granted is unused, and people approve nothing again and again."
    for each in changes:
        why = (
            f"{counted(each.calls, 'call')} of {counted(each.units, 'user')} approved"
            if each.calls
            else "unused for 90 days"
        )
        yield f"  {each.kind} {each.tool}: {why}"
        for flip in (*each.meaning.flips, *each.meaning.limits):
            yield f"    {flip.was} → {flip.becomes}  {flip.tool} {as_json(flip.parameters)}"
        for doubt in each.meaning.because:
            yield f"    not a proof: {doubt.reason}"


def _not_learned(proposal: "Proposal") -> str:
    learned = proposal.learned
    said = (
        [f"{counted(learned.failed, 'call')} failed and {_was(learned.failed)} not learned"] if learned.failed else []
    )
    if learned.sessions_left_out:
        said.append(
            f"{counted(learned.sessions_left_out, 'session')} with {counted(learned.calls_left_out, 'call')} "
            f"{_was(learned.sessions_left_out)} left out: a person denied a call there, or a breaker tripped"
        )
    return "".join(f"; {each}" for each in said) + "."


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _or_none(count: int, one: str = "is", many: str = "are") -> str:
    return f"none {one}" if count == 0 else f"{count} {one if count == 1 else many}"


def _uses(proposal: "Proposal") -> Iterator[str]:
    """Tools by what the proposal does about them."""
    words = {
        "free": "free",
        "named": "if the user named it",
        "bounded": "bounded",
        "asks": "ask",
        "unseen": "never seen, ask",
        "unknown": "not in the catalogue, denied",
    }
    for use, said in words.items():
        names = [each.name for each in proposal.tools if each.use == use]
        if names:
            more = "" if use in ("free", "unseen") else f": {', '.join(names)}"
            yield f"{said} {counted(len(names), 'tool')}{more}"


def _explain(proposal: "Proposal", called: str, *, as_json: bool) -> None:
    """Print what the rules at this path, or of this tool, were made from."""
    found = [
        each
        for each in proposal.evidence
        if each.path == called
        or each.path.startswith((f"{called}.", f"{called}["))
        or _tool_of(proposal, each) == called
    ]
    if not found:
        paths = [each.path for each in proposal.evidence if each.path.count(".") == 1]
        raise click.ClickException(f'No rule is called "{called}"; name a tool or one of {", ".join(paths)}')
    if as_json:
        print_json(found)
        return
    for each in found:
        click.echo(with_hidden_shown(f"{each.path}: {each.form}, {_made_from(each)}"))
        for said, values in (("", each.examples), ("left out  ", each.left_out)):
            for value in values:
                line = f"  {said}{value.value}  {counted(value.units, 'user')}, e.g. entry {value.entry}"
                click.echo(with_hidden_shown(line))


def _made_from(evidence: "RuleEvidence") -> str:
    return f"{counted(evidence.calls, 'call')}, {counted(evidence.units, 'user')}"


def _tool_of(proposal: "Proposal", evidence: "RuleEvidence") -> str:
    """The tool that the rule is about; "" for a list of tools."""
    policy, rule = (int(each.partition("[")[2].rstrip("]")) for each in evidence.path.split(".")[:2])
    tools = proposal.policies[policy]["rules"][rule]["tools"]
    return str(tools[0]) if len(tools) == 1 else ""


def _write(api: Api, agent: dict[str, Any], proposal: "Proposal", out: Path, *, shadow: bool) -> Iterator[str]:
    """Write the files; yields what to say."""
    if shadow and proposal.changes is not None:
        message = (
            "changes of policies that the agent has are not written in shadow mode; --replay of `remit policy diff`"
        )
        raise click.ClickException(f"{message} says what they would have changed")
    from msgspec.structs import replace

    from app.policy_tools.files.policy_file import FileAgent, as_owner
    from app.policy_tools.files.rendering import as_yaml, file_name
    from app.propose.proposed_file import as_commented_yaml, in_shadow

    owner = FileAgent.of(agent)
    if agent["alias"] is None and len(api.get("/v1/agents", name=agent["name"])) > 1:
        owner = replace(owner, name=agent["id"])
    folder = out / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    path, test_path = (folder / f"{file_name(owner.called)}{end}" for end in (".yaml", ".test.yaml"))
    policies = in_shadow(proposal.policies, proposal.tools) if shadow else proposal.policies
    text = as_commented_yaml(as_yaml({**as_owner(owner), "policies": policies}), proposal.evidence, proposal.tools)
    path.write_text(text)
    rules = sum(len(policy["rules"]) for policy in policies)
    size = f"{counted(rules, 'rule')}, {len(text.encode()) / 1000:.1f} kB"
    if shadow:
        yield f"Wrote {path} ({size}). Next: remit policy apply {out}, and later: remit policies divergence POLICY"
        return
    tests = {name: each for name, each in (("tests", proposal.tests), ("never", proposal.never)) if each}
    and_tests = ""
    if tests:
        test_path.write_text(as_yaml({"agent": owner.called, **tests}))
        examples, claims = counted(len(proposal.tests), "example"), counted(len(proposal.never), "claim")
        and_tests = f" and {test_path} ({examples}, {claims})"
    yield f"Wrote {path} ({size}){and_tests}."
    yield f"Next: remit policy diff {out} --prune --meaning, then: remit policy apply {out} --prune"
