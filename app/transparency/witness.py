"""A witness for an auditor's machine: it cosigns only what continues the checkpoint it signed last (tlog-witness)."""

import re
import sqlite3
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from app.audit.merkle import EMPTY_ROOT, HASH_BYTES, is_consistent
from app.model.notes import NOTE_MAX, Note, VerifierKey, raw_of
from app.transparency.keys import SigningKey, signed_at

BODY_MAX = NOTE_MAX + 64 * 64
PROOF_MAX = 63
_SECONDS = 10
_old_size = re.compile("old (0|[1-9][0-9]{0,14})").fullmatch
_TABLE = "CREATE TABLE IF NOT EXISTS seen (origin TEXT PRIMARY KEY, size INTEGER NOT NULL, root BLOB NOT NULL)"
_SEEN = "SELECT size, root FROM seen WHERE origin = ?"
_KEEP = (
    "INSERT INTO seen VALUES (?, ?, ?) ON CONFLICT (origin) DO UPDATE SET size = excluded.size, root = excluded.root"
)


class Answer(NamedTuple):
    """Of an HTTP request."""

    status: int
    text: str
    media: str = "text/plain; charset=utf-8"


class LogWitness:
    """Remembers the size and root of each log in a file. What it has signed is on disk before it answers."""

    def __init__(self, state: Path, key: SigningKey, logs: Sequence[VerifierKey]) -> None:
        self._key = key
        self._logs = logs
        self._lock = threading.Lock()
        self._seen = sqlite3.connect(state, check_same_thread=False, isolation_level=None)
        self._seen.execute("PRAGMA synchronous = FULL")
        self._seen.execute(_TABLE)

    def add_checkpoint(self, body: bytes) -> Answer:
        """The cosignature, or why there is none."""
        try:
            old, proof, note = _read(body)
        except ValueError as error:
            return Answer(400, f"The request {error}\n")
        keys = [each for each in self._logs if each.name == note.origin]
        if not keys:
            return Answer(404, "This witness does not know the log\n")
        if all(signed_at(note, each) is None for each in keys):
            return Answer(403, "The checkpoint has no valid signature of a key that this witness knows\n")
        if old > note.size:
            return Answer(400, "The old size is larger than the checkpoint's\n")
        try:
            with self._lock, self._seen:  # which commits
                # No other process with this file signs between the look at what was signed and the note of what is.
                self._seen.execute("BEGIN IMMEDIATE")
                return self._judged(old, proof, note)
        except sqlite3.OperationalError as error:
            return Answer(503, f"The witness cannot use its file: {error}\n")

    def _judged(self, old: int, proof: list[bytes], note: Note) -> Answer:
        size, root = self._seen.execute(_SEEN, (note.origin,)).fetchone() or (0, EMPTY_ROOT)
        if old != size or (old == note.size and root != note.root):
            return Answer(409, f"{size}\n", "text/x.tlog.size")
        if not is_consistent(size, root, note.size, note.root, proof):
            return Answer(422, "The proof does not show that the checkpoint continues the last one\n")
        self._seen.execute(_KEEP, (note.origin, note.size, note.root))
        return Answer(200, self._key.sign(note).line)


def _read(body: bytes) -> tuple[int, list[bytes], Note]:
    """The old size, the proof and the note. Raises ValueError with a sentence."""
    try:
        head, _, note = body.decode("utf-8").partition("\n\n")
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None
    first, *lines = head.split("\n")
    size, proof = _old_size(first), [raw_of(each) for each in lines]
    if size is None or len(proof) > PROOF_MAX or any(len(each) != HASH_BYTES for each in proof):
        raise ValueError("is not an old size, a proof of up to 63 hashes, and a checkpoint")
    return int(size[1]), proof, Note.parse(note)


def witness_server(host: str, port: int, witness: LogWitness) -> ThreadingHTTPServer:
    """A server of `POST /add-checkpoint`, which is to be run and closed."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS
        server_version, sys_version = "remit-witness", ""

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if self.path != "/add-checkpoint":
                answer = Answer(404, "There is only /add-checkpoint\n")
            elif not length.isdecimal() or int(length) > BODY_MAX:
                answer = Answer(400, f"The body must have a length of up to {BODY_MAX} bytes\n")
            else:
                answer = witness.add_checkpoint(self.rfile.read(int(length)))
            content = answer.text.encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.media)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return ThreadingHTTPServer((host, port), Handler)
