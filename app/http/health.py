"""/livez and /readyz: for balancers and container engines; they need no key."""

from litestar import get
from msgspec import Struct

from app.services import Services
from app.store.readiness import require_ready


class Health(Struct, frozen=True):
    """`ok`, or the request is answered with an error instead."""

    status: str


@get("/livez")
async def livez() -> Health:
    """The process answers; it asks nobody else. If this fails, start the process again."""
    return Health("ok")


@get("/readyz")
async def readyz(services: Services) -> Health:
    """Decisions can be made: the store takes writes and knows the scripts. Otherwise 503, and why."""
    await require_ready(services.client)
    return Health("ok")
