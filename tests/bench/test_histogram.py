import random

import pytest

from bench.harness.histogram import Histogram


def test_a_percentile_is_never_below_the_true_one_and_at_most_one_percent_above():
    """The error of a bucket is bounded, whatever the size of the values."""
    rolls = random.Random(4)
    values = sorted(round(10 ** rolls.uniform(0, 7)) for _ in range(10_000))
    histogram = Histogram(values)

    for percent in (1, 50, 90, 99, 99.9, 100):
        true = values[max(0, round(len(values) * percent / 100) - 1)]
        assert true <= histogram.percentile(percent) <= true * 1.01 + 1


def test_the_largest_value_is_exact():
    """No bucket's edge hides how bad the worst case was."""
    assert Histogram([1, 1_234_567]).percentile(100) == 1_234_567


def test_small_values_are_exact():
    """Below 256 us every value has a bucket of its own."""
    histogram = Histogram(range(1, 101))

    assert [histogram.percentile(percent) for percent in (1, 50, 99)] == [1, 50, 99]


def test_an_empty_histogram_gives_zero():
    """A phase without answers renders, it does not divide by zero."""
    assert Histogram().percentile(99) == 0


def test_a_negative_time_is_refused():
    """An answer before its question means that a clock is wrong."""
    with pytest.raises(ValueError, match="before the start"):
        Histogram([-1])
