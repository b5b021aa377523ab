"""What a constraint requires of a value, in words, for people and models."""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, UnsetType

from app.language.file_kinds import words_of
from app.language.value_paths import ANYWHERE
from app.model.command_constraint import AllowedCommand, CommandConstraint, DeniedCommand, several
from app.model.constraints import Constraint, FromRequest, Operand
from app.model.meaning_constraints import PathConstraint
from app.pdp.clauses import clipped, listed
from app.pdp.constraints import IsSecret

_encode = msgspec.json.encode


def named_in_words(of: str, name: str, constraint: Constraint, is_secret: IsSecret) -> str:
    """The requirement on one named value. What is required of a secret is left out."""
    subject = f'{"context" if of == "context" else "parameter"} "{name}"'
    if is_secret(name):
        return f"{subject} must be what the policy says"
    asked = list(_constraint(constraint))
    if name == ANYWHERE:
        but = "" if isinstance(constraint.exempt, UnsetType) else f", except in {clipped(', '.join(constraint.exempt))}"
        return f"every text, number and name in the parameters {', '.join(asked)}{but}"
    if not asked:
        return f"{subject} {'may be missing' if constraint.required is False else 'must be given'}"
    verb = "" if asked[0].startswith(_VERBS) else "is "
    if constraint.required is False:
        asked.append("if given")
    return f"{subject} {verb}{', '.join(asked)}"


_VERBS = ("must ", "matches ", "does not ", "contains ")


def _constraint(constraint: Constraint) -> Iterator[str]:
    """Each field of a constraint that is given, except `required`."""
    if constraint.absent is True:
        yield "must not be given"
    if constraint.type is not UNSET:
        kinds = constraint.type if isinstance(constraint.type, list) else [constraint.type]
        yield f"of type {' or '.join(kinds)}"
    for text, members in (("one of", constraint.enum), ("none of", constraint.not_enum)):
        if isinstance(members, list):
            yield f"{text} {listed(members)}"
    for text, regex in (("matches", constraint.regex), ("does not match", constraint.not_regex)):
        if isinstance(regex, str):
            yield f"{text} {clipped(regex)}"
    if not isinstance(constraint.not_kind, UnsetType):
        yield f"does not hold any {' or '.join(constraint.not_kind)}"
    if not isinstance(constraint.contains, UnsetType):
        yield f"contains {listed([constraint.contains])}"
    yield from _sizes(constraint)
    yield from _relations(constraint)
    yield from _meanings(constraint)


def _meanings(constraint: Constraint) -> Iterator[str]:
    if constraint.path is not UNSET:
        yield from _path(constraint.path)
    if constraint.command is not UNSET:
        yield from _command(constraint.command)
    if not isinstance(constraint.host, UnsetType):
        yield f"a host of {clipped(', '.join(constraint.host.in_words))}"
    for text, meaning in (
        ("a mail address in", constraint.email_domain),
        ("an address in", constraint.cidr),
    ):
        if not isinstance(meaning, UnsetType):
            yield f"{text} {clipped(', '.join(meaning.among))}"


def _path(path: PathConstraint) -> Iterator[str]:
    if path.roots_in_words:
        in_any_case = " in any letter case" if path.ignore_case is True else ""
        yield f"a path under {clipped(', '.join(path.roots_in_words))}{in_any_case}"
    if not isinstance(path.not_among, UnsetType):
        yield f"a path without {words_of(path.not_among)}"


def _command(command: CommandConstraint) -> Iterator[str]:
    for text, entries in (("a shell line of", command.allow), ("a shell line without", command.deny)):
        if not isinstance(entries, UnsetType):
            yield f"{text} {clipped(', '.join(map(_entry, entries)))}"


def _entry(entry: AllowedCommand | DeniedCommand) -> str:
    return " ".join("|".join(several(words)) for words in (entry.run, entry.first, entry.second) if several(words))


def _relations(constraint: Constraint) -> Iterator[str]:
    if constraint.from_request is not UNSET:
        exactly = ", letter by letter" if constraint.from_request is FromRequest.EXACT else ""
        yield f"a text from the user's request{exactly}"
    if not isinstance(constraint.approved_before, UnsetType):
        known = constraint.approved_before
        what, where = "on a host that" if known.of_host else "as", " in the session" if known.in_session else ""
        yield f"{what} a person approved{where} in the last {known.within_seconds} s"
    for text, operand in (
        ("equal to", constraint.equals),
        ("at most", constraint.at_most),
        ("at least", constraint.at_least),
    ):
        if isinstance(operand, Operand):
            yield f'{text} {"context" if operand.of_context else "parameter"} "{operand.name}"'


def _sizes(constraint: Constraint) -> Iterator[str]:
    for text, bound, unit in (
        ("at least", constraint.min, ""),
        ("at most", constraint.max, ""),
        ("above", constraint.above, ""),
        ("below", constraint.below, ""),
        ("at least", constraint.min_length, " characters"),
        ("at most", constraint.max_length, " characters"),
        ("at least", constraint.min_items, " elements"),
        ("at most", constraint.max_items, " elements"),
    ):
        if bound is not UNSET:
            yield f"{text} {_encode(bound).decode()}{unit}"
