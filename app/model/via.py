"""How requests come in."""

from enum import StrEnum


class Via(StrEnum):
    """How somebody makes a request: in a session of a browser (`console`) or of a program (`cli`), or with a `key`."""

    CONSOLE = "console"
    CLI = "cli"
    KEY = "key"
