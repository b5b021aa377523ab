"""Which parameter names name a secret, and the copy of the parameters that the log may keep."""

import re
from collections.abc import Iterable
from operator import is_not
from typing import Any

REDACTED = "[REDACTED]"
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_0-9A-Za-z]+")
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_REMEMBERED = 10_000
_REMEMBERED_LENGTH = 64


class Redactor:
    """Knows secrets by the whole words of a name: `accessToken` and `access_token` hold `token`, `max_tokens` does not.

    words: such as `password` or `api_key`. How a name joins its words does not matter: `api_key` is found in
    `apiKey`, `x-api-key`, `APIKEY` and `apikey`, and `password` in `passWord`.
    """

    def __init__(self, words: Iterable[str]) -> None:
        secrets = {"".join(_parts(word)) for word in words} - {""}
        self._letters = re.compile(_any_of(map(re.escape, secrets))).search
        # The name's words come with a mark between them, which may stand anywhere in a secret but must end it.
        marked = _any_of("-?".join(map(re.escape, secret)) for secret in secrets)
        self._whole_words = re.compile(rf"(?:^|-)(?:{marked})(?:-|$)").search
        self._verdicts: dict[str, bool] = {}

    def is_secret(self, name: str) -> bool:
        """Whether values under this name may not be stored. A dotted name is secret if any part of it is."""
        verdict = self._verdicts.get(name)
        if verdict is None:
            verdict = self._holds_secret(name)
            # Names come from callers, so what is remembered of them is bounded.
            if len(self._verdicts) < _REMEMBERED and len(name) <= _REMEMBERED_LENGTH:
                self._verdicts[name] = verdict
        return verdict

    def _holds_secret(self, name: str) -> bool:
        """Whether some words in a row, written together, are a secret. In linear time, since callers choose names."""
        # Most names end here. How other letters than these are lowered may depend on their neighbours.
        if name.isascii() and self._letters(_BETWEEN_WORDS.sub("", name).lower()) is None:
            return False
        return self._whole_words("-".join(_parts(name))) is not None

    def redacted(self, value: dict[str, Any]) -> dict[str, Any]:
        """`value` with every value under a secret name replaced; `value` itself if it holds none."""
        result: dict[str, Any] = self._walk(value)
        return result

    def _walk(self, value: Any) -> Any:
        if type(value) is dict:
            changed = None
            for name, inner in value.items():
                kept = REDACTED if self.is_secret(name) else self._walk(inner) if type(inner) in _NESTED else inner
                if kept is not inner:
                    changed = dict(value) if changed is None else changed
                    changed[name] = kept
            return value if changed is None else changed
        if _NESTED.isdisjoint(map(type, value)):
            return value
        kept_items = [self._walk(inner) if type(inner) in _NESTED else inner for inner in value]
        return kept_items if any(map(is_not, kept_items, value)) else value


_NESTED = frozenset({dict, list})


def _any_of(patterns: Iterable[str]) -> str:
    return "|".join(patterns) or r"(?!)"


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _WORDS.findall(name)]
