"""`context.request`: what the user asked for, from the texts of the user's own turns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MAX_BYTES = 32 * 1024
_TEXTS = ("text", "input_text")


def request_of(turns: Iterable[Any]) -> dict[str, str]:
    """The turns' texts as `{"request": …}`, a line for each; `{}` if there are none.

    turns: the contents of messages, oldest first: a string, or a list of parts, of which those that are text count. The
    newest are sent, as many as the service takes.
    """
    kept: list[str] = []
    room = MAX_BYTES
    for text in reversed([text for turn in turns for text in _texts(turn)]):
        room -= len(text.encode(errors="surrogatepass")) + 1
        if room < 0:
            break
        kept.append(text)
    return {"request": "\n".join(reversed(kept))} if kept else {}


def _texts(content: Any) -> list[str]:
    parts = content if isinstance(content, (list, tuple)) else [content]
    texts = (part["text"] if isinstance(part, dict) and part.get("type") in _TEXTS else part for part in parts)
    return [text for text in texts if isinstance(text, str) and text]
