"""The changes that applying a set would make, by policy and value: for terminals, programs and pull requests."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from app.model.policies import Policy
from app.model.policy_sets import PolicyChange
from app.model.text import with_hidden_shown
from app.policy_tools.files.policy_file import plain

_MARKS = {"created": "+", "updated": "~", "deleted": "-"}
_encode = msgspec.json.encode
COMMENT_LENGTH = 30_000
"""The most characters of the diff in a comment, and of the text around it."""


class ValueChange(Struct, frozen=True):
    """A changed value of a policy, as JSON. before, after: None if the value is missing on that side."""

    path: str
    before: str | None
    after: str | None


class PolicyDifference(Struct, frozen=True):
    """A policy that applying would create, update or delete, or that stays although no file has it (`kept`).

    policy_id: None for a policy to be created.
    """

    kind: str
    name: str
    policy_id: str | None
    values: list[ValueChange]


class Difference(Struct, frozen=True):
    """The changes that applying one file would make. unlisted: existing policies that are not in the file, and stay."""

    owner: str
    file: str
    policies: list[PolicyDifference]
    unlisted: list[str]

    @property
    def is_any(self) -> bool:
        return bool(self.policies)


def compare(owner: str, file: str, changes: Iterable[PolicyChange], listed: int) -> Difference:
    """The difference. listed: how many entries the file has; later changes concern policies that it does not have."""
    all_changes = list(changes)
    unlisted = [change.policy.name for change in all_changes[listed:] if change.kind == "kept"]
    return Difference(owner, file, [_difference(change) for change in all_changes if change.kind != "kept"], unlisted)


def as_text(differences: Sequence[Difference]) -> Iterator[str]:
    """Lines for a terminal. Nothing in a policy can move the cursor or reorder a line."""
    for difference in differences:
        if difference.is_any or difference.unlisted:
            yield with_hidden_shown(f"{difference.owner} ({difference.file})")
        for policy in difference.policies:
            yield from (f"  {line}" for line in _policy_lines(policy))
        for name in difference.unlisted:
            yield f'    policy "{with_hidden_shown(name)}" is not in the file and stays'
    yield _summary(differences)


def as_markdown(differences: Sequence[Difference]) -> Iterator[str]:
    """Lines for a comment on a pull request, shortened to fit its limit of 65,536 characters."""
    yield "### Policies"
    yield ""
    changing = [difference for difference in differences if difference.is_any]
    for difference in changing:
        yield f"**{as_code(difference.owner)}** ({as_code(difference.file)})"
        yield ""
        yield "````diff"
        lines = (line for policy in difference.policies for line in _policy_lines(policy))
        shown = (line.replace("~ ", "! ", 1) if line.startswith("~ ") else line for line in lines)
        yield from up_to(COMMENT_LENGTH // len(changing), shown)
        yield "````"
        yield ""
    yield _summary(differences)


def up_to(most: int, lines: Iterable[str]) -> Iterator[str]:
    """The first lines, up to `most` characters in all, and a line with the number of lines left out."""
    left, more = most, 0
    for line in lines:
        left -= len(line) + 1
        if left >= 0:
            yield line
        more += left < 0
    if more:
        yield f"… and {more:,} line{'s' if more > 1 else ''} more"


def as_code(text: str) -> str:
    """A string as literal Markdown text: it produces no markup and no mention of a user."""
    shown = with_hidden_shown(text)
    return f"<code>{''.join(each if each.isalnum() or each == ' ' else f'&#{ord(each)};' for each in shown)}</code>"


def _summary(differences: Sequence[Difference]) -> str:
    kinds = [policy.kind for difference in differences for policy in difference.policies]
    if not kinds:
        return "Nothing changes."
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in _MARKS if kind in kinds)


def _policy_lines(policy: PolicyDifference) -> Iterator[str]:
    yield f'{_MARKS[policy.kind]} policy "{with_hidden_shown(policy.name)}"'
    width = max((len(value.path) for value in policy.values), default=0)
    for value in policy.values:
        was, now = (None if text is None else with_hidden_shown(text) for text in (value.before, value.after))
        if policy.kind != "updated":
            shown = was if now is None else now
        else:
            shown = f"{was} → {now}" if None not in (was, now) else f"+ {now}" if was is None else f"- {was}"
        yield f"    {with_hidden_shown(value.path).ljust(width)}  {shown}"


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
