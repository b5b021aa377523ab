"""Writes `remit_client/_sync` from `remit_client/_async`: one source, two clients. `--check` only compares."""

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "src/remit_client"
BY_HAND = {"io.py", "plain_http.py", "transport.py"}
HEAD = "# Written by unasync.py from _async/{name}; change that.\n"
SWAPS = (
    (r"\basync def\b", "def"),
    (r"\basync (with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\bimport Awaitable, ", "import "),
    (r"\bAsync(Remit|Enforcer|Gate|Guard|Connections)\b", r"\1"),
    (r"\b_async\b", "_sync"),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"\baclose\b", "close"),
    (r"\baiter_(raw|lines)\b", r"iter_\1"),
    (r"\baread\b", "read"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\basynchronous=True\b", "asynchronous=False"),
    (r"httpx\.AsyncClient", "httpx.Client"),
)


def synchronous(name: str, text: str) -> str:
    """The same module without the event loop."""
    for pattern, replacement in SWAPS:
        text = re.sub(pattern, replacement, text)
    return HEAD.format(name=name) + text


def main() -> int:
    """0 if `_sync` is what `_async` makes of it (afterwards, unless only checking)."""
    differs = []
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        if source.name in BY_HAND:
            continue
        target, wanted = PACKAGE / "_sync" / source.name, synchronous(source.name, source.read_text())
        if not target.exists() or target.read_text() != wanted:
            differs.append(source.name)
            if "--check" not in sys.argv[1:]:
                target.write_text(wanted)
    if differs and "--check" in sys.argv[1:]:
        print(f"run clients/python/unasync.py: {', '.join(differs)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
