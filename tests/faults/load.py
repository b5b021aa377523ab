"""Callers that ask for decisions while a test breaks things, and remember every request and answer."""

import http.client
import itertools
import json
import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from background import Background
from oracle import Call

TOOL = "orders.read"
_RETRY_S = 0.01
KINDS = {
    "answered": lambda call: call.answer is not None,
    "refused": lambda call: call.status not in (None, 200),
    "cut": lambda call: call.status is None and call.received is not None and call.sends,
}


def ask_in_turn(agent_ids: Sequence[str]) -> Callable[[int], dict[str, Any]]:
    """Calls of each agent in turn."""
    return lambda number: {
        "agent_id": agent_ids[number % len(agent_ids)],
        "tool_name": TOOL,
        "parameters": {"call": number},
    }


class Load(Background):
    """`count` callers, each with a connection that it keeps open, until the context ends.

    ports: where the replicas or the balancer listen; callers are spread over them.
    question: the body for a call's number; numbers are never used twice in a process.
    kept: takes every call, beside `calls`.
    idempotent: every call has an Idempotency-Key and is sent until it is answered.
    keep_alive: false = a connection for every call.
    pause_s: between a caller's calls. Without any, callers take the cores from whatever else the test waits for.
    wrong: answers that were neither a decision nor 503 STORE_UNAVAILABLE.
    """

    numbers = itertools.count(1)

    def __init__(
        self,
        ports: int | Iterable[int],
        key: str,
        question: Callable[[int], dict[str, Any]],
        kept: list[Call],
        *,
        count: int = 4,
        idempotent: bool = False,
        keep_alive: bool = True,
        pause_s: float = 0.005,
    ) -> None:
        super().__init__(count)
        self.calls: list[Call] = []
        self.wrong: list[str] = []
        self._ports = [ports] if isinstance(ports, int) else list(ports)
        self._key = key
        self._question = question
        self._kept = kept
        self._idempotent = idempotent
        self._keep_alive = keep_alive
        self._pause_s = pause_s

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        assert not any(thread.is_alive() for thread in self._threads)

    @property
    def answered(self) -> list[Call]:
        return list(filter(KINDS["answered"], self.calls))

    @property
    def refused(self) -> list[Call]:
        """Answered without a decision."""
        return list(filter(KINDS["refused"], self.calls))

    @property
    def cut(self) -> list[Call]:
        """The connection was made, and ended before an answer came."""
        return list(filter(KINDS["cut"], self.calls))

    def after(self, count: int, kind: str = "answered", seconds: float = 180) -> None:
        """Return when so many calls sent from now on are `answered`, `refused` or `cut`."""
        start, deadline = time.monotonic_ns(), time.monotonic() + seconds
        since = max(0, len(self.calls) - len(self._threads))  # each caller may have one that it has not sent yet
        while sum(call.sent > start for call in filter(KINDS[kind], self.calls[since:])) < count:
            if time.monotonic() > deadline:
                raise AssertionError(f"no {count} calls were {kind} in {seconds} s; wrong: {self.wrong[:3]}")
            time.sleep(0.01)

    def _run(self, number: int) -> None:
        caller = Caller(self._ports[number % len(self._ports)], self._key, self._keep_alive)
        while not self._stopping.is_set():
            number = next(Load.numbers)
            call = Call(number, self._question(number), f"call-{number}" if self._idempotent else None)
            self.calls.append(call)
            self._kept.append(call)
            while True:
                caller.send(call)
                if call.status not in (None, 200) and b'"STORE_UNAVAILABLE"' not in caller.last:
                    self.wrong.append(f"{call.status} {caller.last}")
                if call.answer is not None or not self._idempotent or self._stopping.is_set():
                    break
                time.sleep(random.uniform(0.5, 1.5) * _RETRY_S)
            if pause_s := _RETRY_S if call.answer is None else self._pause_s:
                self._stopping.wait(pause_s)
        caller.close()


class Caller:
    """One connection; what went wrong with a request is in its Call."""

    def __init__(self, port: int, key: str, keep_alive: bool = True) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        if not keep_alive:
            self._headers["Connection"] = "close"
        self.last = b""

    def send(self, call: Call) -> Call:
        """Send it, once; its answer, if one comes, is in the call, and no answer from before."""
        headers = self._headers if call.key is None else self._headers | {"Idempotency-Key": call.key}
        call.status, call.received, call.answer = None, None, None
        call.sent = call.sent or time.monotonic_ns()
        try:
            if self._connection.sock is None:
                self._connection.connect()  # nobody has accepted anything before this
            call.sends += 1
            self._connection.request("POST", "/v1/authorize", json.dumps(call.body), headers)
            response = self._connection.getresponse()
            self.last = response.read()
            call.status = response.status
            if response.status == 200:
                call.answer = json.loads(self.last)
        except (OSError, http.client.HTTPException):
            self._connection.close()
        call.received = time.monotonic_ns()
        return call

    def use_key(self, key: str) -> None:
        """Send as another caller from now on."""
        self._headers["Authorization"] = f"Bearer {key}"

    def close(self) -> None:
        self._connection.close()
