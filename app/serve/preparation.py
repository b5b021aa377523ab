"""What `remit serve` does in the store before it serves."""

from collections.abc import Callable, Iterable
from functools import partial

from app.health.doctor import Severity, check_up
from app.model.api_keys import Scope
from app.model.identity_provider import GroupScopes, parse_group_scopes, scopes_by_workspace
from app.replica import open_alone
from app.settings import Settings
from app.store.workspaces import DEFAULT

Say = Callable[[str], None]


async def prepare(settings: Settings, *, first_start: bool, say: Say) -> str | None:
    """Prepare the store for requests; return the admin key if one was just created. Raises StoreUnavailable.

    say: takes what the store's check-up found, and the key.
    """
    async with open_alone(settings) as services:
        has_secret = settings.secret is not None
        for finding in await check_up(services.client, private=first_start, has_secret=has_secret):
            if finding.severity is not Severity.OK:
                say(f"{finding.severity:9} {finding.sentence}")
        workspaces = await services.records.workspaces.by_name()
        issuer = settings.oidc_issuer or ""
        table = parse_group_scopes((issuer and settings.oidc_scopes) or "")
        having = await services.records.workspaces.with_sessions(workspaces.values())
        for name, workspace_id in workspaces.items():
            if workspace_id in having:
                await services.records.sign_ins.end_beyond(workspace_id, issuer, partial(_scopes_in, table, name))
        if first_start and not workspaces:
            _, raw_key = await services.records.workspaces.create(DEFAULT)
            # Printed at once, because the key is stored nowhere and the start may still fail.
            say(f"admin key {raw_key} (shown only once)")
            return raw_key
    return None


def _scopes_in(table: list[GroupScopes], workspace: str, groups: Iterable[str]) -> tuple[Scope, ...]:
    return scopes_by_workspace(table, groups).get(workspace, ())
