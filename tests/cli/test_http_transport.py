"""Streams that commands read from a service."""

import os
import signal
import socket
import threading

import pytest

from app.cli.http_transport import HttpTransport


@pytest.fixture
def silent():
    """The URL of a service that begins a stream and says nothing more; it ends what its reader ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with server.accept()[0] as connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
                connection.recv(1)

        serving = threading.Thread(target=serve)
        serving.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        serving.join(10)


@pytest.mark.parametrize("handler", [signal.default_int_handler, lambda *_: None], ids=["as usual", "dropped"])
def test_ctrl_c_ends_a_read_even_if_its_exception_is_lost(silent, handler):
    """As if the signal came just before the read, or in a finalizer: Python then goes on to wait."""
    before = signal.signal(signal.SIGINT, handler)
    read, transport = [], HttpTransport(silent, "svc_x", 5)

    def follow():
        with transport.send("GET", "/", None, {}, endless=True) as answer:
            for piece in answer.pieces:
                read.append(piece)
                os.kill(os.getpid(), signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            follow()
    finally:
        signal.signal(signal.SIGINT, before)
    assert (read, signal.set_wakeup_fd(-1)) == ([b"x"], -1)
