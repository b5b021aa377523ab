"""The commands that a store receives, as MONITOR shows them."""

import re
import socket
from contextlib import contextmanager

_words = re.compile(rb'"((?:[^"\\]|\\.)*)"').findall


@contextmanager
def watched(port: int):
    """The commands that clients send to the store during the block, each as its words, without those inside scripts."""
    commands: list[list[str]] = []
    with socket.create_connection(("127.0.0.1", port)) as watch, socket.create_connection(("127.0.0.1", port)) as end:
        watch.sendall(b"MONITOR\r\n")
        lines = watch.makefile("rb")
        assert lines.readline() == b"+OK\r\n"
        yield commands
        end.sendall(b"ECHO the-end\r\n")
        for line in lines:
            words = [word.decode() for word in _words(line)]
            if words[-1] == "the-end":
                return
            if b" lua]" not in line:
                commands.append(words)
