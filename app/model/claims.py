"""Claims: what never happens, whatever an agent calls."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from app.model.bounds import ExampleCall
from app.model.constraints import Constraints, require_constraints
from app.model.decisions import Result
from app.model.fields import Count
from app.model.sequences import ToolPattern, require_patterns
from app.model.text import FieldError, Name, require_visible

HOLDS = "holds"


class ClaimedCalls(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The calls that a claim is about.

    tool: The tool, `prefix*` or `*`.
    parameters: What each named parameter is in these calls; all parameters if left out.
    context: The same for what the caller vouches for.
    """

    tool: ToolPattern
    parameters: Constraints | UnsetType = UNSET
    context: Constraints | UnsetType = UNSET

    def __post_init__(self) -> None:
        require_patterns("tool", [self.tool])
        if self.parameters is not UNSET or self.context is not UNSET:
            require_constraints(self.parameters, self.context)


class Claim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Calls that never get some results: at no time, with no limits free or full, and after nothing.

    name: What it claims.
    call: The calls that it is about.
    result: The result, or the results, that none of them gets.
    """

    name: Name
    call: ClaimedCalls
    result: Result | Annotated[list[Result], Meta(min_length=1, max_length=3)]

    def __post_init__(self) -> None:
        require_visible("name", self.name)
        if len(set(self.results)) < len(self.results):
            raise FieldError("result", "names a result twice")

    @property
    def results(self) -> list[Result]:
        """The results that none of the calls gets."""
        return self.result if isinstance(self.result, list) else [self.result]


class BreakingCall(ExampleCall, frozen=True):
    """A call that breaks a claim.

    tool: The tool that is called.
    """

    tool: str


class ClaimResult(Struct, frozen=True):
    """What was found about a claim.

    name: The claim's name.
    holds: True if no call breaks it; false if one does; null if none was found and that is no proof.
    broken_by: A call that breaks it; null if none was found.
    tried: How many calls were judged.
    because: Why it is no proof; empty otherwise.
    """

    name: str
    holds: bool | None
    broken_by: BreakingCall | None
    tried: Count
    because: list[str]

    @property
    def in_words(self) -> str:
        """What was found, in a few words."""
        if self.holds:
            return HOLDS
        if self.broken_by is None:
            calls = "1 call" if self.tried == 1 else f"{self.tried:,} calls"
            return f"tried {calls}, not a proof: {'; '.join(self.because)}"
        return "is broken"
