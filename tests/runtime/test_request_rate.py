"""How fast one key may ask."""

import os

import pytest

from app.runtime.fairness.request_rates import RequestRates


@pytest.fixture
def rates(clock):
    return RequestRates(4, clock=clock)


def test_one_seconds_requests_may_come_at_once_and_no_more(rates):
    """The fifth is refused and told how long to wait."""
    allowances = [rates.take("k") for _ in range(5)]
    assert [each.wait_s for each in allowances] == [0, 0, 0, 0, 0.25]
    assert [each.remaining for each in allowances] == [3, 2, 1, 0, 0]
    assert [each.full_again_s for each in allowances] == [0.25, 0.5, 0.75, 1, 1]


def test_no_span_has_more_requests_than_the_bucket_and_its_refill(rates, clock):
    """At a hundred requests a second for ten seconds: 4 at once, then 4 a second."""
    admitted = 0
    for _ in range(1000):
        admitted += rates.take("k").wait_s == 0
        clock.now += 0.01
    assert admitted == 4 + 4 * 10 - 1


def test_a_refused_request_costs_nothing(rates, clock):
    """A client that keeps asking does not wait longer."""
    for _ in range(1000):
        rates.take("k")
    clock.now += 0.25
    assert rates.take("k").wait_s == 0


def test_a_quiet_day_buys_only_one_seconds_requests(rates, clock):
    """The bucket does not overflow."""
    rates.take("k")
    clock.now += 86_400
    assert [rates.take("k").wait_s for _ in range(5)] == [0, 0, 0, 0, 0.25]


def test_keys_do_not_slow_each_other(rates):
    """Each has its own bucket."""
    for _ in range(1000):
        rates.take("k")
    assert rates.take("other").wait_s == 0


def test_memory_is_bounded(clock):
    """The keys whose last request is longest ago are forgotten."""
    rates = RequestRates(1, keys_max=100, clock=clock)
    for number in range(1000):
        clock.now += 1e-6
        rates.take(str(number))
    remembered = [number for number in range(1000) if not rates.take(str(number), 0).remaining]
    assert len(remembered) <= 100
    assert (remembered[0] > 500, remembered[-1]) == (True, 999)


def test_a_request_that_the_other_lane_has_counted_costs_nothing(rates):
    """The answer still says what is left."""
    rates.take("k")
    assert [rates.take("k", 0).remaining for _ in range(9)] == [3] * 9
    for _ in range(3):
        rates.take("k")
    assert (rates.take("k", 0).wait_s, rates.take("k", 0).remaining) == (0, 0)


def test_processes_that_share_a_bucket_take_no_more_than_there_is(clock):
    """Both take at full speed, and each gets some."""
    rates = RequestRates(20_000, clock=clock)
    results, told = os.pipe()
    children = []
    for _ in range(2):
        child = os.fork()
        if not child:
            os.write(told, b"%d\n" % sum(not rates.take("k").wait_s for _ in range(20_000)))
            os._exit(0)
        children.append(child)
    codes = [os.waitpid(each, 0)[1] for each in children]  # other tests' children may end, too
    taken = [int(line) for line in os.read(results, 100).split()]
    os.close(results)
    os.close(told)
    assert (codes, sum(taken), min(taken) > 0) == ([0, 0], 20_000, True)


def test_zero_is_no_bound():
    """The limit is then not checked at all."""
    assert not RequestRates(0).on
    assert RequestRates(1).on
