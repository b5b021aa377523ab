"""Parses HTTP/1.1 answers from bytes as they arrive.

This module reads what Remit itself sends: a status, headers, and a body with a Content-Length. h11 reads or refuses
anything else, such as an answer that a proxy has rewritten.
"""

from __future__ import annotations

import re

import h11
import httpx

from remit_client.wire import MAX_ANSWER_BYTES, Answer

MAX_HEAD_BYTES = 64 * 1024
FIRST_LINE = re.compile(rb"HTTP/1\.1 ([2-5][0-9][0-9])(?: [ -~]*)?")
HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([!-~](?:[ -~]*[!-~])?)?[ \t]*")
LENGTH = re.compile(r"[0-9]{1,9}")
WITHOUT_BODY = (204, 304)
ODD = ("transfer-encoding", "upgrade")


class TooLarge(Exception):
    """The answer is longer than any of Remit's."""


class AnswerReader:
    """Reads one answer after another.

    can_go_on: whether the connection can carry another request.
    """

    def __init__(self) -> None:
        self.can_go_on = False
        self._got = bytearray()
        self._head: tuple[int, dict[str, str], int] | None = None
        self._h11: h11.Connection | None = None
        self._h11_head: h11.Response | None = None

    def feed(self, data: bytes) -> Answer | None:
        """The answer, once it is complete; empty data = end of input. Raises httpx.RemoteProtocolError, TooLarge."""
        if self._h11 is not None:
            return self._read_with_h11(self._h11, data)
        self._got += data
        if len(self._got) > MAX_ANSWER_BYTES + MAX_HEAD_BYTES:
            raise TooLarge
        if self._head is None:
            end = self._got.find(b"\r\n\r\n")
            if end < 0 and data and len(self._got) < MAX_HEAD_BYTES:
                return None
            self._head = _simple_head(bytes(self._got[:end])) if end >= 0 else None
            if self._head is None:
                return self._leave_to_h11(ends=not data)
            del self._got[: end + 4]
        status, headers, length = self._head
        if length > MAX_ANSWER_BYTES:
            raise TooLarge
        if len(self._got) < length:
            if not data:
                raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")
            return None
        body = bytes(self._got[:length])
        self.can_go_on = len(self._got) == length and bool(data) and headers.get("connection", "").lower() != "close"
        self._got.clear()
        self._head = None
        return status, headers, body

    def _leave_to_h11(self, *, ends: bool) -> Answer | None:
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        for sent in (h11.Request(method="GET", target="/", headers=[("Host", "remit")]), h11.EndOfMessage()):
            self._h11.send(sent)
        got = bytes(self._got)
        self._got.clear()
        answer = self._read_with_h11(self._h11, got) if got else None
        return self._read_with_h11(self._h11, b"") if answer is None and ends else answer

    def _read_with_h11(self, http: h11.Connection, data: bytes) -> Answer | None:
        try:
            http.receive_data(data)
            while True:
                event = http.next_event()
                if isinstance(event, h11.Response):
                    self._h11_head = event
                elif isinstance(event, h11.Data):
                    self._got += event.data
                    if len(self._got) > MAX_ANSWER_BYTES:
                        raise TooLarge
                elif isinstance(event, h11.EndOfMessage) and self._h11_head is not None:
                    return self._end_of_h11(http, self._h11_head)
                elif event is h11.NEED_DATA:
                    return None
                elif not isinstance(event, h11.InformationalResponse):
                    raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error

    def _end_of_h11(self, http: h11.Connection, head: h11.Response) -> Answer:
        self.can_go_on = http.their_state is h11.DONE and http.trailing_data == (b"", False)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        body = bytes(self._got)
        self._got.clear()
        self._h11 = self._h11_head = None
        return head.status_code, headers, body


def _simple_head(head: bytes) -> tuple[int, dict[str, str], int] | None:
    """Status, headers by lower-case name, and the body's length; None if the head is not this simple."""
    first, *lines = head.split(b"\r\n")
    begins = FIRST_LINE.fullmatch(first)
    if begins is None or int(begins[1]) in WITHOUT_BODY:
        return None
    headers: dict[str, str] = {}
    for line in lines:
        header = HEADER.fullmatch(line)
        if header is None:
            return None
        name = header[1].decode("ascii").lower()
        if name in headers or name in ODD:
            return None
        headers[name] = (header[2] or b"").decode("ascii")
    length = headers.get("content-length", "")
    if not LENGTH.fullmatch(length) or headers.get("connection", "close").lower() not in ("close", "keep-alive"):
        return None
    return int(begins[1]), headers, int(length)
