"""Answers that are lists, encoded in small steps so that a long one does not delay other requests."""

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import msgspec
from litestar import MediaType, Response
from litestar.response import Stream

from app.runtime.fairness.loop_turns import take_turn

_STEP_BYTES = 64 * 1024
"""Bytes of an answer encoded in one step of the loop, which takes less than a millisecond."""

_Item = TypeVar("_Item")
_encode_into = msgspec.json.Encoder().encode_into


async def answer_list(items: AsyncIterator[_Item], view: Callable[[_Item], Any]) -> Response[Any]:
    """A JSON array of the items, each passed through `view`.

    It is complete before its first byte is sent, so a store failure half-way is an error and not a truncated answer.
    """
    pieces: list[bytes] = []
    piece = bytearray(b"[")
    async for item in items:
        _encode_into(view(item), piece, -1)
        piece += b","
        if len(piece) >= _STEP_BYTES:
            pieces.append(bytes(piece))
            piece.clear()
            await take_turn()
    if piece:
        pieces.append(bytes(piece))
    pieces[-1] = pieces[-1].removesuffix(b",") + b"]"
    if len(pieces) == 1:
        return Response(pieces[0], media_type=MediaType.JSON)
    length = sum(map(len, pieces))
    return Stream(_sent(pieces), media_type=MediaType.JSON, headers={"content-length": str(length)})


async def _sent(pieces: list[bytes]) -> AsyncIterator[bytes]:
    # Litestar would fetch each item of a plain iterator in a thread.
    for piece in pieces:
        yield piece
