"""Witnesses: services that cosign a checkpoint if it continues the one that they signed last (C2SP tlog-witness)."""

import base64
import re

from app.audit.tree import Tree
from app.errors import AuditLogDamaged
from app.model.notes import Note, Signature, SignatureType, VerifierKey, signatures_in
from app.outgoing_http import Unanswered, request
from app.transparency.keys import signature_time

SECONDS = 10.0
_ANSWER_BYTES = 16 * 1024
_OK, _CONFLICT, _INCONSISTENT = 200, 409, 422
_is_size = re.compile(r"[0-9]{1,15}\n?").fullmatch


class WitnessRefused(Exception):
    """A witness has not signed; the message says why."""


class Forked(WitnessRefused):
    """A witness has signed what this checkpoint does not continue: there are two histories, or one has lost its end.

    size: the leaves that it has signed, if it said so; this may be a checkpoint that another compactor has just made.
    """

    def __init__(self, message: str, size: int = 0) -> None:
        super().__init__(message)
        self.size = size


class Witness:
    """One witness, and the size that it signed last of each log."""

    def __init__(self, url: str, key: VerifierKey) -> None:
        self._url = f"{url.rstrip('/')}/add-checkpoint"
        self.key = key
        self._sizes: dict[str, int] = {}

    async def cosign(self, note: Note, tree: Tree) -> Signature:
        """The witness's valid cosignature of the note. tree: the log's. Raises WitnessRefused, Forked."""
        old = self._sizes.get(note.origin, 0)
        status, answer = await self._ask(old, note, tree)
        if status == _CONFLICT and _is_size(answer) and int(answer) != old:
            old = int(answer)
            if old > note.size:
                raise Forked(f"it has signed {old} leaves: the log has lost some, or is not the one it knows", old)
            status, answer = await self._ask(old, note, tree)
        if status == _INCONSISTENT:
            raise Forked(f"it answered 422: it has signed {old} leaves, and this checkpoint does not continue them")
        if status != _OK:
            raise WitnessRefused(f"it answered {status} to a checkpoint that continues {old} leaves")
        try:
            signatures = signatures_in(answer)
        except ValueError as error:
            raise WitnessRefused(f"its answer {error}") from None
        for each in signatures:
            if signature_time(note, each, self.key) is not None:
                self._sizes[note.origin] = note.size
                return each
        raise WitnessRefused("its answer has no valid signature of its key")

    async def _ask(self, old: int, note: Note, tree: Tree) -> tuple[int, str]:
        try:
            proof = await tree.consistency(old, note.size)
        except AuditLogDamaged as error:
            raise WitnessRefused(f"no proof can be made that {old} leaves are continued: {error.message}") from None
        lines = "".join(f"{base64.b64encode(each).decode()}\n" for each in proof)
        content = f"old {old}\n{lines}\n{note}".encode()
        sent = [("User-Agent", "Remit")]
        try:
            answer = await request("POST", self._url, sent, content, seconds=SECONDS, most=_ANSWER_BYTES)
        except Unanswered as failure:
            raise WitnessRefused(f"it {failure}") from None
        return answer.status, answer.body.decode("utf-8", "replace")


def witnesses_in(text: str) -> list[Witness]:
    """The witnesses of the setting: `<url> <vkey>`, comma-separated. Raises ValueError with a sentence."""
    witnesses = []
    for each in filter(None, (part.strip() for part in text.split(","))):
        url, _, written = each.partition(" ")
        if not re.fullmatch(r"https?://[!-~]+", url):
            raise ValueError(f"{url!r} is not the URL of a witness: https://… and its key, with a space between")
        key = VerifierKey.parse(written)
        if key.kind is not SignatureType.COSIGNATURE:
            raise ValueError(f"the key of {key.name} is not a witness's: it must be of type 4")
        witnesses.append(Witness(url, key))
    return witnesses
