"""The cases of tests/cases, read. tests/cases/README.md gives the format."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

CASES = Path(__file__).parents[1] / "cases"


class RuleWanted(Struct, forbid_unknown_fields=True):
    index: int
    type: str


class ShadowWanted(Struct, forbid_unknown_fields=True):
    """What the entry says would have been decided."""

    result: str
    policy: str
    rule: RuleWanted


class Wanted(Struct, forbid_unknown_fields=True, rename="camel"):
    result: str
    policy: str | None
    rule: RuleWanted | None
    reason: str | UnsetType = UNSET
    retry_after_seconds: float | None | UnsetType = UNSET
    shadow: ShadowWanted | None = None

    @property
    def retry_us(self) -> int | None:
        return self.retry_after_seconds and round(self.retry_after_seconds * 1_000_000)


class RuleOf(Struct, forbid_unknown_fields=True):
    policy: str
    rule: int


class Edit(Struct, forbid_unknown_fields=True):
    policy: str
    patch: dict[str, Any]


class Call(Struct, forbid_unknown_fields=True):
    now: str
    tool_name: str
    wanted: Wanted
    action: str = "authorize"
    parameters: dict[str, Any] = {}
    context: dict[str, Any] | None = None
    full: list[RuleOf] = []
    edits: list[Edit] = []
    reported: dict[str, dict[str, Any]] = {}
    resumed: bool = False

    @property
    def now_us(self) -> int:
        return (datetime.fromisoformat(self.now) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


class Refused(Struct, forbid_unknown_fields=True):
    path: str
    message: str


class Case(Struct, forbid_unknown_fields=True):
    name: str
    description: str
    policies: list[dict[str, Any]]
    agent: dict[str, Any] = {}
    calls: list[Call] = []
    refused: Refused | None = None


def cases_by_file() -> dict[str, list[Case]]:
    """The cases of each file, under its name without `.json`."""
    decode = msgspec.json.Decoder(list[Case]).decode
    return {path.stem: decode(path.read_bytes()) for path in sorted(CASES.glob("*.json"))}


def all_cases() -> list[Case]:
    return [case for cases in cases_by_file().values() for case in cases]
