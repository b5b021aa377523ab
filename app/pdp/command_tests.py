"""The test of a shell line against a `command` constraint, in the directories that the call's context names."""

from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Any

from msgspec import Struct

from app.cancellation import raise_if_cancelled
from app.language.ambiguous import Ambiguous
from app.model.command_constraint import CommandConstraint
from app.model.constraints import Operand
from app.model.context_roots import CWD
from app.pdp.clauses import Test, Unjudged, redacted, shown
from app.pdp.operands import Json, OtherValue
from app.pdp.shell_commands import CommandJudge, JudgedCommand, Places, places_of


class Unread(Enum):
    """What a line that cannot be read does to a test: it fails, it passes, or it alone fails."""

    FAILS = "fails"
    PASSES = "passes"
    ALONE_FAILS = "alone fails"


class CommandReport(Struct, frozen=True):
    """What a line runs, command by command. why: why it cannot be judged, and then there are no commands."""

    commands: list[JudgedCommand]
    why: str | None = None


class CommandTest:
    """Tests lines by one constraint. With `secret`, no clause shows a part of the line."""

    def __init__(
        self,
        constraint: CommandConstraint,
        *,
        secret: bool,
        is_secret: Callable[[str], bool] | None = None,
        unread: Unread = Unread.FAILS,
    ) -> None:
        self._judge = CommandJudge(constraint)
        self._secret, self._is_secret, self._unread = secret, is_secret, unread
        self._root = constraint.root if isinstance(constraint.root, str) else None
        self._root_value = None if constraint.root_name is None else OtherValue(Operand(context=constraint.root_name))
        self._needs_places = constraint.needs_root
        self._start = OtherValue(Operand(context=CWD))

    def __call__(self, parameters: Json, context: Json) -> Test:
        """The test of lines in this call."""
        places = self._places(parameters, context)

        def test(value: Any) -> str | None:
            if type(value) is not str or isinstance(places, Unjudged):
                fault = places if isinstance(places, Unjudged) and type(value) is str else _NO_LINE
                return None if self._unread is Unread.ALONE_FAILS else fault
            raise_if_cancelled()
            try:
                failure = self._judge.first_failure(value, places)
            except Ambiguous as error:
                return None if self._unread is Unread.PASSES else Unjudged(f"no line that can be judged: it {error}")
            if failure is None or self._unread is Unread.ALONE_FAILS:
                return None
            return self._clause(*failure)

        return test

    def report(self, line: Any, parameters: Json, context: Json) -> CommandReport:
        """What the line runs in this call."""
        places = self._places(parameters, context)
        if isinstance(places, Unjudged):
            return CommandReport([], f"it is {places}")
        if type(line) is not str:
            return CommandReport([], "it is no text")
        try:
            return CommandReport(self._judge.commands(line, places))
        except Ambiguous as error:
            return CommandReport([], f"it {error}")

    def _clause(self, text: str, why: str) -> str:
        if self._secret:
            return "and a command in the line is not allowed"
        return f"and {shown(text, self._is_secret)} in the line is not allowed: {redacted(why, self._is_secret)}"

    def _places(self, parameters: Json, context: Json) -> Places | None | Unjudged:
        if not self._needs_places:
            return None
        root = self._root
        if self._root_value is not None:
            root = self._root_value.text(parameters, context)
        start = self._start.text(parameters, context)
        for value in (root, start):
            if isinstance(value, Unjudged):
                return value
        try:
            return _places_of(str(root), str(start))
        except Ambiguous as error:
            return Unjudged(f"to be judged in a project, but the call {error}")


_NO_LINE = Unjudged("not a text that could be a shell line")
_places_of = lru_cache(maxsize=256)(places_of)
