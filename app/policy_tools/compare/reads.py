"""What a rule reads of a call, and what each value comes to there."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, ValidationError, convert
from msgspec.structs import replace

from app.language.schemas.json_schema import compile_schema
from app.language.spellings import SchemaNames, spellings_of
from app.language.value_paths import EACH
from app.model.constraints import Circumstances, Constraint, IfMissing, JsonType
from app.model.decision_codes import DecisionCode
from app.model.decisions import AuthorizeRequest, Outcome, Result
from app.model.plans import Quota
from app.model.quotas import Budget
from app.model.rule import Rule
from app.model.rules import ParameterSchema, Sequenced, TimeBased
from app.model.sequences import MAX_SESSION_LENGTH
from app.model.times import MINUTE_US
from app.pdp.constraints import compile_circumstances, compile_constraint, schema_check
from app.pdp.rules.buckets import UnreadableError, bucket_reader
from app.pdp.rules.limits import varying_quota
from app.pdp.rules.sequence import no_session
from app.pdp.rules.time_based import compile_time_window
from app.policy_tools.compare.calls import TIME, Call, Place
from app.policy_tools.compare.known import OF_TEXTS, by_class, by_meaning

HOLDS, FAILS, LACKS, UNJUDGED = range(4)
"""What a value comes to. A constraint of a rule only holds or fails; in `when` and `unless` it can also lack its value,
or not be judged by it."""

Standing = Callable[[Call], int]


class Read(Struct, frozen=True):
    """A value that a rule reads.

    part: "" for what the rule demands, else `when` or `unless`. place: where the value stands in a call.
    standing: what a call comes to. alone: what it comes to by the part of which there are classes of values.
    classed, meant: the constraint for which there are classes, and the whole one, from which values are taken.
    is_exact: True if that is all of it. is_hint: True if it is only a part of what the rule reads, to find values by.
    is_compared: True if the value is compared with another. is_of_texts: True if what is not exact holds only of texts.
    doubt: why it is not exact.
    same: equal for reads that come to the same in every call.
    """

    part: str
    place: Place
    standing: Standing
    alone: Standing
    classed: Constraint
    meant: Constraint
    is_exact: bool
    same: bytes
    is_hint: bool = False
    is_compared: bool = False
    is_of_texts: bool = False
    doubt: str = ""
    rule: int = -1

    def of_rule(self, number: int) -> "Read":
        """The same, of the rule with this number."""
        return replace(self, rule=number)

    @property
    def ranks(self) -> tuple[int, ...]:
        """What it can come to."""
        return (HOLDS, FAILS, LACKS, UNJUDGED) if self.part else (HOLDS, FAILS)


def reads_of(rule: Rule) -> Iterator[Read]:
    """Yield all that a rule reads of the calls that it concerns."""
    for part, of, name, constraint in rule.constraints():
        yield from _of_constraint(part, (of, name), constraint)
    counter = rule.counter
    for name in () if counter is None or isinstance(counter.per, UnsetType) else counter.per:
        of, dot, rest = name.partition(".")
        if dot:
            yield _of_per(name, (of, rest))
    if isinstance(rule.limit, Budget):
        yield _of_budget(rule.limit)
    if isinstance(rule, Sequenced):
        named = Constraint(enum=["s"], min_length=1, max_length=MAX_SESSION_LENGTH)
        yield _exact(("context", "session"), _without_session, named, b"s")
    if isinstance(rule, TimeBased):
        check = compile_time_window(rule.time_window)
        same = b"time" + msgspec.json.encode(rule.time_window)
        yield _exact(TIME, lambda call: int(check(call.at_us // MINUTE_US) is not None), _ANYTHING, same)
    if isinstance(rule, ParameterSchema):
        yield from _of_schema(rule.schema)


def _without_session(call: Call) -> int:
    return int(no_session({}, call.context, {}) is not None)


_ANYTHING = Constraint(required=True)


def _exact(place: Place, standing: Standing, constraint: Constraint, same: bytes) -> Read:
    return Read("", place, standing, standing, constraint, constraint, is_exact=True, same=same)


def _of_constraint(part: str, place: Place, constraint: Constraint) -> Iterator[Read]:
    classed, is_exact = by_class(constraint)
    meant = {name for name in constraint.given if getattr(classed, name) != getattr(constraint, name)}
    compared = (constraint.equals, constraint.at_most, constraint.at_least)
    operands = [each for each in compared if not isinstance(each, UnsetType)]
    standing, alone = ((_circumstance if part else _condition)(place, each) for each in (constraint, classed))
    same = msgspec.json.encode((bool(part), place, constraint))
    yield Read(
        part,
        place,
        standing,
        alone,
        classed,
        constraint,
        is_exact=is_exact,
        same=same,
        is_compared=bool(operands),
        is_of_texts=OF_TEXTS.issuperset(meant),
        doubt=by_meaning(place[1]),
    )
    for exempt in () if isinstance(constraint.exempt, UnsetType) else constraint.exempt:
        plain, left_out = replace(constraint, exempt=UNSET, required=False), (place[0], exempt)
        standing = _condition(left_out, plain)
        yield Read(part, left_out, standing, standing, by_class(plain)[0], plain, False, b"hint", is_hint=True)
    for operand in operands:
        other = ("context" if operand.of_context else "parameters", operand.name)
        yield Read(part, other, _holds, _holds, classed, constraint, False, same, is_hint=True, is_compared=True)


def _condition(place: Place, constraint: Constraint) -> Standing:
    check = compile_constraint(place[1], constraint, secret=False, of=place[0])
    return lambda call: int(check(call.parameters, call.context, spellings_of(call.parameters)) is not None)


def _circumstance(place: Place, constraint: Constraint) -> Standing:
    named = {place[1]: constraint}
    asked = Circumstances(parameters=named) if place[0] == "parameters" else Circumstances(context=named)
    judge = compile_circumstances("when", asked, _no_secret)
    lenient = compile_circumstances("when", replace(asked, if_missing=IfMissing.APPLY), _no_secret)

    def standing(call: Call) -> int:
        verdict = judge(call.parameters, call.context)
        if verdict is True or verdict is False:
            return HOLDS if verdict else FAILS
        return LACKS if lenient(call.parameters, call.context) is True else UNJUDGED

    return standing


def _of_per(name: str, place: Place) -> Read:
    """The value for each of which a limit counts apart."""
    reader = bucket_reader([name])

    def standing(call: Call) -> int:
        try:
            reader.require(call.parameters, call.context)
        except UnreadableError:
            return FAILS
        return HOLDS

    string = Constraint(type=[JsonType.STRING])
    is_exact = "." not in place[1]
    return Read(
        "",
        place,
        standing,
        standing if is_exact else _holds,
        string,
        string,
        is_exact,
        b"per" + name.encode(),
        doubt=by_meaning(place[1]),
    )


def _of_budget(budget: Budget) -> Read:
    """The amount that a call takes from a budget; one that is more than all of it never fits."""
    quota = varying_quota(
        Quota("", "", budget.max_micros, 1, Outcome(Result.DENIED, None, None, "", DecisionCode.BUDGET_SPENT)),
        replace(budget, per=UNSET),
    )

    def standing(call: Call) -> int:
        request = AuthorizeRequest("", "", "", call.parameters, b"", context=call.context)
        taken = quota if isinstance(quota, Quota) else quota.of(request, "", 0)
        return int(taken is None or (taken.amount or 0) > taken.max_calls)

    amount = Constraint(min=0, max=budget.max, not_enum=[_SEVEN_PLACES])
    same = msgspec.json.encode(("budget", budget.of, budget.name, budget.max))
    place = (budget.of, budget.name)
    return Read(
        "",
        place,
        standing,
        _holds,
        amount,
        amount,
        is_exact=False,
        same=same,
        doubt=f"the sum of {budget.amount_in_words} is compared by meaning",
    )


_SEVEN_PLACES = 0.0000001
"""A number with more decimal places than a budget counts."""


def _holds(_call: Call) -> int:
    return HOLDS


def _of_schema(schema: dict[str, Any]) -> Iterator[Read]:
    """The parameters that a schema reads as a whole, and each of its properties, to find values by."""
    check = schema_check(compile_schema(schema), SchemaNames(schema))
    encoded = msgspec.json.encode(schema)

    def standing(call: Call) -> int:
        return int(check(call.parameters, call.context, spellings_of(call.parameters)) is not None)

    place = ("schema", encoded.decode())
    yield Read(
        "",
        place,
        standing,
        _holds,
        _ANYTHING,
        _ANYTHING,
        is_exact=False,
        same=encoded,
        doubt="a schema is compared by meaning",
    )
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        if EACH not in name:
            yield _of_property(schema, name, part)


def _of_property(whole: dict[str, Any], name: str, part: Any) -> Read:
    alone = compile_schema({"properties": {name: part}, **{word: whole[word] for word in ("$defs",) if word in whole}})
    given = {field: part[word] for word, field in _TERMS.items() if word in part} if isinstance(part, dict) else {}
    try:
        constraint = convert(given or {"required": True}, Constraint)
    except ValidationError:  # bounds that exclude each other, or members that are no scalars
        constraint = _ANYTHING

    def standing(call: Call) -> int:
        return int(alone.first_failure(call.parameters) is not None)

    return Read(
        "", ("parameters", name), standing, standing, by_class(constraint)[0], constraint, False, b"hint", is_hint=True
    )


_TERMS = {
    "minimum": "min",
    "maximum": "max",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
    "minLength": "minLength",
    "maxLength": "maxLength",
    "minItems": "minItems",
    "maxItems": "maxItems",
    "pattern": "regex",
    "enum": "enum",
}
"""Keywords of a schema, and the field of a constraint that means the same."""


def _no_secret(_name: str) -> bool:
    return False
