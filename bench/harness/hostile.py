"""Inputs made to block the event loop: JSON bombs, costly patterns, and the strings on which they are costly.

All sizes are within what the service reads, or one step beyond. Nothing is random.
"""

import json
from collections.abc import Mapping
from itertools import cycle, islice
from typing import Any

MOST = 256 * 1024
AGENT = "01931f2e-7a51-7cc0-9e55-3f6f6d1a2b01"


def _call(parameters: bytes) -> bytes:
    """The body of an authorize request with these parameters."""
    return b'{"agent_id":"%b","tool_name":"file.read","parameters":%b}' % (AGENT.encode(), parameters)


def _fill(unit: bytes, most: int = MOST - 512, joint: bytes = b",") -> bytes:
    """As many copies of the unit as fit, joined."""
    return joint.join([unit] * (most // (len(unit) + len(joint))))


def _numbered(form: str, most: int = MOST - 512) -> bytes:
    """`form` with 0, 1, 2, … in place of %d or %x, joined by commas, as many as fit."""
    made: list[str] = []
    length = 0
    while length < most:
        made.append(form % len(made))
        length += len(made[-1]) + 1
    return ",".join(made[:-1]).encode()


JSON_BOMBS: Mapping[str, bytes] = {
    "open brackets": b"[" * MOST,
    "open objects": _fill(b'{"a":', joint=b""),
    "brackets in pairs": b"[" * (MOST // 2) + b"]" * (MOST // 2),
    "33 levels, then flat": _call(b"[" * 33 + _fill(b"[]", MOST - 1024) + b"]" * 33),
    "empty lists": _call(b'{"a":[' + _fill(b"[]") + b"]}"),
    "empty objects": _call(b'{"a":[' + _fill(b"{}") + b"]}"),
    "32 levels, side by side": _call(b'{"a":[' + _fill(b"[" * 30 + b"]" * 30) + b"]}"),
    "a text that does not end": b'{"a":"' + b'\\"' * (MOST // 2 - 8),
    "a text of escapes": _call(b'{"a":"' + b"\\u0041" * (MOST // 6 - 32) + b'"}'),
    "a text of colons": _call(b'{"a":"' + b'\\":' * (MOST // 3 - 64) + b'"}'),
    "half a surrogate": _call(b'{"a":"\\ud800"}'),
    "what is no UTF-8": _call(b'{"a":"' + b"\xff" * (MOST - 512) + b'"}'),
    "many names": _call(b"{" + _numbered('"n%d":0') + b"}"),
    "many secret names": _call(b"{" + _numbered('"aPasswordOf%d":{"token":[0]}') + b"}"),
    "names of many words": _call(b"{" + _numbered('"' + "aB" * 400 + '%d":0') + b"}"),
    "one name of many words": _call(b'{"' + b"aB" * (MOST // 2 - 128) + b'":0}'),
    "a name given twice at the end": _call(b"{" + _numbered('"n%d":":"') + b',"n0":1}'),
    "a long number": _call(b'{"a":' + b"9" * (MOST - 512) + b"}"),
    "a long fraction": _call(b'{"a":0.' + b"1" * (MOST - 512) + b"}"),
    "exponents": _call(b'{"a":[' + _fill(b"1e308") + b"]}"),
    "an exponent too large": _call(b'{"a":[' + _fill(b"1e309") + b"]}"),
    "floats": _call(b'{"a":[' + _fill(b"0.1234567890123456789") + b"]}"),
    "white space": _call(b'{"a":0' + b" " * (MOST - 512) + b"}"),
    "texts": _call(b'{"a":[' + _fill(b'""') + b"]}"),
    "64 KiB of lists": _call(b'{"a":[' + _fill(b"[10,20]", 64_000) + b"]}"),
    "64 KiB of names": _call(b"{" + _numbered('"n%d":0', 64_000) + b"}"),
    "64 KiB, and a name given twice at the end": _call(b"{" + _numbered('"n%d":":"', 64_000) + b',"n0":1}'),
    "64 KiB of secrets": _call(b"{" + _numbered('"aPasswordOf%d":{"t":0}', 64_000) + b"}"),
    "64 KiB of names that begin like secrets": _call(b"{" + _numbered('"pinx%x":0', 64_000) + b"}"),
    "64 KiB of words": _call(b'{"' + b"aB" * 32_000 + b'":0}'),
    "64 KiB of words that are nearly secrets": _call(b'{"' + b"a_pinPIN" * 8_000 + b'":0}'),
    "500 large exponents": _call(b'{"a":[' + b",".join([b"1e308"] * 500) + b"]}"),
    "an unknown field, large": b'{"x":[' + _fill(b"[{}]") + b"]}",
}
"""Bodies of up to 256 KiB, by what makes them invalid or costly."""

LARGEST = 1024 * 1024

LARGE_CALLS: Mapping[str, bytes] = {
    "a text": _call(b'{"a":"' + b"x" * (LARGEST - 512) + b'"}'),
    "a text of escapes": _call(b'{"a":"' + b"\\u0041" * (LARGEST // 6 - 128) + b'"}'),
    "a text of escaped quotes": _call(b'{"a":"' + b'\\"' * (LARGEST // 2 - 256) + b'"}'),
    "a text of backslashes": _call(b'{"a":"' + b"\\\\" * (LARGEST // 2 - 256) + b'"}'),
    "a text of numbers and brackets": _call(b'{"a":"' + b"1.5e300 {[ : " * (LARGEST // 13 - 64) + b'"}'),
    "Chinese": _call(b'{"a":"' + "天".encode() * (LARGEST // 3 - 256) + b'"}'),
    "texts of 3 KiB": _call(b'{"a":[' + _fill(b'"' + b"a" * 3072 + b'"', LARGEST - 512) + b"]}"),
    "texts of 2 KB": _call(b'{"a":[' + _fill(b'"' + b"a" * 2000 + b'"', LARGEST - 512) + b"]}"),
    "texts of 30 bytes": _call(b'{"a":[' + _fill(b'"' + b"a" * 30 + b'"', LARGEST - 512) + b"]}"),
    "empty texts": _call(b'{"a":[' + _fill(b'""', LARGEST - 512) + b"]}"),
    "numbers": _call(b'{"a":[' + _fill(b"0", LARGEST - 512) + b"]}"),
    "names of many words": _call(b"{" + _numbered('"' + "aB" * 400 + '%d":0', LARGEST - 512) + b"}"),
    "one name of many words": _call(b'{"' + b"aB" * (LARGEST // 2 - 256) + b'":0}'),
    "a name given twice after a long text": _call(b'{"a":"' + b":x" * (LARGEST // 2 - 256) + b'","b":1,"b":2}'),
    "white space": _call(b'{"a":0' + b" " * (LARGEST - 512) + b"}"),
    "a text that does not end": b'{"a":"' + b'\\"' * (LARGEST // 2 - 256),
    "what is no UTF-8": _call(b'{"a":"' + b"\xff" * (LARGEST - 512) + b'"}'),
}
"""Bodies of calls, up to 1 MiB."""

PATTERNS: tuple[str, ...] = (
    "(a+)+$",
    "(a|aa)+$",
    "(a|a?)+$",
    "(.*a){20}$",
    r"^(\w+\s?)*$",
    r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@)[a-z0-9]+[.](([a-z]{2,3})|([a-z]{2,3}[.][a-z]{2,3}))$",
    "((x{10}){10}){10}",
    ".{1000}$",
    "a.{300}$",
    "(a|b)*a(a|b){100}$",
    "[^\\x00]{500}$",
    "a?" * 120 + "a" * 120,
    "(.?)*" * 60 + "!$",
    ".*" * 200 + "$",
    "(" * 100 + "a" + ")*" * 100 + "$",
    "(" + "|".join(f"{n:09b}".replace("0", "a").replace("1", "b") for n in range(50)) + ")+$",
    "(?i)(" + "|".join(f"{n:09b}".replace("0", "k").replace("1", "b") for n in range(50)) + ")+$",
)
"""Patterns that stall backtracking engines, and patterns for which RE2 must give up its fast automaton."""

REFUSED: tuple[str, ...] = (
    r"\pL{100}$",
    r"(\pL|\pN){20}$",
    r"[\pL\pN\pS\pP\pZ]{30}$",
    "(((a{100}){100}){100}){100}",
    ".{1000}.{1000}",
    "x{1001}",
    "(?=a)",
    r"(a)\1",
    "(" * 200 + "a",
    "[" * 512,
    "a**",
)
"""Patterns that no policy may contain: too large, or not in RE2's syntax."""


def _text(alphabet: str, length: int) -> str:
    return "".join(islice(cycle(alphabet), length))


TEXTS: Mapping[str, str] = {
    "a and an end": "a" * 65_000 + "!",
    "a and b": _text("abbabaababbabaaababbbabbaaababaabb", 65_000),
    "Chinese": _text("天地玄黃宇宙洪荒日月盈昃辰宿列張", 21_000),
    "of every kind": _text("".join(map(chr, range(33, 127))), 65_000),
}
"""Strings in which a pattern is searched, as long as `parameters` may be."""


def policy_body(rules: list[Any]) -> bytes:
    """The body of a new policy."""
    return json.dumps({"agent_id": AGENT, "name": "a policy", "rules": rules}, ensure_ascii=False).encode()


def _rules(count: int, **fields: Any) -> list[Any]:
    return [fields] * count


def _constraints(pattern: str, most: int = MOST) -> list[Any]:
    """As many constraints with patterns of this kind, each a little different, as a policy can hold."""
    unit = len(json.dumps({f"p{0:05}": {"regex": f"{pattern}|{0:05}"}})) + 2
    count = min(5_000, (most - 4096) // unit)
    named = [{f"p{n:05}": {"regex": f"{pattern}|{n:05}"}} for n in range(count)]
    shares = [named[at : at + 100] for at in range(0, count, 100)]
    return [
        {
            "type": "parameter_constraint",
            "tools": ["*"],
            "parameters": {name: each for one in share for name, each in one.items()},
        }
        for share in shares
    ][:50]


POLICY_BOMBS: Mapping[str, bytes] = {
    "patterns, small": policy_body(_constraints("a+")),
    "patterns, large": policy_body(_constraints(".{1000}")),
    "patterns, each larger than allowed": policy_body(_constraints(r"\pL{100}")),
    "tools": policy_body(_rules(50, type="tool_denylist", tools=["a"] * 1_000)),
    "tools that are none": policy_body(_rules(50, type="tool_denylist", tools=["a"] * 999 + ["*b"])),
    "unknown fields": policy_body(_rules(50, type="tool_denylist", tools=["a"], **{f"f{n}": n for n in range(300)})),
    "values": policy_body(
        _rules(
            20, type="parameter_constraint", tools=["*"], parameters={f"p{n}": {"enum": [n] * 100} for n in range(30)}
        )
    ),
    "51 rules": policy_body(_rules(51, type="tool_denylist", tools=["a"] * 1_000)),
    "zones": policy_body(
        _rules(50, type="time_based", tools=["*"], timeWindow={"allowedHours": [1], "timezone": "Europe/Paris"})
    ),
}
"""Bodies of POST /v1/policies, as large as they may be."""
