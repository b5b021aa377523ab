"""What store tests need beside a store."""

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest


class Certificate(NamedTuple):
    """A server's certificate for 127.0.0.1, which is its own authority."""

    chain: Path
    key: Path


@pytest.fixture(scope="session")
def certificate(program, tmp_path_factory):
    """Made anew for every run."""
    made = Certificate(*(tmp_path_factory.mktemp("tls") / name for name in ("chain.pem", "key.pem")))
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1"
    named = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made.key, "-out", made.chain]
    command = [program("openssl", "TLS to the store"), *words.split(), *named]
    subprocess.run(command, check=True, capture_output=True)
    return made
