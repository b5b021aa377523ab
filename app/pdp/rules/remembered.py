"""`approvedBefore`: the values that people must have approved in an earlier call of the agent, tool and action."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.canonical.ambiguous import Ambiguous
from app.canonical.value_paths import ValuePath
from app.model.approved_before import MAX_TARGETS
from app.model.decisions import AuthorizeRequest, Outcome
from app.model.plans import RememberedCheck, Target
from app.model.rules import ParameterConstraint
from app.pdp.clauses import clipped
from app.pdp.relations import Json
from app.pdp.rules.rule_type import Macs, PlacedRule

_ELEMENTS = "[*]"
_encode = msgspec.json.encode


class TargetCheck(Struct, frozen=True):
    """The part of the look-up that is common to all calls. parameters: each with its path and its ms.

    A value is remembered together with those of the rule's other parameters, except for elements of arrays: else two
    approved calls would make a third one, such as a known name with an address that was approved for another.
    """

    check: RememberedCheck
    parameters: tuple[tuple[str, ValuePath, int], ...]
    macs: Macs

    @property
    def when_full(self) -> Outcome:
        return self.check.when_full

    def of(self, request: AuthorizeRequest, _key_id: str) -> RememberedCheck | None:
        """The look-up for the call; None if its values cannot be told, which fails the rule, or if it has none."""
        try:
            found = list(self._values(request.parameters))
        except Ambiguous:
            return None
        if len(found) > MAX_TARGETS:
            return replace(self.check, targets=(Target("", 0, ()),))
        singles = sorted(name_and_value for name_and_value, _ in found if _ELEMENTS not in name_and_value[0])
        call = [request.agent_id, request.tool_name, request.action]
        targets = (
            Target(name, within_ms, self.macs(_encode([*call, name, value, *self._beside(name, singles)])))
            for (name, value), within_ms in found
        )
        return replace(self.check, targets=tuple(targets)) if found else None

    def _beside(self, name: str, singles: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
        """What is remembered with a value: those of the other parameters, as one list; nothing if the rule has none."""
        return [[each for each in singles if each[0] != name]] if len(self.parameters) > 1 else []

    def _values(self, parameters: Json) -> Iterator[tuple[tuple[str, str], int]]:
        """Each value once, with its parameter and ms."""
        seen: dict[tuple[str, str], int] = {}
        for name, path, within_ms in self.parameters:
            for value in path.find(parameters)[0]:
                if type(value) is not str:
                    raise Ambiguous("has a value that is no text")
                seen[name, value] = within_ms
        yield from seen.items()


def target_checks(placed: PlacedRule[ParameterConstraint]) -> Iterator[TargetCheck]:
    """Yield the check of a rule that remembers; none of another."""
    remembered = placed.rule.remembered
    if not remembered:
        return
    longest = max(remembered.values())
    names = " and ".join(f'"{name}"' for name in remembered)
    reason = f"No person has approved such a call with the same {clipped(names)} in the last {longest} s"
    failed = placed.failure(reason)
    check = RememberedCheck(placed.policy.id, placed.memory, placed.ref, longest * 1_000_000, failed)
    yield TargetCheck(
        check, tuple((name, ValuePath(name), seconds * 1000) for name, seconds in remembered.items()), placed.macs
    )
