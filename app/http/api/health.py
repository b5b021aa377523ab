"""/livez and /readyz: for load balancers and container engines; they need no key."""

from litestar import get
from litestar.di import NamedDependency as Handed
from msgspec import Struct

from app.replica import Services
from app.store.readiness import require_ready


class Health(Struct, frozen=True):
    """`ok`; otherwise the request is answered with an error.

    status: `ok`.
    """

    status: str


@get("/livez")
async def livez() -> Health:
    """The process answers; it depends on nothing else. If this fails, restart the process."""
    return Health("ok")


@get("/readyz")
async def readyz(services: Handed[Services]) -> Health:
    """Decisions can be made: the store takes writes, knows the scripts and has room. Otherwise 503, and why."""
    await require_ready(services.client)
    await services.sealing.require_room(services.settings.audit_backlog_max)
    return Health("ok")
