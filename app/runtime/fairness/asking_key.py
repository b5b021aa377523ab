"""Whose request a task answers, so that its work takes turns with that of the workspace's other keys.

Set once for each request, when its key has been checked: nothing in between has to pass it on, so nothing forgets to.
"""

from contextvars import ContextVar

asking_key: ContextVar[str] = ContextVar("asking_key", default="")
"""The root of the key; "" for work that no request waits for."""
