"""What applying policy files means for calls, and files compared with other files instead of with a store."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from app.cli.policy_flips import FileChange
from app.model.comparisons import PolicyComparison, PolicyFlip
from app.model.policies import WORKSPACE, Owner, Policy
from app.model.policy_sets import PolicyChange, PolicySet, settle
from app.model.text import counted, with_hidden_shown
from app.policy_tools.compare.meaning import compare_meaning, compare_shared
from app.policy_tools.files.comparison import COMMENT_LENGTH, as_code, compare, up_to

if TYPE_CHECKING:
    from app.cli.policy_sets import Sets
    from app.policy_tools.files.policy_file import ReadFile

_LATER_MS = 1 << 52

_Both = tuple[list[Policy], list[Policy]]


def against_files(files: "Sequence[ReadFile]", others: "Sequence[ReadFile]") -> list[FileChange]:
    """What differs in the files from other files, as if the others were stored; an owner without a file has none."""
    from app.policy_tools.files.test_run import policies_in

    stored = {read.file.owner: read for read in others}
    changes = []
    for read in files:
        other = stored.pop(read.file.owner, None)
        held = [] if other is None else policies_in(other)
        changes.append(_file_change(read, held, settle(held, read.file.policies, _owner(read), prune=True)))
    for other in stored.values():
        held = policies_in(other)
        changes.append(_file_change(other, held, settle(held, [], _owner(other), prune=True)))
    return changes


def _file_change(read: "ReadFile", held: list[Policy], changes: list[PolicyChange]) -> FileChange:
    difference = compare(read.file.owner, str(read.path), changes, len(changes))
    difference = replace(difference, policies=[replace(each, policy_id=None) for each in difference.policies])
    return FileChange(read, _owner(read), PolicySet("", held), changes, difference)


def _owner(read: "ReadFile") -> Owner:
    return Owner(read.file.agent_ref, read.file.group_name)


def meanings(files: Sequence[FileChange], sets: "Sets | None") -> dict[str, PolicyComparison]:
    """What each file that changes something means, by owner; all files are applied at once.

    sets: has the policies of owners without a file; None if there are none. An agent's are judged with those of its
    groups and of the workspace, the others for agents that may have any others.
    """
    known = {file.owner: _both_sides(file.changes) for file in files}
    groups = {} if sets is None else {agent_id: agent.groups for agent_id, agent in sets.agents()}
    found = {}
    for file in files:
        if not file.difference.is_any:
            continue
        others = [] if file.owner == WORKSPACE else [WORKSPACE]
        if file.owner.agent_id is not None:
            own = groups.get(file.owner.agent_id, file.read.file.new_agent.groups)
            others += [Owner(group=group) for group in own]
        sides = [_both_sides(file.changes), *(_policies(owner, known, sets) for owner in others)]
        before, after = ([policy for side in sides for policy in side[place]] for place in range(2))
        compared = compare_shared if file.owner.agent_id is None else compare_meaning
        found[file.difference.owner] = compared(before, after)
    return found


def _policies(owner: Owner, known: Mapping[Owner, _Both], sets: "Sets | None") -> _Both:
    if owner in known:
        return known[owner]
    held = [] if sets is None else sets.get(owner).policies
    return held, held


def _both_sides(changes: Sequence[PolicyChange]) -> _Both:
    """The policies before and after; new ones are the youngest."""
    after = [each.after for each in changes if each.after is not None]
    named = [
        policy if policy.id else replace(policy, id=f"new {place}", created_ms=_LATER_MS + place)
        for place, policy in enumerate(after)
    ]
    return [each.before for each in changes if each.before is not None], named


def terminal_lines(meaning: PolicyComparison) -> Iterator[str]:
    """Lines for a terminal. Nothing in a policy can move the cursor or reorder a line."""
    printed: set[tuple[str, bool, bytes]] = set()
    for flip in (*meaning.flips, *meaning.limits):
        call = flip.tool, flip.is_loosened, msgspec.json.encode(flip.parameters)
        yield from map(with_hidden_shown, _flip_lines(flip, is_again=call in printed))
        printed.add(call)
    is_any = bool(printed)
    if meaning.complete:
        nothing = "Nothing else changes" if is_any else "Nothing changes"
        yield f"{nothing}: {counted(meaning.tools, 'kind')} of tools, {meaning.classes:,} classes of calls. Complete."
        return
    tools: dict[str, list[str]] = {}
    for doubt in meaning.because:
        tools.setdefault(doubt.reason, []).append(doubt.tool)
    why = "; ".join(f"{reason} ({_few(names)})" for reason, names in islice(tools.items(), _MOST_REASONS))
    change = "No other change" if is_any else "No change"
    yield with_hidden_shown(f"{change} in {counted(meaning.tried, 'call')}; not a proof: {why}")


def markdown_lines(meanings_by_owner: Mapping[str, PolicyComparison]) -> Iterator[str]:
    """Lines for a comment on a pull request."""
    for owner, meaning in meanings_by_owner.items():
        yield ""
        yield f"**{as_code(owner)}**, in meaning"
        yield ""
        yield "````"
        yield from up_to(COMMENT_LENGTH // (2 * len(meanings_by_owner)), terminal_lines(meaning))
        yield "````"


_MOST_REASONS = 4
_MOST_TOOLS = 3
_LONGEST = 400
_USUAL = ("session", "request")


def _few(names: Sequence[str]) -> str:
    more = len(names) - _MOST_TOOLS
    return ", ".join(names[:_MOST_TOOLS]) + (f" and {more} more" if more > 0 else "")


def _flip_lines(flip: PolicyFlip, *, is_again: bool) -> Iterator[str]:
    """is_again: whether a flip with these parameters and in this direction was printed before."""
    context = {name: each for name, each in flip.context.items() if name not in _USUAL}
    beside = f" context {as_json(context)}" if context else ""
    more = f", as {len(flip.like)} others" if len(flip.like) > 1 else f", as {flip.like[0]}" if flip.like else ""
    at = f", at {flip.at}" if flip.at is not None else ""
    given = "the same" if is_again else as_json(flip.parameters)
    yield f"{flip.was} → {flip.becomes}  {flip.tool} {given}{beside}{more}{at}"
    yield from (f"  while      {limit}" for limit in flip.limits)
    yield f"  before     {flip.before}"
    yield f"  after      {flip.after}"


def as_json(value: dict[str, Any]) -> str:
    """The values of a call, cut if they are long."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
