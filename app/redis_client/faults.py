"""Describes failures of the store as callers may see them."""

import re

from redis import exceptions

_WRONG_TYPE = re.compile(r"(?:.* of pipeline caused error: [(']*)?WRONGTYPE ", re.DOTALL).match

_denied_in_script = re.compile("The user executing the script can't run |ACL failure in script").search
"""The words of Redis 7.0 and of Valkey; both give the code ERR."""


def describe_fault(error: BaseException) -> str:
    """A public sentence: the leading code of a store's error, never its text, which may hold arguments."""
    if _denied_in_script(str(error)):
        return "The store's user may not run a command of a script (NOPERM); what the script did before is not undone"
    text = str(error).partition(" ")[0]
    # redis-py removes the code if it has a class for it.
    code = getattr(error, "status_code", None) or (text if text.isupper() else type(error).__name__)
    if isinstance(error, exceptions.ResponseError) or code is text:
        return f"The store refused the command ({code}); nothing was done"
    return f"The store did not answer ({type(error).__name__}); whether it did what was asked is not known"


def is_foreign(error: BaseException) -> bool:
    """Whether the store reports that a key has the wrong type for the command."""
    return isinstance(error, exceptions.ResponseError) and _WRONG_TYPE(str(error)) is not None
