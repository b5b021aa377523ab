"""Directories that the context of a call names, such as a project's."""

from msgspec import Struct

from app.language.value_paths import EACH, require_path
from app.model.text import FieldError, Name, require_visible

CWD = "cwd"
"""The name in `context` of the directory in which a line starts."""

HOMES = ("/", "/home", "/root", "/Users")


class ContextRoot(Struct, frozen=True, forbid_unknown_fields=True):
    """A directory that the call's context names.

    context: The name of the value in `context`; never `cwd`.
    """

    context: Name

    def __post_init__(self) -> None:
        require_visible("context", self.context)
        if self.context == CWD:
            raise FieldError("context", "name the project's directory; `cwd` is wherever the agent happens to be")
        try:
            require_path(self.context)
        except ValueError as error:
            raise FieldError("context", str(error)) from None
        if EACH in self.context:
            raise FieldError("context", f"`{EACH}` stands for many values; name one directory")


def is_home(path: str) -> bool:
    """True for the whole disk and for what is usually a person's home."""
    return path in HOMES or path.rpartition("/")[0] in ("/home", "/Users")
