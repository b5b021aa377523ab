"""Token buckets by name, in bounded memory."""

import time
from collections import OrderedDict
from collections.abc import Callable


class TokenBuckets:
    """Each name has a bucket of `size` tokens, which is full at first and regains `per_second` tokens every second.

    names_max: how many names are remembered; the one unused longest is forgotten first, and starts again with a full
    bucket.
    """

    def __init__(
        self, size: int, per_second: float, names_max: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._clock = clock
        self._size = size
        self._names_max = names_max
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def drain(self, name: str) -> float:
        """Take a token, or what there is of one; return what is left."""
        now = self._clock()
        left = max(0.0, self._refilled(name, now) - 1)
        self._left[name] = left, now
        return left

    def forget_excess(self) -> list[str]:
        """Forget the names unused longest beyond `names_max`, and return them."""
        excess = len(self._left) - self._names_max
        return [self._left.popitem(last=False)[0] for _ in range(excess)]

    def _refilled(self, name: str, now: float) -> float:
        left, since = self._left.pop(name, (float(self._size), now))
        return min(float(self._size), left + (now - since) * self._per_second)
