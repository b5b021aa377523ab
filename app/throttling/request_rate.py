"""How fast one API key may ask, in each replica for itself.

One caller that has run wild does not take the service away from the others. A replica
answers at most `per_second` requests of a key at once, and as many again in every second. It counts in the replica's
own memory, so N replicas let a key ask N times as fast; what must be exact across replicas is a rule `rate_limit` of a
policy (decision 0008).
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct

KEYS_MAX = 10_000


class Allowance(Struct, frozen=True):
    """What a key may still do. wait_s: until it may ask again, 0 = this request may be answered."""

    per_second: int
    remaining: int
    full_again_s: float
    wait_s: float


class RequestRates:
    """A bucket of requests for each key. on: whether there is a bound at all.

    keys_max: keys that are remembered; the one that asked longest ago is forgotten first, and starts again with a full
    bucket.
    """

    def __init__(self, per_second: int, keys_max: int = KEYS_MAX, clock: Callable[[], float] = time.monotonic) -> None:
        self.on = per_second > 0
        self._per_second = per_second
        self._keys_max = keys_max
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def take(self, key_id: str) -> Allowance:
        """One request of this key, if its bucket holds one; what is refused costs nothing."""
        now = self._clock()
        left, since = self._left.pop(key_id, (float(self._per_second), now))
        left = min(float(self._per_second), left + (now - since) * self._per_second)
        wait_s = 0.0 if left >= 1 else (1 - left) / self._per_second
        left -= wait_s == 0
        self._left[key_id] = left, now
        if len(self._left) > self._keys_max:
            self._left.popitem(last=False)
        full_again_s = (self._per_second - left) / self._per_second
        return Allowance(self._per_second, math.floor(left), full_again_s, wait_s)
