"""Limits the request rate of an API key, in each lane of a replica separately.

One runaway client must not make the service unavailable to the others. A lane answers at most `per_second` requests
of a key at once, and as many again in every second. It counts in its own memory, so N replicas let a key make N times
as many calls; limits that must be exact across replicas are `rate_limit` rules of a policy (decision 0008).
"""

import math
import time
from collections.abc import Callable

from msgspec import Struct

from app.throttling.token_buckets import TokenBuckets

KEYS_MAX = 10_000


class Allowance(Struct, frozen=True):
    """What a key may still do. wait_s: until it may ask again, 0 = this request may be answered."""

    per_second: int
    remaining: int
    full_again_s: float
    wait_s: float


class RequestRates:
    """A bucket of requests for each key. on: whether there is a limit at all.

    keys_max: how many keys are remembered; the one idle longest is forgotten first, and starts again with a full
    bucket.
    """

    def __init__(self, per_second: int, keys_max: int = KEYS_MAX, clock: Callable[[], float] = time.monotonic) -> None:
        self.on = per_second > 0
        self._per_second = per_second
        self._buckets = TokenBuckets(per_second, per_second, keys_max, clock)

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key_id: str) -> Allowance:
        """Take one request from the key's bucket, if it holds one; a refused request costs nothing."""
        left, lacking = self._buckets.take(key_id)
        self._buckets.forget_excess()
        full_again_s = (self._per_second - left) / self._per_second
        return Allowance(self._per_second, math.floor(left), full_again_s, lacking / self._per_second)
