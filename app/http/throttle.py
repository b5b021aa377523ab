"""Refusals before a request is examined: locked-out addresses, and keys that ask too fast."""

import math
from collections.abc import Sequence

from app.errors import TooManyRequests
from app.http.answers import Header
from app.http.authentication import known_caller, require_not_locked_out
from app.model.api_keys import Caller
from app.replica import Decisions
from app.runtime.fairness.request_rates import Allowance


def has_bounds(decisions: Decisions) -> bool:
    """True if any request could be refused now; if not, the hot path skips all further checks."""
    return decisions.request_rates.on or decisions.auth_failures.locked_until[0] > 0.0


def check_rate(
    decisions: Decisions, peer: str | None, headers: Sequence[Header], *, has_moved: bool = False, cookies: bool = False
) -> list[Header]:
    """The key's remaining allowance, as headers of the answer.

    has_moved: the other lane has already counted the request. cookies: the key may be that of a session in a cookie. A
    key new to this lane is not counted the first time.
    Raises LockedOut or TooManyRequests.
    """
    require_not_locked_out(decisions, peer, headers, cookies=cookies)
    caller = known_caller(decisions, headers, cookies=cookies) if decisions.request_rates.on else None
    if caller is None:
        return []
    allowance = decisions.request_rates.take(caller.root, 0 if has_moved else 1)
    if allowance.wait_s:
        raise TooManyRequests(allowance.per_second, math.ceil(allowance.wait_s), _headers(allowance))
    return _headers(allowance)


def charge(decisions: Decisions, caller: Caller, requests: int) -> int:
    """Count this many further requests of the key, with its first at most a second's worth; return how many it were.

    requests: below 0, so many are given back. Raises TooManyRequests.
    """
    rates = decisions.request_rates
    if not rates.on or not requests:
        return 0
    counted = min(requests, decisions.settings.requests_per_second - 1)
    allowance = rates.take(caller.root, counted)
    if allowance.wait_s:
        raise TooManyRequests(allowance.per_second, math.ceil(allowance.wait_s), _headers(allowance))
    return counted


def _headers(allowance: Allowance) -> list[Header]:
    return [
        (b"x-ratelimit-limit", b"%d" % allowance.per_second),
        (b"x-ratelimit-remaining", b"%d" % allowance.remaining),
        (b"x-ratelimit-reset", b"%d" % math.ceil(allowance.full_again_s)),
    ]
