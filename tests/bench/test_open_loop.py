"""The generator on a real socket, against a server with scripted answers."""

import socketserver
import threading

import pytest

from bench.harness.arrivals import Phase
from bench.harness.closed_loop import Call, WrongAnswer
from bench.harness.open_loop import Generator, Job, is_whole


@pytest.fixture
def serve():
    """Starts a server that gives these answers one after the other, repeating the last; returns its port."""
    servers = []

    def start(*answers):
        waiting, lock = list(answers), threading.Lock()

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while self.rfile.readline():
                    length = 0
                    while (line := self.rfile.readline()) != b"\r\n":
                        name, _, value = line.partition(b":")
                        length = int(value) if name.lower() == b"content-length" else length
                    self.rfile.read(length)
                    with lock:
                        raw = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                    for part in raw if isinstance(raw, tuple) else (raw,):
                        self.wfile.write(part)

        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        return server.server_address[1]

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def reply(status, body):
    return b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        status,
        len(body),
        body,
    )


YES = reply(b"200 OK", b'{"allowed":true}')


def job(port, requests=10):
    return Job(
        port=port,
        calls=[Call("/v1/authorize", b"{}", "svc_key")],
        expected='"allowed":true',
        connections=2,
        phases=[Phase(rate=1_000, seconds=requests / 1_000)],
        skip_seconds=0,
    )


def run(given):
    generator = Generator(given)
    try:
        generator.run()
    finally:
        generator.close()
    return generator.arrivals.slice(0, 10_000_000)


def test_every_request_of_the_schedule_is_answered(serve):
    """The run ends when the last answer is there."""
    whole = run(job(serve(YES)))

    assert (whole.intended, whole.answered, whole.shed) == (10, 10, 0)


def test_an_answer_is_whole_when_its_content_length_is():
    """Not when a packet is: a reply cut anywhere waits for the rest."""
    assert is_whole(YES)
    assert not any(is_whole(YES[:end]) for end in range(len(YES)))


def test_answers_that_come_in_pieces_are_put_together(serve):
    """However the network cuts them."""
    assert run(job(serve((YES[:20], YES[20:-3], YES[-3:])))).answered == 10


def test_a_503_is_shed_and_does_not_fail_the_run(serve):
    """Under overload refusing is a right answer, and it is counted apart."""
    whole = run(job(serve(reply(b"503 Service Unavailable", b"{}"), YES)))

    assert (whole.answered, whole.shed) == (10, 1)


@pytest.mark.parametrize(
    "wrong", [reply(b"401 Unauthorized", b"{}"), reply(b"404 Not Found", b"{}"), reply(b"200 OK", b'{"allowed":false}')]
)
def test_a_wrong_answer_fails_the_run(serve, wrong):
    """Neither a refusal nor another decision than the expected one is a result."""
    with pytest.raises(WrongAnswer):
        run(job(serve(YES, wrong)))
