"""Open-loop latency counts from the moment a request was due."""

from bench.harness.arrivals import Arrivals, Phase, intended_times

SECOND = 1_000_000


def test_requests_are_evenly_spaced_within_a_phase():
    """Each phase begins where the one before it ended."""
    assert intended_times([Phase(rate=2, seconds=1), Phase(rate=4, seconds=0.5)]) == [
        0,
        SECOND // 2,
        SECOND,
        SECOND + SECOND // 4,
    ]


def test_latency_counts_from_the_intended_send_not_from_the_actual_one():
    """A request that waited 500 ms for a connection and 100 ms for its answer took 600 ms."""
    arrivals = Arrivals([Phase(rate=1, seconds=1)])
    number = arrivals.take(now_us=500_000, free_since_us=500_000)

    arrivals.answered(number, 600_000)

    assert arrivals.slice(0, SECOND).max_us == 600_000


def test_no_request_leaves_before_its_moment():
    """The rate is the schedule's, not the service's."""
    arrivals = Arrivals([Phase(rate=10, seconds=1)])
    assert arrivals.take(now_us=0, free_since_us=0) == 0

    assert arrivals.take(now_us=99_999, free_since_us=0) is None
    assert arrivals.next_moment_us() == 100_000
    assert arrivals.take(now_us=100_000, free_since_us=0) == 1


def test_requests_delayed_by_a_slow_service_are_all_sent_and_counted():
    """Three requests fell due while one answer was awaited; all of them are sent, and all of their waiting counts."""
    arrivals = Arrivals([Phase(rate=10, seconds=0.4)])
    first = arrivals.take(0, 0)
    arrivals.answered(first, 400_000)

    late = [arrivals.take(400_000, 400_000) for _ in range(3)]
    for number in late:
        arrivals.answered(number, 400_000)

    assert late == [1, 2, 3]
    assert arrivals.slice(0, SECOND).answered == 4
    assert arrivals.slice(50_000, SECOND).p50_us >= 200_000


def test_lag_is_the_generators_own_delay_and_not_a_wait_for_a_connection():
    """With a connection free all along, sending 2 ms late is lag; waiting for one is the service's doing."""
    arrivals = Arrivals([Phase(rate=1, seconds=2)])
    arrivals.answered(arrivals.take(now_us=2_000, free_since_us=0), 3_000)
    arrivals.answered(arrivals.take(now_us=1_500_000, free_since_us=1_500_000), 1_600_000)

    assert arrivals.slice(0, 1).lag_p99_us == 2_000
    assert arrivals.slice(SECOND, 2 * SECOND).lag_p99_us == 0


def test_a_refusal_is_answered_but_counted_as_shed():
    """Shedding is an answer; it must not pass for a decision."""
    arrivals = Arrivals([Phase(rate=2, seconds=1)])
    arrivals.answered(arrivals.take(0, 0), 100)
    arrivals.answered(arrivals.take(500_000, 0), 500_100, shed=True)

    whole = arrivals.slice(0, SECOND)

    assert (whole.answered, whole.shed, arrivals.open) == (2, 1, 0)
