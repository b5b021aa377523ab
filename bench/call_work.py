"""How much of a core can one call take before it is decided? The worst of many generated calls of each kind."""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import json

from app.errors import AppError
from app.http.api.authorize import read_call
from app.http.tool_calls import MAX_CALL_BYTES, Reading
from app.redaction.redactor import Redactor
from app.redaction.signer import Signer
from app.settings import Settings
from bench.harness.bench import Bench
from bench.harness.table import Goal, Row, Table

MOST_MS = 50.0
_ROOM = MAX_CALL_BYTES - 64 * 1024
_SHORT, _LONG = 1_900, 4_096
_PIECES = (
    *(
        "password",
        "token",
        "a",
        "value",
        "name",
        "x",
        "é",
        "id",
        "echo ",
        "login ",
        "basic ",
        "bearer ",
        "curl ",
        "-u ",
    ),
    *("=", ":", ": ", '"', "'", "\\", '\\"', "\n", "  ", "<", ">", "(", "[", "{", "|", "&", ";", "@", "://", "--", "/"),
    *('id="a"', 'name="password" ', 'value="', '"password":', "password: |\n", "<password>", "set password(", "pass="),
    *("identified by ", "secret generic ", "--from-literal=", "--password-stdin", "mysql -p", "AKIA" + "Q" * 16),
    *("?sig=aaaaaaaa ", "postgres://", "jdbc:oracle:a:", "-----BEGIN A-----", "eyJaaaaaaaa", "config set ", '"""'),
)
_PLAIN = '{"agent_id":"8a3d2a52-6f0e-4f39-8d3b-0a8a4b4c4b4c","tool_name":"a","parameters":'


def measure(bench: Bench) -> Table:
    """Each call is read twice, and the shorter time counts."""
    chance = random.Random(7)
    number = max(5, int(40 * bench.seconds))
    kinds: dict[str, Callable[[], Any]] = {
        "plain strings": lambda: ["x" * _SHORT] * 30,
        "short strings that name secrets": lambda: _strings(_unit(chance), _SHORT),
        "long strings": lambda: _strings(_unit(chance), _LONG),
        "both, in turns": lambda: _strings(_unit(chance), _SHORT)[::2] + _strings(_unit(chance), _LONG)[::2],
        "very short strings": lambda: ["pw" + _unit(chance)[:6]] * 9_000,
        "short lists of options": lambda: [["-" + _unit(chance)[:6], "-p"]] * chance.choice((300, 1_000, 3_000)),
        "JSON in strings": lambda: [_members(chance, 180)] * 300,
        "names": lambda: {f"pw{chance.randrange(10**6)}": number for number in range(8_180)},
        "numbers": lambda: [1.7e300] * 9_000,
    }
    rows = []
    for label, made in kinds.items():
        bodies = (_PLAIN.encode() + json.encode({"a": made()}) + b"}" for _ in range(number))
        spent = [_read_ms(body) for body in bodies if len(body) <= MAX_CALL_BYTES]
        rows.append(Row(label=label, samples=[{"worst ms": max(spent), "median ms": sorted(spent)[len(spent) // 2]}]))
    worst = max(row.samples[0]["worst ms"] for row in rows)
    return Table(
        name="call_work",
        question="how much of a core can one call take before it is decided?",
        command=bench.command,
        columns={"worst ms": ".1f", "median ms": ".1f"},
        rows=rows,
        baseline="plain strings",
        compared="worst ms",
        first_column=f"Calls of up to {MAX_CALL_BYTES // 1024} KiB with",
        goals=[Goal(wanted="the worst, ms", bound=MOST_MS, at_least=False, measured=worst)],
        left_out=[
            f"{number} calls of each kind are generated from parts that make the search for secrets work hardest.",
            "Decoding, checks and redaction are measured, in CPU time; what policies then cost is in `stalls`.",
        ],
    )


def _unit(chance: random.Random) -> str:
    return "".join(chance.choices(_PIECES, k=chance.choice((1, 2, 2, 3, 4, 8, 20))))


def _strings(unit: str, size: int) -> list[str]:
    """As many strings of this size as fit, each begins with what makes a search for secrets necessary."""
    text = ("password " + unit * size)[:size]
    return [text] * (_ROOM // len(json.encode(text)))


def _members(chance: random.Random, number: int) -> str:
    return json.encode({f"pw{chance.randrange(10**6)}": 1 for _ in range(number)}).decode()


def _read_ms(body: bytes) -> float:
    """CPU time in milliseconds. Nothing is remembered of earlier calls."""
    return min(_timed(body) for _ in range(2))


def _timed(body: bytes) -> float:
    reading = Reading(Redactor(Settings().redact.split(",")), "w", Signer([b"n" * 32]))
    began = time.thread_time()
    with suppress(AppError):
        read_call(body, reading)
    return (time.thread_time() - began) * 1000
