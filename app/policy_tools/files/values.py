"""What differs between environments: a file of named values, which policy files of all environments refer to.

`{$value: NAME}` in a policy file stands for the value of that name: for a whole scalar or list below `rules`, or for
`enabled` and `mode`.
"""

from pathlib import Path
from typing import Any

from msgspec import Struct

from app.policy_tools.files.documents import Document, Steps

REFERENCE = "$value"
_OWN = ("enabled", "mode")
_IN_POLICY = 3
"""The steps of the path of a policy's field: `policies`, its place, its name."""


class ValuesError(ValueError):
    """A reference that cannot be filled in, or a file of values that is none: line (from 1) and sentence."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class Values(Struct, frozen=True):
    """The values of one environment: scalars and lists of scalars by name, and the line of each."""

    path: Path
    by_name: dict[str, Any]
    lines: dict[str, int]

    def place_of(self, name: str) -> str:
        """Where the value stands: file and line."""
        return f"{self.path}:{self.lines.get(name, 1)}"


def values_of(path: Path, document: Document) -> Values:
    """The document as a file of values. Raises ValuesError."""
    by_name = document.value
    if not isinstance(by_name, dict):
        raise ValuesError(1, "must be an object of values by name, such as `max_refund: 500`")
    for name, value in by_name.items():
        members = value if isinstance(value, list) else [value]
        if any(isinstance(each, dict | list) for each in members):
            message = f'"{name}" must be a scalar or a list of scalars; everything else is the same in all environments'
            raise ValuesError(document.lines.get((name,), 1), message)
    return Values(path, by_name, {name: document.lines.get((name,), 1) for name in by_name})


class Filled(Struct, frozen=True):
    """A document without references. names: the name of the value that stands at each path."""

    document: Document
    names: dict[Steps, str]


def filled(document: Document, values: Values | None) -> Filled:
    """The document with its references filled in; values: None if there are none. Raises ValuesError."""
    names: dict[Steps, str] = {}
    value = _filled(document, values, (), document.value, names)
    return Filled(Document(value, document.lines), names)


def _filled(document: Document, values: Values | None, path: Steps, value: Any, names: dict[Steps, str]) -> Any:
    if isinstance(value, list):
        return [_filled(document, values, (*path, place), each, names) for place, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if REFERENCE not in value:
        return {name: _filled(document, values, (*path, name), each, names) for name, each in value.items()}
    line = document.lines.get(path, 1)
    name = value[REFERENCE]
    if len(value) > 1 or not isinstance(name, str):
        raise ValuesError(line, f"a reference to a value is {{{REFERENCE}: NAME}} and has nothing else")
    if not _may_vary(path):
        message = (
            f'{{{REFERENCE}: {name}}} may stand for a scalar or a list below "rules", for "enabled" and for "mode"'
        )
        raise ValuesError(line, message)
    if values is None:
        raise ValuesError(line, f"{{{REFERENCE}: {name}}} needs a file of values; name it with --values")
    if name not in values.by_name:
        raise ValuesError(line, f'"{name}" is not in {values.path}')
    names[path] = name
    return values.by_name[name]


def _may_vary(path: Steps) -> bool:
    """True if the value at this path of a policy file may differ between environments."""
    if len(path) < _IN_POLICY or path[0] != "policies":
        return False
    if len(path) == _IN_POLICY:
        return path[-1] in _OWN
    # A rule is an object, and its type says what it is.
    return path[2] == "rules" and len(path) > _IN_POLICY + 1 and path[_IN_POLICY + 1 :] != ("type",)
