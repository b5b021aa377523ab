"""Captures what a replica sends to the store for one decision, and sends it again any number of times."""

import re
import socket
import urllib.request
from collections.abc import Sequence
from typing import Any, Self

import hiredis

from bench.harness.closed_loop import Call, WrongAnswer
from bench.harness.processes import Baseline, Replica, Store

_WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|.)")
_ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}


class StoreConnection:
    """A plain connection to the store."""

    def __init__(self, store: Store) -> None:
        self._socket = socket.create_connection(("127.0.0.1", store.port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def reply(self) -> Any:
        """The next reply. Raises RuntimeError if it is an error."""
        while (reply := self._reader.gets()) is False:
            self._reader.feed(self._socket.recv(65536))
        if isinstance(reply, hiredis.ReplyError):
            raise RuntimeError(str(reply))  # noqa: TRY004 - what the store says, not a wrong type of ours
        return reply

    def call(self, *words: bytes) -> Any:
        """The reply of one command."""
        self.send(packed(words))
        return self.reply()


def ask(server: Replica | Baseline, call: Call) -> bytes:
    """The answer to one call. Raises if it is not 200."""
    headers = {"Content-Type": "application/json"}
    if call.raw_key:
        headers["Authorization"] = f"Bearer {call.raw_key}"
    url = f"http://127.0.0.1:{server.port}{call.path}"
    request = urllib.request.Request(url, call.body, headers, method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bytes(answer.read())


def commit_of(store: Store, replica: Replica, call: Call) -> list[bytes]:
    """The words of the command by which the replica commits this call."""
    ask(replica, call)  # by now the replica knows the key and the agent, so the next call is the commit alone
    with StoreConnection(store) as monitor:
        monitor.call(b"MONITOR")
        ask(replica, call)
        while True:
            line: bytes = monitor.reply()
            words = [_unescaped(word) for word in _WORD.findall(line)]
            if b" lua]" not in line and words and words[0].upper() in {b"EVALSHA", b"FCALL"}:
                return words


def send_many(connection: StoreConnection, words: Sequence[bytes], calls: int, together: int) -> None:
    """Send the command `calls` times, several in flight at once. Raises WrongAnswer unless each is committed."""
    command = packed(words)
    for _ in range(calls // together):
        connection.send(command * together)
        for _ in range(together):
            reply = connection.reply()
            if reply != 1 and reply[0] != b"committed":
                raise WrongAnswer(f"the store said {reply!r}")


def packed(words: Sequence[bytes]) -> bytes:
    """The words as one command in the store's protocol."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def _unescaped(word: bytes) -> bytes:
    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes.fromhex(code[1:].decode()) if code[:1] == b"x" and len(code) == 3 else _ESCAPED.get(code, code)

    return _ESCAPE.sub(plain, word)
