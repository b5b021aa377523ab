"""Constraints: each named value of the parameters and of the context must be as the rule says.

`approvedBefore` asks that people have approved values in an earlier call of the agent, tool and action.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec
from msgspec import Struct, UnsetType
from msgspec.structs import replace

from app.language.ambiguous import Ambiguous
from app.language.hosts import origin_of
from app.language.value_paths import EACH, ValuePath
from app.model.approved_before import MAX_TARGETS, ApprovedBefore
from app.model.constraints import REQUEST, Constraint, named_constraints, unread_apart
from app.model.decisions import AuthorizeRequest, Outcome, Result
from app.model.plans import RememberedCheck, Target
from app.model.rules import ParameterConstraint
from app.pdp.call_schemas import named_schema, together
from app.pdp.clauses import clipped
from app.pdp.command_tests import Unread
from app.pdp.constraint_words import named_in_words
from app.pdp.constraints import Check, IsSecret, compile_constraint
from app.pdp.costs import cost_of
from app.pdp.operands import Json
from app.pdp.quotas import OpenQuota
from app.pdp.rules.records import record_in_words, record_readers
from app.pdp.rules.rule_type import BeforeCalls, CompiledRule, Demands, Macs, PlacedRule, RuleType, reach_by_parameters
from app.pdp.rules.sequence import no_session, session_of
from app.pdp.value_schemas import SchemaPart

_encode = msgspec.json.encode
_Named = tuple[str, str]
"""A parameter's name and its value."""


class ParameterConstraintType(RuleType[ParameterConstraint]):
    def compile(self, placed: PlacedRule[ParameterConstraint]) -> Demands:
        named, asks = list(_named(placed.rule)), placed.when_failed is Result.ESCALATED
        quotas: tuple[OpenQuota, ...] = (*target_checks(placed), *record_readers(placed))
        apart = [each for each in named if unread_apart(each[2], asks=asks)]
        checks = [_check(placed, *each, Unread.PASSES if each in apart else Unread.FAILS) for each in named]
        if any(each.in_session for each in placed.rule.remembered.values()):
            checks.append(no_session)
        checks += [check for each in record_readers(placed) for check in (no_session, each.failed)]
        cost = cost_of(named, placed.when_failed)
        condition = placed.condition(*checks, cost=cost)
        if apart:
            other = Result.DENIED if asks else Result.ESCALATED
            unread = (_check(placed, *each, Unread.ALONE_FAILS) for each in apart)
            return Demands(
                condition,
                quotas,
                unread=replace(condition, when_failed=other, checks=tuple(unread)),
            )
        return Demands(condition, quotas)

    def words(self, rule: ParameterConstraint, is_secret: IsSecret) -> Iterator[str]:
        yield from (named_in_words(*each, is_secret) for each in _named(rule))
        if not isinstance(rule.record, UnsetType):
            yield record_in_words(rule.record, is_secret)

    def schema(self, rule: ParameterConstraint, is_secret: IsSecret) -> SchemaPart:
        named = {} if isinstance(rule.parameters, UnsetType) else rule.parameters
        return together(named_schema(name, each, is_secret) for name, each in named.items())

    def reach(self, compiled: CompiledRule, known: BeforeCalls) -> tuple[int, int]:
        return reach_by_parameters(known.parameters)


def _check(
    placed: PlacedRule[ParameterConstraint], of: str, name: str, constraint: Constraint, unread: Unread
) -> Check:
    is_secret = placed.is_secret
    secret = is_secret(name) or (of, name) == ("context", REQUEST)
    if unread is Unread.ALONE_FAILS:
        constraint = Constraint(command=constraint.command, required=False)
    return compile_constraint(name, constraint, secret=secret, of=of, is_secret=is_secret, unread=unread)


def _named(rule: ParameterConstraint) -> Iterator[tuple[str, str, Constraint]]:
    return named_constraints(rule.parameters, rule.context)


class _Parameter(Struct, frozen=True):
    """A parameter, and how its values count. path: from the call, or from the element of an array."""

    name: str
    path: ValuePath
    counts: ApprovedBefore

    def values(self, holder: Json) -> list[str]:
        """What counts of its values. Raises Ambiguous."""
        values = self.path.find(holder)[0]
        for value in values:
            if type(value) is not str:
                raise Ambiguous("has a value that is no text")
        return [origin_of(value) for value in values] if self.counts.of_host else values


class _Rows(Struct, frozen=True):
    """Several parameters of the elements of one array. inner: those of arrays in them."""

    elements: ValuePath
    parameters: tuple[_Parameter, ...]
    inner: tuple["_Rows", ...]

    def values(self, holder: Json) -> Iterator[tuple[_Parameter, str, str]]:
        """Each value, with a digest of all values of its element, which says how they are grouped in it."""
        for element in self.elements.find(holder)[0]:
            if type(element) is dict:
                found = [(each, value, "") for each in self.parameters for value in each.values(element)]
                found += [each for rows in self.inner for each in rows.values(element)]
                row = sha256(_encode([(each.name, value, inner) for each, value, inner in found])).hexdigest()
                yield from ((each, value, row) for each, value, _ in found)
            elif element is not None:
                raise Ambiguous("has an element that is no object")


class TargetCheck(Struct, frozen=True):
    """The part of the look-up that is common to all calls.

    A value is remembered together with those of the rule's other parameters, but of arrays only with those of its own
    element. Otherwise two approved calls would make a third one, such as a known name with an address that was approved
    for another.
    """

    check: RememberedCheck
    parameters: tuple[_Parameter, ...]
    rows: tuple[_Rows, ...]
    macs: Macs

    @property
    def when_full(self) -> Outcome:
        return self.check.when_full

    def of(self, request: AuthorizeRequest, _key_id: str, _now_us: int) -> RememberedCheck | None:
        """The look-up for the call; None if its values cannot be told, which fails the rule, or if it has none."""
        try:
            found = self._values(request.parameters)
        except Ambiguous:
            return None
        if len(found) > MAX_TARGETS:
            return replace(self.check, targets=(Target("", 0, ()),))
        singles = sorted((name, value) for name, value, _ in found if EACH not in name)
        call, session = [request.agent_id, request.tool_name, request.action], session_of(request.context)
        targets = []
        for (name, value, row), counts in found.items():
            where = [*call, session] if counts.in_session else call
            message = _encode([*where, name, value, *self._beside(name, singles, row)])
            targets.append(Target(name, counts.within_seconds * 1000, self.macs(message), counts.of_host))
        return replace(self.check, targets=tuple(targets)) if found else None

    def _beside(self, name: str, singles: list[_Named], row: str) -> Sequence[str | list[_Named]]:
        """What is remembered with a value: those of the other parameters, as one list, and its element's digest."""
        if len(self.parameters) == 1 and not self.rows:
            return ()
        others = [each for each in singles if each[0] != name]
        return (others, row) if row else (others,)

    def _values(self, holder: Json) -> dict[tuple[str, str, str], ApprovedBefore]:
        """Each value once: its parameter, and the digest of its element or "" if it has no other; and how it counts."""
        found: dict[tuple[str, str, str], ApprovedBefore] = {}
        for each in self.parameters:
            for value in each.values(holder):
                found[each.name, value, ""] = each.counts
        for rows in self.rows:
            for each, value, row in rows.values(holder):
                found[each.name, value, row] = each.counts
        return found


def target_checks(placed: PlacedRule[ParameterConstraint]) -> Iterator[TargetCheck]:
    """Yield the check of a rule that remembers; none of another."""
    remembered = placed.rule.remembered
    if not remembered:
        return
    longest = max(each.within_seconds for each in remembered.values())
    names = " and ".join(f'{"host in " if each.of_host else ""}"{name}"' for name, each in remembered.items())
    where = " in this session" if any(each.in_session for each in remembered.values()) else ""
    reason = f"No person has approved such a call with the same {clipped(names)}{where} in the last {longest} s"
    failed = placed.failure(reason)
    check = RememberedCheck(placed.policy.id, placed.memory, placed.ref, longest * 1_000_000, failed)
    yield TargetCheck(check, *_grouped({name: name for name in remembered}, remembered), placed.macs)


def _grouped(
    paths: Mapping[str, str], counts: Mapping[str, ApprovedBefore]
) -> tuple[tuple[_Parameter, ...], tuple[_Rows, ...]]:
    """The parameters that count alone, and the arrays of whose elements several count, such as `to[*].name` and
    `to[*].address`.

    paths: of each parameter, from the call or from the element of an array.
    """
    of_array: dict[str, dict[str, str]] = {}
    for name, path in paths.items():
        array, each, inside = path.partition(EACH + ".")
        of_array.setdefault(array if each else "", {})[name] = inside or path
    alone = of_array.pop("", {})
    rows = []
    for array, insides in of_array.items():
        if len(insides) > 1:
            rows.append(_Rows(ValuePath(array + EACH), *_grouped(insides, counts)))
        else:
            alone |= {name: paths[name] for name in insides}
    return tuple(_Parameter(name, ValuePath(path), counts[name]) for name, path in alone.items()), tuple(rows)
