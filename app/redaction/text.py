"""Secrets that are named inside a string: embedded JSON, settings, options, headers."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

from app.redaction.commands import may_run_commands, passes_options, without_option_values
from app.redaction.credentials import REDACTED
from app.redaction.named_values import ATTRIBUTE, ATTRIBUTES_APART, NAMED_VALUES, QUOTED, may_name
from app.redaction.redactor import Redactor
from app.redaction.work import NAME_STEPS, Work

IsSecret = Callable[[str], bool]
_TEXT_STEPS, _JSON_STEPS, _MEMBER_STEPS, _OPTION_STEPS = 160, 2, 96, 8

_lowered = bytes.maketrans(ascii_uppercase.encode(), ascii_lowercase.encode())
_between_words = bytes(set(range(128)) - set((ascii_letters + digits).encode()))


def may_name_secrets(made: bytes, redactor: Redactor) -> bool:
    """True if a string in this JSON may name a secret."""
    if b"\\\\u" in made or not made.isascii():
        return True
    return redactor.letters(made.translate(_lowered, _between_words)) is not None or may_run_commands(made)


def redacted_text(redactor: Redactor, text: str, work: Work | None = None) -> str:
    """`text` with the values of the secrets it names replaced; a string that is JSON stays JSON. Raises TooMuchWork."""
    work = Work() if work is None else work
    if text.lstrip()[:1] in {"{", "[", '"'}:
        work.spend(_JSON_STEPS * len(text) + _MEMBER_STEPS * text.count(":"))
        try:
            value = json.loads(text)
            redacted = redactor.walk(value, partial(redacted_text, redactor, work=work))
        except ValueError:
            pass
        except RecursionError:
            return REDACTED
        else:
            return text if redacted is value else json.dumps(redacted, ensure_ascii=False, separators=(",", ":"))
    return without_named_values(redactor.is_secret, text, work)


def without_named_values(is_secret: IsSecret, text: str, work: Work | None = None) -> str:
    """`text` without the values that follow the names of secrets, whether it is JSON or not. Raises TooMuchWork."""
    if may_name(text) is None:
        return text
    work = Work() if work is None else work
    work.spend(_TEXT_STEPS)
    if passes_options(text) is not None and is_secret("password"):
        work.spend(_OPTION_STEPS * len(text))
        text = without_option_values(text)
    has = text.casefold().replace("'", '"').__contains__
    if has("value"):
        text = _without(text, _attribute_values(is_secret, text, work))
    for needs, name, value in NAMED_VALUES:
        if all(map(has, needs)):
            text = _without(text, _named_values(is_secret, text, work, name, value))
    return text


def _named_values(
    is_secret: IsSecret, text: str, work: Work, name: re.Pattern[str], value: re.Pattern[str]
) -> Iterator[tuple[int, int]]:
    """Where the values begin and end."""
    work.spend(len(text))
    at = 0
    for match in name.finditer(text):
        work.spend(NAME_STEPS)
        named = match["name"] if name.groups else "password"
        if match.start() >= at and is_secret(named) and (secret := value.match(text, match.end())):
            yield secret.span()
            at = secret.end()


def _attribute_values(is_secret: IsSecret, text: str, work: Work) -> Iterator[tuple[int, int]]:
    """Where the quoted values of attributes begin and end, if one that names a secret precedes them in the tag."""
    work.spend(len(text))
    at, named_until = 0, -1
    for match in ATTRIBUTE.finditer(text):
        work.spend(NAME_STEPS)
        if match["name"] is not None:
            if is_secret(match["name"]):
                named_until = match.end() + ATTRIBUTES_APART
        elif match["value"] is None:
            named_until = -1
        elif at <= match.start() <= named_until and (secret := QUOTED.match(text, match.end())):
            yield secret.span()
            at = secret.end()


def _without(text: str, values: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for begin, end in values:
        pieces += text[at:begin], REDACTED
        at = end
    return "".join(pieces) + text[at:] if pieces else text
