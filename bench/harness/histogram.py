"""A histogram of times with a bounded relative error, like HdrHistogram."""

from collections.abc import Iterable

_EXACT = 256
"""Values below this have a bucket each; above, each doubling is cut into half as many: an error below 0.8 %."""
_HALF = _EXACT // 2


class Histogram:
    """Counts of whole microseconds. A percentile is never below the true one, and at most 0.8 % above it."""

    def __init__(self, values_us: Iterable[int] = ()) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self.max_us = 0
        for value_us in values_us:
            self.record(value_us)

    def record(self, value_us: int) -> None:
        """Count a value. Raises ValueError if it is negative, because then a clock is wrong."""
        if value_us < 0:
            raise ValueError(f"{value_us} us is before the start")
        bucket = _bucket(value_us)
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        self.count += 1
        self.max_us = max(self.max_us, value_us)

    def percentile(self, percent: float) -> int:
        """The smallest value that `percent` of all values do not exceed, in us; 0 if there are none."""
        wanted = max(1.0, self.count * percent / 100)
        seen = 0
        for bucket in sorted(self._counts):
            seen += self._counts[bucket]
            if seen >= wanted:
                return min(_highest(bucket), self.max_us)
        return self.max_us


def _bucket(value: int) -> int:
    shift = max(0, value.bit_length() - 8)
    return shift * _HALF + (value >> shift)


def _highest(bucket: int) -> int:
    shift = max(0, bucket // _HALF - 1)
    return ((bucket - shift * _HALF + 1) << shift) - 1
