"""Constraints applied to the named values of a call: why a rule fails, and to which calls it applies."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from app.cancellation import raise_if_cancelled
from app.language.ambiguous import Ambiguous
from app.language.schemas.json_schema import Schema, TooMuchWork
from app.language.schemas.patterns import compile_regex, may_take
from app.language.spellings import SchemaNames, Spellings, folded, other_spelling
from app.language.value_paths import ANYWHERE, Anywhere, ValuePath
from app.model.constraints import Circumstances, Constraint, IfMissing, named_constraints
from app.pdp.clauses import Test, Unjudged, clipped, shown
from app.pdp.command_tests import Unread
from app.pdp.operands import Json, Unknown
from app.pdp.path_tests import path_tests
from app.pdp.relations import relations_of
from app.pdp.value_tests import value_tests
from app.redaction.credentials import REDACTED

Check = Callable[[Json, Json, Spellings], str | None]
"""Takes parameters and context, and how the parameters spell their names; None if they satisfy the constraint, else
the reason why not."""

IsSecret = Callable[[str], bool]
Verdict = bool | str
"""True if a rule applies to a call; if that cannot be judged, why the rule fails."""

Judge = Callable[[Json, Json], Verdict]
_MANY_VALUES = 100


class _Probe:
    """One name, and the tests for its values."""

    def __init__(
        self,
        of: str,
        name: str,
        constraint: Constraint,
        *,
        secret: bool,
        is_secret: IsSecret | None = None,
        unread: Unread = Unread.FAILS,
    ) -> None:
        self.name = name
        self.of_context = of == "context"
        self.is_secret = is_secret
        self.is_hidden = secret or constraint.not_kind is not UNSET
        self.absent = constraint.absent is True
        self.required = constraint.required is not False and not self.absent
        self.is_anywhere = name == ANYWHERE
        self.subject = f'{"Context" if self.of_context else "Parameter"} "{name}"'
        self.path: ValuePath | Anywhere = ValuePath(name)
        if self.is_anywhere:
            self.subject = "Some value in the parameters"
            self.path = Anywhere(() if isinstance(constraint.exempt, UnsetType) else constraint.exempt)
        self.tests = list(value_tests(constraint, secret=secret))
        if constraint.path is not UNSET:
            self.tests += path_tests(constraint.path, secret=secret)
        self.relations = list(relations_of(constraint, secret=secret, is_secret=is_secret, unread=unread))
        patterns = (each for each in (constraint.regex, constraint.not_regex) if isinstance(each, str))
        self.steps_per_byte = sum(compile_regex(each).program_size for each in patterns)

    def find(self, parameters: Json, context: Json) -> tuple[list[Any], bool]:
        """The values that the name can mean, and whether one is missing. Raises Ambiguous."""
        found = self.path.find(context if self.of_context else parameters)
        if len(found[0]) > _MANY_VALUES:
            raise_if_cancelled()
            # Short values are not counted one by one. These are long together.
            if self.steps_per_byte and not may_take(
                self.steps_per_byte * sum(len(value) for value in found[0] if type(value) is str)
            ):
                raise Ambiguous("contains more values than a call's patterns may read in all")
        return found

    def all_tests(self, parameters: Json, context: Json) -> Sequence[Test]:
        """Every test, including those against other values of this call."""
        if not self.relations:
            return self.tests
        return [*self.tests, *(relation(parameters, context) for relation in self.relations)]

    def unjudged(self, why: Ambiguous | str) -> str:
        """The sentence that says why the name cannot be judged."""
        return f"{self.subject} cannot be judged: the call {why}"

    def about(self, value: Any, clause: str) -> str:
        """The sentence that says why a value fails."""
        if self.is_anywhere:  # it may have the name of a secret
            return f"The parameters have a value {clause}"
        return f"{self.subject} is {REDACTED if self.is_hidden else shown(value, self.is_secret)}, {clause}"


def compile_constraint(
    name: str,
    constraint: Constraint,
    *,
    secret: bool,
    of: str = "parameters",
    is_secret: IsSecret | None = None,
    unread: Unread = Unread.FAILS,
) -> Check:
    """The check of one named value. With `secret`, no reason shows a value, given or wanted.

    is_secret: recognises secret names; values under such names inside a string are not shown either.
    unread: what a shell line that cannot be read does.
    """
    probe = _Probe(of, name, constraint, secret=secret, is_secret=is_secret, unread=unread)
    if probe.path.is_plain and not probe.of_context and not probe.absent:
        return _plain_check(probe)

    def check(parameters: Json, context: Json, _spelled: Spellings) -> str | None:
        try:
            values, missing = probe.find(parameters, context)
        except Ambiguous as error:
            return probe.unjudged(error)
        if missing and probe.required:
            return f"{probe.subject} is missing"
        if probe.absent and values:
            return f"{probe.subject} is given, and must not be"
        tests = probe.all_tests(parameters, context)
        for value in values:
            for test in tests:
                clause = test(value)
                if clause is not None:
                    return probe.about(value, clause)
        return None

    return check


def _plain_check(probe: _Probe) -> Check:
    """The same for the commonest constraint: a top-level key of the parameters, and no other value."""
    name, required, relations = probe.name, probe.required, probe.relations
    own_tests: Sequence[Test] = probe.tests
    missing = f"{probe.subject} is missing"
    fold, spelled_again = folded(name), probe.unjudged(f"has {other_spelling(name)}")

    def check(parameters: Json, context: Json, spelled: Spellings) -> str | None:
        if spelled.get(fold, name) != name:
            return spelled_again
        if name not in parameters:
            return missing if required else None
        value = parameters[name]
        tests = probe.all_tests(parameters, context) if relations else own_tests
        for test in tests:
            clause = test(value)
            if clause is not None:
                return probe.about(value, clause)
        return None

    return check


TOO_MUCH_FOR_A_SCHEMA = "The parameters cannot be judged: checking them against the schema would take too long"


def schema_check(schema: Schema, names: SchemaNames) -> Check:
    """A check that the parameters fit the schema; its reason names the place and the keyword, but no value."""

    def check(parameters: Json, _context: Json, _spelled: Spellings) -> str | None:
        raise_if_cancelled()
        name = names.other_spelling(parameters)
        if name is not None:
            return f"The parameters cannot be judged: they have {other_spelling(clipped(name))}"
        try:
            failure = schema.first_failure(parameters)
        except TooMuchWork:
            return TOO_MUCH_FOR_A_SCHEMA
        if failure is None:
            return None
        path, keyword = failure
        subject = f'Parameter "{clipped(path)}" does' if path else "The parameters do"
        return f'{subject} not fit the schema: "{keyword}"'

    return check


def compile_circumstances(word: str, circumstances: Circumstances, is_secret: IsSecret) -> Judge:
    """A function that decides to which calls a rule applies. word: whether these are its `when` or its `unless`.

    With `when` the rule applies if every named value satisfies its constraint, with `unless` if one does not. A value
    of the wrong type cannot be judged, nor can a missing one, unless `ifMissing` says what happens then. No reason
    shows a value here, so a rule has only a few different ones.
    """
    probes = [
        _Probe(of, name, constraint, secret=is_secret(name), is_secret=is_secret)
        for of, name, constraint in named_constraints(circumstances.parameters, circumstances.context)
    ]
    if_missing: Verdict | None = None
    if circumstances.if_missing is not UNSET:
        if_missing = circumstances.if_missing is IfMissing.APPLY
    all_hold = word == "when"

    def judge(parameters: Json, context: Json) -> Verdict:
        holds, missing = True, None
        for probe in probes:
            found = _judge_one(probe, parameters, context)
            if found is _MISSING:
                missing = missing or f"{probe.subject} is missing"
            elif found is _UNJUDGED:
                return f'{probe.subject} is not what this rule\'s "{word}" can judge'
            elif found is _FAILS:
                holds = False
        if missing is not None:
            return f'{missing}; this rule\'s "{word}" reads it' if if_missing is None else if_missing
        return holds is all_hold

    return judge


_HOLDS, _FAILS, _MISSING, _UNJUDGED = "holds", "fails", "missing", "unjudged"


def _judge_one(probe: _Probe, parameters: Json, context: Json) -> str:
    """The finding about the name's values; if they disagree, the least certain one."""
    try:
        values, missing = probe.find(parameters, context)
    except Ambiguous:
        return _UNJUDGED
    if probe.absent:
        return _FAILS if values else _HOLDS
    found = _MISSING if missing and probe.required else _HOLDS
    if not values:
        return found
    for test in probe.all_tests(parameters, context):
        for value in values:
            clause = test(value)
            if clause is None:
                continue
            if isinstance(clause, Unknown):
                found = _MISSING
            elif isinstance(clause, Unjudged):
                return _UNJUDGED
            elif found is _HOLDS:
                found = _FAILS
    return found
