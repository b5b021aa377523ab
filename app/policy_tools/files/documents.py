"""YAML and JSON documents as plain values with line numbers. All sizes are limited, and nothing is guessed.

YAML is read by the core schema of 1.2: `no`, `12:30` and 2026-11-20 are strings. Tags, further documents and repeated
keys are refused.
"""

import json
import re
from collections.abc import Hashable
from typing import Any

import yaml
from msgspec import Struct

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 48
MAX_PARTS = 200_000
"""The most values in a file, counting the values of an alias each time it is used."""

_INT = re.compile(r"[-+]?[0-9]{1,300}").fullmatch
_BASED = re.compile(r"0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}").fullmatch
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?").fullmatch
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
Steps = tuple[str | int, ...]


class DocumentError(ValueError):
    """A file that is not a valid document, and the line (from 1) of the error."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class Document(Struct, frozen=True):
    """The content of a document. lines: the line (from 1) of each value by its path; () is the path of the whole."""

    value: Any
    lines: dict[Steps, int]

    def line_of(self, path: str) -> int:
        """The line of the value at a JSON path such as `$.policies[0].rules`, or of its nearest existing parent."""
        steps = steps_of(path)
        while steps not in self.lines and steps:
            steps = steps[:-1]
        return self.lines.get(steps, 1)

    def inside(self, *steps: str | int) -> "Document":
        """The value at a path below, with its lines in the whole document."""
        value = self.value
        for step in steps:
            value = value[step]
        size = len(steps)
        return Document(value, {path[size:]: line for path, line in self.lines.items() if path[:size] == steps})


def read_document(raw: bytes) -> Document:
    """The only document in the file. Raises DocumentError."""
    if len(raw) > MAX_BYTES:
        raise DocumentError(1, "has more than 1 MiB; give each owner a file of its own")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(1 + raw[: error.start].count(b"\n"), "is not UTF-8") from None
    if text.lstrip().startswith(("{", "[")):
        return _read_json(text)
    return _read_yaml(text)


def _read_json(text: str) -> Document:
    """The value parsed as JSON, which allows strings that YAML does not. Lines come from YAML, where it can be read."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        with_yaml = _flow_yaml(text)
        if with_yaml is not None:
            return with_yaml
        raise DocumentError(error.lineno, f"is not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise DocumentError(1, f"values are nested more than {MAX_DEPTH} levels deep") from None
    except ValueError as error:
        raise DocumentError(_line_of_twice(text), str(error)) from None
    lines = _flow_yaml(text)
    return Document(value, {} if lines is None else lines.lines)


def _flow_yaml(text: str) -> Document | None:
    try:
        return _read_yaml(text)
    except DocumentError:
        return None


def _line_of_twice(text: str) -> int:
    """The line at which YAML finds the repeated key that JSON refused, too."""
    try:
        _read_yaml(text)
    except DocumentError as error:
        return error.line
    return 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for name, value in pairs:
        if name in unique:
            raise ValueError(f'"{name}" is given twice in one object')
        unique[name] = value
    return unique


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number of JSON")


def _read_yaml(text: str) -> Document:
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=_Loader):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise DocumentError(line, f"is neither YAML nor JSON: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", "it cannot be read")
        raise DocumentError(reader.line, f"is neither YAML nor JSON: {reason}") from None
    if not reader.documents:
        raise DocumentError(1, "is empty")
    return Document(reader.root, reader.lines)


class _Open(Struct):
    """An object or a list that is being read.

    first: the number of values before it. key: in an object, the key whose value comes next.
    """

    value: Any
    path: Steps
    anchor: str | None
    first: int
    key: Any = None
    has_key: bool = False


class _Reader:
    """Builds values from a parser's events, without recursion."""

    def __init__(self) -> None:
        self.root: Any = None
        self.lines: dict[Steps, int] = {}
        self.line = 1
        self.documents = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._parts = 0

    def take(self, event: Any) -> None:
        """Process one more event."""
        self.line = event.start_mark.line + 1
        if getattr(event, "tag", None) is not None:
            raise DocumentError(self.line, f"{event.tag} is a tag of YAML; leave it out, and put quotes around strings")
        match event:
            case yaml.DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    raise DocumentError(self.line, "a second document begins; a file has one")
            case yaml.MappingStartEvent():
                self._begin({}, event.anchor)
            case yaml.SequenceStartEvent():
                self._begin([], event.anchor)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                done = self._open.pop()
                if done.anchor:
                    self._anchors[done.anchor] = (done.value, self._parts - done.first)
            case yaml.ScalarEvent() | yaml.AliasEvent():
                self._put(self._leaf(event))

    def _leaf(self, event: Any) -> Any:
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise DocumentError(self.line, f"*{event.anchor} refers to nothing that is complete before it")
            value, size = self._anchors[event.anchor]
            self._parts += size - 1
            return value
        value = _plain(event.value, self.line) if event.implicit[0] else event.value
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        return value

    def _begin(self, value: Any, anchor: str | None) -> None:
        first, path = self._parts, self._put(value)
        if len(self._open) >= MAX_DEPTH:
            raise DocumentError(self.line, f"values are nested more than {MAX_DEPTH} levels deep")
        self._open.append(_Open(value, path, anchor, first))

    def _put(self, value: Any) -> Steps:
        """Put the value into the open object or list; return its path."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise DocumentError(self.line, f"contains more than {MAX_PARTS} values")
        if not self._open:
            self.root = value
            path: Steps = ()
        else:
            holder = self._open[-1]
            if isinstance(holder.value, list):
                path = (*holder.path, len(holder.value))
                holder.value.append(value)
            elif not holder.has_key:
                holder.key, holder.has_key = self._as_key(value, holder.value), True
                return holder.path
            else:
                path = (*holder.path, holder.key)
                holder.value[holder.key], holder.has_key = value, False
        self.lines.setdefault(path, self.line)
        return path

    def _as_key(self, value: Any, holder: dict[str, Any]) -> str:
        if isinstance(value, dict | list) or not isinstance(value, Hashable):
            raise DocumentError(self.line, "the name of a field must be a string")
        key = value if isinstance(value, str) else json.dumps(value)
        if key in holder:
            raise DocumentError(self.line, f'"{key}" is given twice in one object')
        return key


def _plain(text: str, line: int) -> Any:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT(text):
        return int(text)
    if _BASED(text):
        return int(text, 0)
    if _FLOAT(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise DocumentError(
                line, "contains a number that is too large; numbers are 64-bit floats or shorter integers"
            )
        return number
    return text


def steps_of(path: str) -> Steps:
    """The steps of a JSON path. A name with dots becomes several steps, which still leads to the nearest line."""
    return tuple(int(index) if index else name for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path))
