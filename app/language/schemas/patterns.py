"""Regular expressions of policies: RE2, bounded in length and memory, each compiled once and shared."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

import re2

MAX_REGEX_LENGTH = 512
REGEX_MEMORY_BYTES = 256 * 1024
"""The memory limit of one compiled pattern: `.{1000}` fits, `.{1000}.{1000}` does not."""

MAX_SEARCH_STEPS = 1 << 26
"""Limit of bytes times pattern instructions in all searches of one call. Nearly all patterns take a hundredth of a
nanosecond to half a nanosecond for a step; the worst known take 3 to 14, so a call may take 0.2 s, at worst a second.
"""

_FEW_STEPS = 1 << 15
_LATEST = 256
_reads_little = re.compile(r"\^(?:(?:[^\\\[\](){}*+?|^$]|\\[\Wdws]|\[\^?[^\[\]\\]+\])\??)*\$?").fullmatch
"""Recognises patterns that begin with ^ and repeat nothing, such as `^https://`: a search reads only a beginning."""


class _Thread(threading.local):
    steps_left: int | None = None


_this_thread = _Thread()


@contextmanager
def counted_searches() -> Iterator[None]:
    """Until the end of the block, the searches of this thread are those of one call, and share its steps."""
    _this_thread.steps_left = MAX_SEARCH_STEPS
    try:
        yield
    finally:
        _this_thread.steps_left = None


def may_take(steps: int) -> bool:
    """Count the steps, before they are taken; False if they are more than a call may take, or than it has left."""
    left = _this_thread.steps_left
    if steps > (MAX_SEARCH_STEPS if left is None else left):
        return False
    if left is not None:
        _this_thread.steps_left = left - steps
    return True


class Pattern:
    """A compiled pattern; a reference to it keeps it from being compiled again.

    search: takes UTF-8 bytes or a string, and returns None if nothing in it matches. Linear time for any pattern.
    program_size: number of instructions. steps_per_byte: of input; 0 if only a beginning is read, however long it is.
    quick_bytes: input up to this size takes no noticeable time. Longer input is counted before it is searched
    (`may_take`), as a search cannot be interrupted.
    """

    __slots__ = ("__weakref__", "program_size", "quick_bytes", "regexp", "search", "steps_per_byte")

    def __init__(self, regexp: Any) -> None:
        self.regexp = regexp
        self.search = regexp.search
        self.program_size = int(regexp.programsize)
        self.steps_per_byte = 0 if _reads_little(regexp.pattern) else self.program_size
        self.quick_bytes = _FEW_STEPS // max(1, self.program_size)


def compile_regex(text: str) -> Pattern:
    """The compiled pattern, shared by all users of the same string.

    Raises ValueError with the engine's message, such as "pattern too large"; the limit bounds the time per byte of
    input. If a search reaches the memory limit, the engine continues with a slower automaton that needs no memory, and
    the answer is the same.
    """
    pattern = _in_use.get(text) or _compiled(text)
    if isinstance(pattern, str):
        raise ValueError(pattern)  # noqa: TRY004 - the sentence that refuses it
    _in_use[text] = pattern
    return pattern


_in_use: WeakValueDictionary[str, Pattern] = WeakValueDictionary()


# Validation and evaluation compile the same pattern, and explaining a refusal compiles it once more; finding one too
# large takes up to ten milliseconds. Both results are cached.
@lru_cache(maxsize=_LATEST)
def _compiled(text: str) -> Pattern | str:
    """The pattern, or the message of the error that compiling it raised."""
    try:
        return Pattern(re2.compile(text, _options()))
    except re2.error as error:
        reason = error.args[0] if error.args else "unknown"
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        return f"is not a regular expression in RE2 syntax: {shown}"


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = REGEX_MEMORY_BYTES
    options.never_capture = True
    return options
