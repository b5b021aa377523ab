"""What applying a set would change, policy by policy and value by value: for terminals, programs and pull requests."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from app.model.policies import Policy
from app.model.policy_sets import PolicyChange
from app.model.text import with_hidden_shown
from app.policy_files.policy_file import plain

_MARKS = {"created": "+", "updated": "~", "deleted": "-"}
_encode = msgspec.json.encode
COMMENT_LENGTH = 30_000
"""The most characters of the diff in a comment, and of the text around it."""


class ValueChange(Struct, frozen=True):
    """A changed value of a policy, as JSON; None if there is none."""

    path: str
    before: str | None
    after: str | None


class PolicyDifference(Struct, frozen=True):
    """A policy that applying would create, update or delete, or that stays although no file has it (`kept`).

    policy_id: None if it is to be created.
    """

    kind: str
    name: str
    policy_id: str | None
    values: list[ValueChange]


class Difference(Struct, frozen=True):
    """What applying one file would change. unlisted: existing policies that are not in the file, and stay."""

    owner: str
    file: str
    policies: list[PolicyDifference]
    unlisted: list[str]

    @property
    def is_any(self) -> bool:
        return bool(self.policies)


def compare(owner: str, file: str, changes: Iterable[PolicyChange], listed: int) -> Difference:
    """listed: how many entries the file has; changes after that many concern policies that it does not have."""
    together = list(changes)
    unlisted = [change.policy.name for change in together[listed:] if change.kind == "kept"]
    return Difference(owner, file, [_difference(change) for change in together if change.kind != "kept"], unlisted)


def as_text(differences: Sequence[Difference]) -> Iterator[str]:
    """Lines for a terminal. Nothing in a policy can move the cursor or reorder a line."""
    for each in differences:
        if each.is_any or each.unlisted:
            yield with_hidden_shown(f"{each.owner} ({each.file})")
        for policy in each.policies:
            yield from (f"  {line}" for line in _policy_lines(policy))
        yield from (f'    policy "{with_hidden_shown(name)}" is not in the file and stays' for name in each.unlisted)
    yield _summary(differences)


def as_markdown(differences: Sequence[Difference]) -> Iterator[str]:
    """The same as a comment on a pull request, shortened to fit, since a comment holds 65,536 characters."""
    yield "### Policies"
    yield ""
    changing = [each for each in differences if each.is_any]
    for each in changing:
        yield f"**{as_code(each.owner)}** ({as_code(each.file)})"
        yield ""
        yield "````diff"
        lines = (line for policy in each.policies for line in _policy_lines(policy))
        shown = (line.replace("~ ", "! ", 1) if line.startswith("~ ") else line for line in lines)
        yield from up_to(COMMENT_LENGTH // len(changing), shown)
        yield "````"
        yield ""
    yield _summary(differences)


def up_to(most: int, lines: Iterable[str]) -> Iterator[str]:
    """The first lines, up to `most` characters in all, and how many lines are left out."""
    left, more = most, 0
    for line in lines:
        left -= len(line) + 1
        if left >= 0:
            yield line
        more += left < 0
    if more:
        yield f"… and {more:,} line{'s' if more > 1 else ''} more"


def as_code(text: str) -> str:
    """A string as literal Markdown text: it produces no markup, and mentions nobody."""
    shown = with_hidden_shown(text)
    return f"<code>{''.join(each if each.isalnum() or each == ' ' else f'&#{ord(each)};' for each in shown)}</code>"


def _summary(differences: Sequence[Difference]) -> str:
    kinds = [policy.kind for each in differences for policy in each.policies]
    if not kinds:
        return "Nothing changes."
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in _MARKS if kind in kinds)


def _policy_lines(policy: PolicyDifference) -> Iterator[str]:
    yield f'{_MARKS[policy.kind]} policy "{with_hidden_shown(policy.name)}"'
    width = max((len(each.path) for each in policy.values), default=0)
    for each in policy.values:
        was, now = (None if text is None else with_hidden_shown(text) for text in (each.before, each.after))
        if policy.kind != "updated":
            told = was if now is None else now
        else:
            told = f"{was} → {now}" if None not in (was, now) else f"+ {now}" if was is None else f"- {was}"
        yield f"    {with_hidden_shown(each.path).ljust(width)}  {told}"


def _difference(change: PolicyChange) -> PolicyDifference:
    was, now = _values(change.before), _values(change.after)
    paths = dict.fromkeys([*was, *now])
    if not was or not now:
        paths.pop("name")  # already in the line above
    values = [ValueChange(path, was.get(path), now.get(path)) for path in paths if was.get(path) != now.get(path)]
    return PolicyDifference(change.kind, change.policy.name, change.policy.id or None, values)


def _values(policy: Policy | None) -> dict[str, str]:
    """Each value of the policy by its path, as JSON."""
    if policy is None:
        return {}
    return dict(_leaves("", plain(policy)))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for index, inner in enumerate(value):
            yield from _leaves(f"{path}[{index}]", inner)
    else:  # a list of names is compared as a whole
        yield path, _encode(value).decode()
