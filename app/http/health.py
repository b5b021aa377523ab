"""/livez and /readyz: for balancers and container engines; they need no key."""

from litestar import get
from msgspec import Struct

from app.services import Services


class Health(Struct, frozen=True):
    """`ok`, or the request is answered with an error instead."""

    status: str


@get("/livez")
async def livez() -> Health:
    """The process answers; it asks nobody else."""
    return Health("ok")


@get("/readyz")
async def readyz(services: Services) -> Health:
    """The store answers too, so decisions can be made; 503 otherwise."""
    await services.client.call("PING")
    return Health("ok")
