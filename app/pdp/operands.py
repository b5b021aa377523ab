"""The values of a call that a constraint reads besides its own."""

from typing import Any

from app.language.ambiguous import Ambiguous
from app.language.value_paths import ValuePath
from app.model.constraints import Operand
from app.pdp.clauses import Unjudged

Json = dict[str, Any]
NOTHING: Json = {}
"""The context of a call that has none."""


class Unknown(Unjudged):
    """A clause about a value that is compared with a missing one."""

    __slots__ = ()


class OtherValue:
    """The value that another name of the call means."""

    def __init__(self, operand: Operand) -> None:
        self._of_context = operand.of_context
        self._path = ValuePath(operand.name)
        self.subject = f'{"context" if operand.of_context else "parameter"} "{operand.name}"'
        self._missing = Unknown(f"to be compared with {self.subject}, which is missing")
        self._hidden = Unjudged(f"to be compared with {self.subject}, which cannot be found")

    def values(self, parameters: Json, context: Json) -> tuple[list[Any], Unjudged | None]:
        """Each value once, or why there is none."""
        try:
            values, missing = self._path.find(context if self._of_context else parameters)
        except Ambiguous:
            return [], self._hidden
        return values, self._missing if missing else None

    def text(self, parameters: Json, context: Json) -> str:
        """Its value if that is one text; else why there is none, which is Unjudged."""
        values, fault = self.values(parameters, context)
        if fault is not None:
            return fault
        if len(values) != 1 or type(values[0]) is not str:
            return Unjudged(f"to be judged with {self.subject}, which is not one text")
        return str(values[0])
