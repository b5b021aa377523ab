"""What the groups of a provider may do in which workspace."""

from collections.abc import Iterable
from typing import NamedTuple

from app.model.api_keys import Scope


class GroupScopes(NamedTuple):
    """What one group may do in one workspace."""

    workspace: str
    group: str
    scopes: tuple[Scope, ...]


def parse_group_scopes(text: str) -> list[GroupScopes]:
    """The groups in a setting such as `admins=admin payments/ops=policies,view`. Raises ValueError with a sentence."""
    found = []
    for entry in text.split():
        called, equals, scopes = entry.rpartition("=")
        # Some providers write a group as a path; such a name begins with the slash.
        workspace, slash, group = ("default", "/", called) if called.startswith("/") else called.rpartition("/")
        if not equals or not group.strip("/") or (slash and not workspace):
            raise ValueError(f"{entry!r} is not GROUP=SCOPE,SCOPE or WORKSPACE/GROUP=SCOPE,SCOPE")
        try:
            granted = tuple(dict.fromkeys(Scope(scope) for scope in scopes.split(",")))
        except ValueError:
            raise ValueError(f"{entry!r} has a scope that is none of {', '.join(Scope)}") from None
        found.append(GroupScopes(workspace or "default", group, granted))
    return found


def scopes_by_workspace(table: Iterable[GroupScopes], groups: Iterable[str]) -> dict[str, tuple[Scope, ...]]:
    """What somebody in these groups may do, by workspace in the order of the table; exact names only."""
    has, found = set(groups), dict[str, dict[Scope, None]]()
    for each in table:
        if each.group in has:
            found.setdefault(each.workspace, {}).update(dict.fromkeys(each.scopes))
    return {workspace: tuple(sorted(scopes)) for workspace, scopes in found.items()}
