"""The files a replay is made of: tool calls, and the policies they are judged by."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class CannotBegin(Exception):
    """Something must be put right before a call can be sent; the message says what."""


def described(error: Exception) -> str:
    """The error in words."""
    return (error.strerror if isinstance(error, OSError) else str(error)) or type(error).__name__


def read_calls(path: Path, only: Sequence[tuple[str, str]] = ()) -> list[dict[str, Any]]:
    """The calls of a file that have all fields `only`, in its order. Raises CannotBegin."""
    calls = []
    for number, line in enumerate(_text_of(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            call = json.loads(line)
            if type(call["tool"]) is not str or type(call["arguments"]) is not dict:
                raise TypeError  # noqa: TRY301 - the same fault as having neither
        except (ValueError, KeyError, TypeError):
            wanted = "a JSON object with `tool`, a text, and `arguments`, an object"
            raise CannotBegin(f"{path}, line {number}: is not {wanted}") from None
        if all(str(call.get(field)) == value for field, value in only):
            calls.append(call)
    if not calls:
        raise CannotBegin(f"{path}: has no call" + "".join(f" with {field}={value}" for field, value in only))
    return calls


def read_policies(path: Path, enable: Sequence[str] = (), *, any_hour: bool = False) -> dict[str, Any]:
    """The agent and the policies of a file as they shall be created. Raises CannotBegin.

    enable: names of policies that are enabled whatever the file says.
    any_hour: every time window is open at all hours of all days.
    """
    try:
        bodies: dict[str, Any] = json.loads(_text_of(path))
        by_name = {policy["name"]: policy for policy in bodies["policies"]}
        rules = [rule for policy in bodies["policies"] for rule in policy["rules"]]
    except (ValueError, KeyError, TypeError):
        wanted = '{"agent": ..., "policies": [...]} with a name and rules in every policy'
        raise CannotBegin(f"{path}: is not {wanted}") from None
    for name in enable:
        if name not in by_name:
            raise CannotBegin(f'--enable: {path} has no policy "{name}"; it has {", ".join(by_name)}')
        by_name[name]["enabled"] = True
    for rule in rules:
        if any_hour and "timeWindow" in rule:
            rule["timeWindow"] = {"allowedHours": list(range(24))}
    return bodies


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotBegin(f"{path}: {described(error)}") from None
