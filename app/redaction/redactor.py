"""Decides which parameter names denote secrets, and makes the copy of the parameters that may be logged."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from operator import is_not
from typing import Any

import re2

from app.redaction.commands import hidden_words
from app.redaction.credentials import REDACTED

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_0-9A-Za-z]+")
_REMEMBERED = 10_000
_REMEMBERED_LENGTH = 64
_LONGEST_NAME = 512
"""Longer names are treated as secret without being examined: that would take longer than the rest of the call."""

_words = re.compile(r"""[\w ./#\[\]="'-]{1,64}""").fullmatch
"""The form of a string that is a name, possibly with a path, or that selects a form field, such as `#password`."""

_PLAIN, _SECRET, _NAMING, _VALUE, _PASS, _TOKENS, _KEY_KIND = range(7)
"""The roles of a name in an object: none; its value is secret; its value is a name; its value belongs to that name;
its value is secret if it is or contains a string or a number of four digits, since `pass` otherwise counts; its value
is secret if it is or contains strings that are not numbers, since `tokens` are often a count; the object is a JSON Web
Key."""

_BY_VALUE = frozenset({_PASS, _TOKENS})
_number = re.compile(r"[0-9.,_ ]*+[kM]?").fullmatch
_PASSED = frozenset({"", "true", "false", "yes", "no", "ok"})
_PASS_LENGTH = len("--pass")
_LEAST_PIN = 1_000
_SESSION_COOKIES = frozenset({"sessionid"})
"""Secret only as one word, as frameworks write their cookies: a `session_id` is often that of a conversation."""
_OF_PRIVATE_KEYS = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_HEADERS = frozenset(
    spelled
    for name in ("Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Api-Key", "X-Auth-Token")
    for spelled in (name, name.lower(), name.upper())
)
_IN_TEXTS = ("pass", "identified", "kty", *_SESSION_COOKIES)
"""Words that may name a secret in a string, in addition to the configured ones."""

_NAMING_WORDS = frozenset(
    {"name", "key", "header", "field", "param", "parameter", "variable", "var", "property", "attribute", "option", "k"}
    | {"label", "element", "selector", "locator", "placeholder", "type", "id"}
)
_VALUE_WORDS = frozenset({"value", "values", "val", "v", "default", "text", "content", "input"})
_SPECIAL = {"pass": _PASS, "kty": _KEY_KIND}
_NESTED = frozenset({dict, list})
Texts = Callable[[str], Any]


class Redactor:
    """Recognises secrets by whole words of a name: `accessToken` and `access_token` contain `token`, not `tokenizer`.

    words: such as `password` or `api_key`. It does not matter how a name joins its words: `api_key` is found in
    `apiKey`, `x-api-key`, `APIKEY` and `apikey`, and `password` in `passWord`. Plurals are secret, too.
    """

    def __init__(self, words: Iterable[str]) -> None:
        secrets = {"".join(_parts(word)) for word in words} - {""}
        self._has_tokens = "token" in secrets
        self._cookies = _SESSION_COOKIES if "cookie" in secrets else frozenset()
        secrets |= {f"{word}s" for word in secrets - {"token"} if not word.endswith("s")}
        self.letters = _search(_any_of((*map(re.escape, secrets), *(_IN_TEXTS if secrets else ()))))
        self._secrets = frozenset(secrets)
        self._beginnings = frozenset(word[:length] for word in secrets for length in range(1, len(word) + 1))
        self._roles: dict[str, int] = {}
        self._plain: set[str] = set()

    def is_secret(self, name: str) -> bool:
        """True if values under this name must not be stored. A dotted name is secret if any part of it is."""
        return self._role(name) == _SECRET

    def may_be_secret(self, name: str) -> bool:
        """True if some values under this name must not be stored, such as texts under `pass`."""
        return self.is_secret(name) or self._role(name.rpartition(".")[2]) == _PASS

    def _role(self, name: str) -> int:
        role = self._roles.get(name)
        if role is None:
            role = self._role_of(name)
            # Callers choose the names, so the cache is bounded. It begins anew when full: each name of a call is
            # looked up several times, and examining it takes microseconds.
            if len(self._roles) >= _REMEMBERED:
                self._roles.clear()
                self._plain.clear()
            if len(name) <= _REMEMBERED_LENGTH:
                self._roles[name] = role
                if role == _PLAIN:
                    self._plain.add(name)
        return role

    def _role_of(self, name: str) -> int:
        if len(name) > _LONGEST_NAME:
            return _SECRET
        if not name.isascii():
            name = unicodedata.normalize("NFKC", name)  # homoglyphs are replaced by the letters they look like
        parts = _parts(name)
        if self._holds_secret(parts) or not self._cookies.isdisjoint(parts):
            return _SECRET
        if (special := _SPECIAL.get(name.lower())) is not None:
            return special
        last = parts[-1] if parts else ""
        if last == "tokens" and self._has_tokens:
            return _TOKENS
        return _NAMING if last in _NAMING_WORDS else _VALUE if last in _VALUE_WORDS else _PLAIN

    def _holds_secret(self, parts: list[str]) -> bool:
        """True if some consecutive words, joined, are a secret word. Callers choose the names, so it takes little."""
        for at, part in enumerate(parts):
            joined, end = part, at + 1
            while joined in self._beginnings:
                if joined in self._secrets:
                    return True
                if end == len(parts):
                    break
                joined += parts[end]
                end += 1
        return False

    def redacted(self, value: dict[str, Any], texts: Texts | None = None) -> dict[str, Any]:
        """`value` with every value under a secret name replaced; `value` itself if it contains none.

        The same applies to an object that names the value in another field, `{"name": "Authorization", "value": …}`,
        and to a list of two, name and value. texts: applied to every remaining string.
        """
        # Most calls contain only plain names and values, for which this one check suffices.
        if texts is None and self._plain.issuperset(value) and _NESTED.isdisjoint(map(type, value.values())):
            return value
        result: dict[str, Any] = self.walk(value, texts)
        return result

    def walk(self, value: Any, texts: Texts | None) -> Any:
        """As `redacted`, for any value."""
        if type(value) is dict:
            return self._walk_object(value, texts)
        if type(value) is list:
            return self._walk_list(value, texts)
        return texts(value) if texts is not None and type(value) is str else value

    def _walk_object(self, value: dict[str, Any], texts: Texts | None) -> dict[str, Any]:
        changed, names_secret, is_key, recall = None, False, False, self._roles.get
        for name, inner in value.items():
            role = recall(name)
            if role is None:
                role = self._role(name)
            if role == _SECRET or (role in _BY_VALUE and _is_secret_value(role, inner)):
                kept: Any = REDACTED
            elif type(inner) in _NESTED:
                kept = self.walk(inner, texts)
            elif type(inner) is str and (role or texts is not None):
                names_secret = names_secret or (role == _NAMING and self._names_secret_of(value, inner))
                is_key = is_key or role == _KEY_KIND
                kept = inner if texts is None else texts(inner)
            else:
                continue
            if kept is not inner:
                changed = dict(value) if changed is None else changed
                changed[name] = kept
        if names_secret:
            changed = dict(value) if changed is None else changed
            changed.update((name, REDACTED) for name in value if self._role(name) == _VALUE)
        if is_key:
            changed = dict(value) if changed is None else changed
            changed.update((name, REDACTED) for name in value if name in _OF_PRIVATE_KEYS)
        return value if changed is None else changed

    def _walk_list(self, value: list[Any], texts: Texts | None) -> list[Any]:
        kinds = set(map(type, value))
        if str not in kinds and _NESTED.isdisjoint(kinds):
            return value
        kept = value if texts is None and _NESTED.isdisjoint(kinds) else [self.walk(inner, texts) for inner in value]
        if str in kinds and (hidden := self._hidden(value, are_strings=len(kinds) == 1)):
            kept = [hidden.get(at, inner) for at, inner in enumerate(kept)]
        return kept if kept is not value and any(map(is_not, kept, value)) else value

    def _hidden(self, values: list[Any], *, are_strings: bool) -> dict[int, str]:
        """Replacements by index for list elements that follow their name: in a pair, a header, an option (`-p`)."""
        if len(values) == 2 and type(values[0]) is str and self._names_secret(values[0], values[1]):  # noqa: PLR2004 - a pair
            return {1: REDACTED}
        # A call can have thousands of short lists, so most are done with after these three lines.
        words: list[str] = values if are_strings else [word if type(word) is str else "" for word in values]
        options = [at for at, word in enumerate(words) if word[:1] == "-"]
        named = [] if _HEADERS.isdisjoint(words) else [at for at, word in enumerate(words) if word in _HEADERS]
        if not options and not named:
            return {}
        named += [at for at in options if at + 1 < len(words) and self._names_secret(words[at], words[at + 1])]
        hidden = {at + 1: REDACTED for at in named if at + 1 < len(words)}
        return hidden | hidden_words(words, options) if options and self.is_secret("password") else hidden

    def _is_named_secret(self, text: str) -> bool:
        if text in self._plain or REDACTED in text:  # its secret is gone, and what remains names nothing
            return False
        return _words(text) is not None and self._role(text) == _SECRET

    def _names_secret_of(self, value: dict[str, Any], text: str) -> bool:
        """True if the text names the object's value, and that is secret."""
        if self._is_named_secret(text):
            return True
        return self._is_pass(text) and any(
            _is_secret_value(_PASS, inner) for name, inner in value.items() if self._role(name) == _VALUE
        )

    def _names_secret(self, text: str, value: Any) -> bool:
        """True if the text is one word, and the value that follows it is secret."""
        if " " in text:
            return False
        return self._is_named_secret(text) or (self._is_pass(text) and _is_secret_value(_PASS, value))

    def _is_pass(self, text: str) -> bool:
        return len(text) <= _PASS_LENGTH and self._role(text.lstrip("-")) == _PASS


def _is_secret_value(role: int, value: Any) -> bool:
    """True if the value under a name of this role is secret."""
    if type(value) in _NESTED:
        return any(_is_secret_value(role, inner) for inner in (value.values() if type(value) is dict else value))
    if role == _PASS:
        return value.lower() not in _PASSED if type(value) is str else type(value) is int and abs(value) >= _LEAST_PIN
    return type(value) is str and _number(value) is None


def _any_of(patterns: Iterable[str]) -> str:
    return "|".join(sorted(patterns)) or r"[^\x00-\x{10FFFF}]"


def _search(pattern: str) -> Callable[[bytes], Any]:
    options = re2.Options()
    options.log_errors = False
    search: Callable[[str | bytes], Any] = re2.compile(pattern, options).search
    return search


def _parts(name: str) -> list[str]:
    return [part.lower() for part in _WORDS.findall(name)]
