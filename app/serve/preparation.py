"""What `remit serve` does in the store before it serves."""

from collections.abc import Callable

from app.replica import open_alone
from app.serve.doctor import Severity, check_up
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
        if first_start and not await services.records.workspaces.by_name():
            _, raw_key = await services.records.workspaces.create(DEFAULT)
            # Printed at once, because the key is stored nowhere and the start may still fail.
            say(f"admin key {raw_key} (shown only once)")
            return raw_key
    return None
