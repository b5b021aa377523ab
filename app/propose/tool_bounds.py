"""The rules of a tool whose calls can be undone: its calls are allowed within what enough users did, else they ask."""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from app.language.value_paths import EACH
from app.model.proposals import ProposedValue, RuleEvidence, need
from app.model.text import counted
from app.propose.closed_schema import closed_schema
from app.propose.constraint_forms import ASKS, Form, form_of
from app.propose.evidence_values import shown_values
from app.propose.observed_calls import ObservedCall
from app.propose.parameter_values import Key, Place, SeenTool, Steps, is_sayable, name_of, schema_at

DAY_MS = 86_400_000
_DAY_SECONDS = 86_400
_MAX_PLACES = 100


class Asks(NamedTuple):
    """Why no call of a tool is allowed without a person."""

    why: str


class Bounded(NamedTuple):
    """The rules of one tool, and what each was made from; the paths begin at `rules`."""

    rules: list[dict[str, Any]]
    evidence: list[RuleEvidence]


def bounded(
    tool: str,
    calls: Sequence[ObservedCall],
    said: Mapping[str, Any] | None,
    lookups: Mapping[str, Iterable[str]] | None,
) -> Bounded | Asks:
    """The rules of a tool. said: the catalogue's schema of its parameters.

    lookups: for each tool that only reads and that came first, the units that did without it in some session; None if
    the order of calls cannot be asked for.
    """
    seen = SeenTool(calls)
    needed = need(len(seen.units))
    if len(seen.units) < needed:
        return Asks(f"few: {counted(len(seen.units), 'user')}, and {needed} are needed")
    per = _counted_per(seen, needed)
    if per is None:
        return Asks("its calls name no session")
    common = {steps: place for steps, place in seen.places.items() if len(place.units) >= needed}
    if any(not is_sayable(steps) for steps in common):
        return Asks("a parameter has a name that no rule can name")
    if len(common) > _MAX_PLACES:
        return Asks(f"it has more than {_MAX_PLACES} parameters")
    forms: dict[Steps, Form] = {}
    for steps, place in sorted(common.items()):
        form = form_of(place, needed, schema_at(said, steps))
        if form is None:
            return Asks(f"the log hides {name_of(steps)}")
        forms[steps] = form
    made = _Made(tool)
    if forms:
        _constrain(made, seen, common, forms, needed)
    _close(made, seen, common, forms)
    most = _most(seen.calls, per, needed)
    limit = {"maxCalls": most, "windowSeconds": _DAY_SECONDS, "per": [f"context.{per}"]}
    made.add({"type": "rate_limit", "rateLimit": limit}, seen, "count")
    always = None if lookups is None else _first(lookups, needed)
    if always is not None:
        made.add(
            {"type": "sequence", "sequence": {"requiresBefore": [always], "withinSeconds": _DAY_SECONDS}},
            seen,
            "before",
        )
    return Bounded(made.rules, made.evidence)


class _Made:
    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.rules: list[dict[str, Any]] = []
        self.evidence: list[RuleEvidence] = []

    def add(self, rule: dict[str, Any], seen: SeenTool, form: str, left_out: Sequence[ProposedValue] = ()) -> str:
        """Add a rule and what it was made from; gives its path."""
        kind = rule.pop("type")
        self.rules.append({"type": kind, "tools": [self.tool], "effect": "escalate", **rule})
        path = f"rules[{len(self.rules) - 1}]"
        of_tool = ProposedValue(value=self.tool, units=len(seen.units), entry=seen.calls[0].id)
        self.evidence.append(
            RuleEvidence(path=path, calls=len(seen.calls), units=len(seen.units), form=form, examples=[of_tool],
                         left_out=list(left_out))
        )  # fmt: skip
        return path


def _constrain(
    made: _Made, seen: SeenTool, common: Mapping[Steps, Place], forms: Mapping[Steps, Form], needed: int
) -> None:
    parameters = {}
    for steps, form in forms.items():
        is_inside_objects = form.constraint == {"type": "object"}
        if is_inside_objects and any(other[:-1] == steps for other in forms):
            continue  # the constraints inside say more, and fail where there is no object
        may_lack = steps[-1] != EACH and form is not ASKS and seen.may_lack(steps, needed)
        parameters[steps] = {**form.constraint, **({"required": False} if may_lack else {})}
    if not parameters:
        return
    named = {name_of(steps): constraint for steps, constraint in parameters.items()}
    path = made.add({"type": "parameter_constraint", "parameters": named}, seen, "values")
    for steps in parameters:
        place, form = common[steps], forms[steps]
        passing = {key: place.values[key] for key in form.passing if key in place.values}
        made.evidence.append(
            RuleEvidence(
                path=f"{path}.parameters.{name_of(steps)}",
                calls=len(seen.calls),
                units=len(place.units),
                form=form.words,
                examples=shown_values(passing),
                left_out=shown_values(place.outside(form.passing)),
            )
        )


def _close(made: _Made, seen: SeenTool, common: Mapping[Steps, Place], forms: Mapping[Steps, Form]) -> None:
    """Refuse names that fewer units used, at every depth."""
    objects = {steps for steps in forms if ("object", None) in common[steps].values and forms[steps] is not ASKS}
    rare: dict[Key, dict[str, str]] = defaultdict(dict)
    for steps, place in seen.places.items():
        if steps not in common and (steps[:-1] in common or len(steps) == 1):
            for by_unit in place.values.values():
                rare[("name", name_of(steps))].update(by_unit)
    made.add({"type": "parameter_schema", "schema": closed_schema(forms, objects)}, seen, "names", shown_values(rare))


def _counted_per(seen: SeenTool, needed: int) -> str | None:
    """What calls are counted by: the session, or the user if `need` units name none; None if nothing names them."""
    if len({call.unit for call in seen.calls if not call.session}) < needed:
        return "session"
    return "user" if len({call.unit for call in seen.calls if not call.context.get("user")}) < needed else None


def _most(calls: Sequence[ObservedCall], per: str, needed: int) -> int:
    """The `need`-th highest of the units' most calls in a day, counted by session or by user."""
    recent: dict[str, deque[int]] = defaultdict(deque)
    most: dict[str, int] = defaultdict(int)
    for call in calls:
        times = recent[call.session if per == "session" else call.unit]
        times.append(call.time_ms)
        while times[0] <= call.time_ms - DAY_MS:
            times.popleft()
        most[call.unit] = max(most[call.unit], len(times))
    return sorted(most.values())[-needed]


def _first(lookups: Mapping[str, Iterable[str]], needed: int) -> str | None:
    """The look-up that came first for all but fewer than `need` units; of several, that which most made."""
    without = sorted((len(set(units)), name) for name, units in lookups.items())
    return without[0][1] if without and without[0][0] < needed else None
