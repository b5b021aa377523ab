"""Writes the tables of docs/ that the code knows: what scopes open, errors, commands (`make doc-tables`).

Such a table is made anew between its head and the next blank line; a test compares. What to do about an error stands on
the page alone, and is kept.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from app.cli.main import main as remit  # noqa: E402 - the checkout's own
from app.http.openapi.document import all_errors, sentence_of  # noqa: E402
from app.http.routes import ENDPOINTS  # noqa: E402
from app.model.api_keys import Scope  # noqa: E402

DOCS = ROOT / "docs"
_OPENED = [each for each in ENDPOINTS if each.scopes]
_FROM_VIEW = [Scope.VIEW, Scope.READ, Scope.AUTHORIZE, Scope.AUDIT, Scope.POLICIES, Scope.APPROVE, Scope.REQUEST]
"""Every scope but admin, which may do everything, in the order of the page."""


def made() -> dict[str, str]:
    """The pages as they should be, by their names."""
    scopes = (DOCS / "scopes.md").read_text()
    scopes = _with_rows(scopes, "| Scope | Can change |", _changing())
    scopes = _with_rows(scopes, "| Operation | `view`", _opening())
    errors, commands = ((DOCS / name).read_text() for name in ("errors.md", "command-line.md"))
    advice = dict(re.findall(r"^\| \d+ \| `(\w+)` \| .+? \| (.+) \|$", errors, re.MULTILINE))
    listed = _commands(remit, click.Context(remit, info_name="remit", **remit.context_settings))
    return {
        "scopes.md": scopes,
        "errors.md": _with_rows(errors, "| Status | Code |", _errors(advice)),
        "command-line.md": _with_rows(commands, "| Command |", listed),
    }


def _with_rows(page: str, head: str, rows: Iterator[str]) -> str:
    """The page with these rows in the table whose head begins so."""
    table = re.compile(rf"^({re.escape(head)}.*\n\|[-|]+\n)(?:\|.*\n)*", re.MULTILINE)
    made = "".join(f"| {row} |\n" for row in rows)
    return table.sub(lambda found: found[1] + made, page, count=1)


def _changing() -> Iterator[str]:
    for scope in _FROM_VIEW:
        changed = [f"`{each.method} {each.path}`" for each in _OPENED if scope in each.scopes and each.changes]
        yield f"`{scope}` | {', '.join(each for each in changed if each != '`DELETE /v1/session`') or 'nothing'}"


def _opening() -> Iterator[str]:
    for each in _OPENED:
        opens = ("yes" if scope in {*each.scopes, Scope.ADMIN} else "" for scope in (*_FROM_VIEW, Scope.ADMIN))
        yield f"`{each.method} {each.path}` | {' | '.join(opens)}"


def _errors(advice: dict[str, str]) -> Iterator[str]:
    for each in all_errors():
        yield f"{each.status} | `{each.code}` | {sentence_of(each)} | {advice.get(each.code, '')}"


def _commands(command: click.Command, context: click.Context) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield f"`{context.command_path}` | {command.get_short_help_str(limit=1000)}"
        return
    for name in command.list_commands(context):
        if (inner := command.get_command(context, name)) is not None and not inner.hidden:
            yield from _commands(inner, click.Context(inner, info_name=name, parent=context))


if __name__ == "__main__":
    for page, text in made().items():
        (DOCS / page).write_text(text)
