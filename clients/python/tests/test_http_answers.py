"""`remit_client.http_answers` reads what h11 reads, in whatever pieces it arrives, and refuses what h11 refuses."""

import httpx
import pytest

from remit_client import http_answers
from remit_client.http_answers import AnswerReader, TooLarge

OK = b"HTTP/1.1 200 OK\r\n"
PLAIN = OK + b"Content-Length: 2\r\nX-Next-Cursor:  a b \r\n\r\n{}"
WHOLE = {
    "of a length": PLAIN,
    "without a reason": b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\n{}",
    "empty": OK + b"Content-Length: 0\r\n\r\n",
    "an empty header": OK + b"Content-Length: 2\r\nX:\r\n\r\n{}",
    "503": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nRetry-After: 1\r\n\r\n{}",
    "in chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n",
    "chunks and a length": OK + b"Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "after 100 and 103": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" + PLAIN,
    "a header twice": OK + b"Content-Length: 2\r\nVary: a\r\nVary: b\r\n\r\n{}",
    "the length twice": OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "bytes above ASCII": OK + b"Content-Length: 2\r\nServer: \xe9\r\n\r\n{}",
    "keep-alive": OK + b"Content-Length: 2\r\nConnection: keep-alive\r\n\r\n{}",
}
LAST = {
    "close": OK + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "another one behind it": PLAIN + PLAIN,
}
UNTIL_THE_END = {
    "no length": OK + b"\r\n{}",
    "no length in HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n{}",
}
REFUSED = {
    "nothing": b"",
    "half a head": OK + b"Content-Le",
    "half a body": PLAIN[:-1],
    "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "a newer protocol": b"HTTP/3 200 OK\r\n\r\n",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "two lengths in one": OK + b"Content-Length: 2, 3\r\n\r\n{}",
    "a signed length": OK + b"Content-Length: +2\r\n\r\n{}",
    "a length in other digits": OK + "Content-Length: ²\r\n\r\n{}".encode(),
    "no name": OK + b"Content-Length: 2\r\n: x\r\n\r\n{}",
    "a space before the colon": OK + b"Content-Length : 2\r\n\r\n{}",
    "a NUL": OK + b"Content-Length: 2\r\nX: \0\r\n\r\n{}",
    "no number of a chunk": OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "a chunk that ends early": OK + b"Transfer-Encoding: chunked\r\n\r\n8\r\n{}",
    "no last chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "another coding": OK + b"Transfer-Encoding: gzip\r\n\r\n{}",
    "another protocol from here on": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n{}",
}
PIECES = [1, 7, 10_000]


def read(raw, size, *, ends=False):
    """The answer, fed in pieces of `size` bytes, and whether the reader accepts another one on the same connection."""
    reader = AnswerReader()
    for at in range(0, len(raw), size):
        answer = reader.feed(raw[at : at + size])
        if answer is not None:
            return answer, reader.can_go_on
    return (reader.feed(b"") if ends else None), reader.can_go_on


@pytest.fixture
def by_h11_alone(monkeypatch):
    """What is read if h11 reads everything."""

    def read_by_h11(raw, **options):
        with monkeypatch.context() as patched:
            patched.setattr(http_answers, "_simple_head", lambda _: None)
            return read(raw, 10_000, **options)

    return read_by_h11


@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize("name", WHOLE | LAST | UNTIL_THE_END)
def test_an_answer_is_read_as_h11_reads_it(name, size, by_h11_alone):
    raw, ends = (WHOLE | LAST | UNTIL_THE_END)[name], name in UNTIL_THE_END
    answer, _ = read(raw, size, ends=ends)
    assert answer == by_h11_alone(raw, ends=ends)[0]
    assert answer[2] in (b"{}", b"")


@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize("name", REFUSED)
def test_what_h11_refuses_is_refused(name, size, by_h11_alone):
    for refuse in (lambda: by_h11_alone(REFUSED[name], ends=True), lambda: read(REFUSED[name], size, ends=True)):
        with pytest.raises(httpx.RemoteProtocolError):
            refuse()


def test_a_connection_is_reused_only_if_the_answer_leaves_it_open():
    whole = {name: read(raw, 10_000)[1] for name, raw in WHOLE.items()}
    assert whole == dict.fromkeys(WHOLE, True)
    last = {name: read(raw, 10_000, ends=True)[1] for name, raw in (LAST | UNTIL_THE_END).items()}
    assert last == dict.fromkeys(LAST | UNTIL_THE_END, False)


def test_one_reader_reads_one_answer_after_another():
    """Simple answers and others, in turn."""
    reader = AnswerReader()
    for raw in [WHOLE["of a length"], WHOLE["in chunks"], WHOLE["204"], WHOLE["503"]] * 2:
        answer = reader.feed(raw)
        assert answer[0] in (200, 204, 503)
        assert reader.can_go_on


@pytest.mark.parametrize("head", [b"Content-Length: 99999999", b"Transfer-Encoding: chunked\r\n\r\nfffffff"])
def test_an_endless_answer_is_not_kept_in_memory(head, monkeypatch):
    """With an announced length, and in chunks."""
    monkeypatch.setattr(http_answers, "MAX_ANSWER_BYTES", 10_000)
    reader = AnswerReader()
    with pytest.raises(TooLarge):
        reader.feed(OK + head + b"\r\n\r\n" + b"x" * 100_000)


def test_an_endless_head_is_refused():
    reader = AnswerReader()
    assert reader.feed(OK + b"X: " + b"x" * 60_000) is None
    with pytest.raises(httpx.RemoteProtocolError):
        reader.feed(b"x" * 60_000)
