"""/livez and /readyz: for load balancers and container engines; they need no key."""

from litestar import get
from litestar.di import NamedDependency as Handed
from msgspec import Struct

from app.replica import Services


class Health(Struct, frozen=True):
    """`ok`; otherwise the request is answered with an error.

    status: `ok`.
    """

    status: str


@get("/livez")
async def livez() -> Health:
    """Answer as long as the replica does; nothing else is checked. If this fails, restart the replica."""
    return Health("ok")


@get("/readyz")
async def readyz(services: Handed[Services]) -> Health:
    """Answer 200 if decisions can be made: both lanes reach the store; it accepts writes, knows the scripts, has room.

    Otherwise 503 says why.
    """
    await services.readiness.require()
    await services.sealing.require_room(services.settings.audit_backlog_max)
    return Health("ok")
