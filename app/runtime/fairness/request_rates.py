"""Limits the request rate of an API key, on each replica separately.

One runaway client must not make the service unavailable to the others. A replica answers at most `per_second` requests
of a key at once, and as many again in every second. Its lanes count together, in their own memory, so N replicas let a
key make N times as many calls; limits that must be exact across replicas are `rate_limit` rules of a policy (decision
0008).
"""

import math
import time
from collections.abc import Callable

from msgspec import Struct

from app.runtime.fairness.auth_failures import AuthFailures
from app.runtime.fairness.shared_buckets import SharedBuckets

KEYS_MAX = 10_000


class Allowance(Struct, frozen=True):
    """The remaining allowance of a key. wait_s: seconds until it may ask again; 0 = this request may be answered."""

    per_second: int
    remaining: int
    full_again_s: float
    wait_s: float


class RequestRates:
    """A bucket of requests for each key. Processes forked after it was made share it.

    on: there is a limit. keys_max: about how many keys are remembered.
    """

    def __init__(self, per_second: int, keys_max: int = KEYS_MAX, clock: Callable[[], float] = time.monotonic) -> None:
        self.on = per_second > 0
        self._per_second = per_second
        self._buckets = SharedBuckets(per_second, per_second, keys_max, clock) if self.on else None

    def take(self, key_id: str, requests: int = 1) -> Allowance:
        """Take a request from the key's bucket, if one is left; a refused request costs nothing.

        requests: 0 = the other lane has taken it already; below 0, so many are put back.
        """
        if self._buckets is None:
            raise RuntimeError("there is no limit")
        left, lacking = self._buckets.take(key_id, requests)
        full_again_s = (self._per_second - left) / self._per_second
        return Allowance(self._per_second, math.floor(left), full_again_s, lacking / self._per_second)


class SharedLimits(Struct, frozen=True):
    """Processes forked after they were made share their counts."""

    request_rates: RequestRates
    auth_failures: AuthFailures
