"""What is refused before anything looks at the request: addresses that are locked out, keys that ask too fast."""

import math

from litestar.types import HTTPScope, Message, Send

from app.errors import TooManyRequests
from app.http.authentication import NEEDS_A_KEY, known_caller, require_not_locked_out
from app.rates import Allowance
from app.services import Services


def has_bounds(services: Services) -> bool:
    """Whether anybody could be refused now; the hot path asks no more than this."""
    return services.rates.on or bool(services.lockouts.locked)


def admit(services: Services, scope: HTTPScope, send: Send) -> Send:
    """How to answer this request: `send`, or `send` with what the key may still do in its headers.

    Raises LockedOut or TooManyRequests. A key that this replica has not seen yet is not counted the first time.
    """
    if not scope["path"].startswith(NEEDS_A_KEY):
        return send
    require_not_locked_out(services, scope)
    caller = known_caller(services, scope["headers"]) if services.rates.on else None
    if caller is None:
        return send
    allowance = services.rates.take(caller.key_id)
    if allowance.wait_s:
        raise TooManyRequests(allowance.per_second, math.ceil(allowance.wait_s), _headers(allowance))

    async def send_with_allowance(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_headers(allowance)]
        await send(message)

    return send_with_allowance


def _headers(allowance: Allowance) -> list[tuple[bytes, bytes]]:
    return [
        (b"x-ratelimit-limit", b"%d" % allowance.per_second),
        (b"x-ratelimit-remaining", b"%d" % allowance.remaining),
        (b"x-ratelimit-reset", b"%d" % math.ceil(allowance.full_again_s)),
    ]
