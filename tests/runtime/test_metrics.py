"""What a replica counts, and the format of GET /metrics."""

import itertools
import os
import re

import pytest

from app.model.decisions import Result
from app.model.outcomes import CallStatus
from app.model.quotas import BreakerAction
from app.runtime.metrics import CODES, FAMILIES, OUTCOMES, RESULTS, ROW_BYTES, Metrics, gauge_text


def samples(metrics: Metrics) -> dict[str, float]:
    """Every sample by its name and labels."""
    lines = [line for line in metrics.render().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_a_decision_is_counted_by_its_result_and_its_latency():
    """The latency is the one that the answer and the entry carry."""
    metrics = Metrics()
    metrics.decided("allowed", 800)
    metrics.decided("denied", 10_000)
    metrics.decided("denied", 10_001)
    read = samples(metrics)
    assert read['remit_decisions_total{result="allowed"}'] == 1
    assert read['remit_decisions_total{result="denied"}'] == 2
    assert read['remit_decision_latency_seconds_bucket{le="0.0005"}'] == 0
    assert read['remit_decision_latency_seconds_bucket{le="0.001"}'] == 1
    assert read['remit_decision_latency_seconds_bucket{le="0.01"}'] == 2
    assert read['remit_decision_latency_seconds_bucket{le="+Inf"}'] == 3
    assert read["remit_decision_latency_seconds_count"] == 3
    assert read["remit_decision_latency_seconds_sum"] == pytest.approx(0.020801)


def test_the_callers_wait_is_counted_apart_from_the_entrys_latency():
    """A slow disk delays the answer after the commit has read the clock, so it shows only here."""
    metrics = Metrics()
    metrics.decided("allowed", 800)
    metrics.ready(40_000)
    read = samples(metrics)
    assert read['remit_decision_latency_seconds_bucket{le="0.001"}'] == 1
    assert read['remit_answer_latency_seconds_bucket{le="0.025"}'] == 0
    assert read['remit_answer_latency_seconds_bucket{le="0.05"}'] == 1
    assert read["remit_answer_latency_seconds_sum"] == pytest.approx(0.04)


def test_events_other_than_decisions_are_counted_too():
    """Such as refusals by code, stale plans, round trips and batches."""
    metrics = Metrics()
    metrics.refused("STORE_UNAVAILABLE")
    metrics.refused("A_CODE_OF_TOMORROW")
    metrics.went_stale(version_moved=True)
    metrics.went_stale(version_moved=False)
    metrics.answered(150)
    metrics.sent(3)
    metrics.breaker_tripped("deny")
    metrics.crowded("sessions")
    read = samples(metrics)
    assert read['remit_refusals_total{code="STORE_UNAVAILABLE"}'] == 1
    assert read['remit_refusals_total{code="other"}'] == 1
    assert read['remit_stale_retries_total{moved="version"}'] == 1
    assert read['remit_stale_retries_total{moved="clock"}'] == 1
    assert read['remit_store_round_trip_seconds_bucket{le="0.0001"}'] == 0
    assert read['remit_store_round_trip_seconds_bucket{le="0.0002"}'] == 1
    assert read['remit_store_batch_commands_bucket{le="2"}'] == 0
    assert read['remit_store_batch_commands_bucket{le="4"}'] == 1
    assert read["remit_store_batch_commands_sum"] == 3
    assert [read[f'remit_breaker_trips_total{{action="{each}"}}'] for each in BreakerAction] == [0, 1, 0]
    assert (read['remit_crowded_denials_total{of="sessions"}'], read['remit_crowded_denials_total{of="values"}']) == (
        1,
        0,
    )


def test_processes_that_share_memory_are_summed_whichever_is_asked():
    """Several replicas share a port, so a scrape of one gets the numbers of all."""
    shared = os.memfd_create("test")
    os.ftruncate(shared, 2 * ROW_BYTES)
    first, second = Metrics(shared, 2, 0), Metrics(shared, 2, 1)
    first.decided("allowed", 1)
    second.decided("allowed", 1)
    second.watch("remit_agent_cache_entries", lambda: 7)
    second.refresh()
    assert samples(first)['remit_decisions_total{result="allowed"}'] == 2
    assert samples(first)["remit_agent_cache_entries"] == 7

    successor = Metrics(shared, 2, 1)
    successor.decided("allowed", 1)
    assert samples(first)['remit_decisions_total{result="allowed"}'] == 3
    os.close(shared)


def test_a_gauge_is_what_it_is_when_it_is_read():
    """The process that is asked updates its own gauges first."""
    metrics, held = Metrics(), []
    metrics.watch("remit_caller_cache_entries", lambda: len(held))
    assert samples(metrics)["remit_caller_cache_entries"] == 0
    held.append("one")
    assert samples(metrics)["remit_caller_cache_entries"] == 1


def test_every_result_and_every_code_has_a_counter():
    """None may be counted as `other`, or not at all."""
    assert set(RESULTS) == {result.value for result in Result}
    assert set(OUTCOMES) == {status.value for status in CallStatus}
    assert {"STORE_UNAVAILABLE", "INTERNAL_ERROR", "API_KEY_EXPIRED"} < set(CODES)


def test_the_text_is_what_prometheus_reads():
    """Every sample follows its family's HELP and TYPE, and histograms are cumulative."""
    metrics = Metrics()
    for latency_us in (100, 3_000, 9_999, 2_000_000):
        metrics.decided("allowed", latency_us)
    text = metrics.render()
    assert text.endswith("\n")
    family = None
    for line in text.splitlines():
        if match := re.fullmatch(r"# HELP (remit_[a-z_]+) [A-Z][^\\]+\.", line):
            family = match[1]
        elif match := re.fullmatch(r"# TYPE (remit_[a-z_]+) (counter|gauge|histogram)", line):
            assert match[1] == family
        else:
            name = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"\\]+"\})? [0-9.]+', line)[1]
            assert name in {family, f"{family}_bucket", f"{family}_sum", f"{family}_count"}
    buckets = [value for name, value in samples(metrics).items() if name.startswith("remit_decision_latency_seconds_b")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 4


def test_a_large_number_is_written_in_full():
    """Rounded to six digits, 2 000 001 entries would look like 2 000 000."""
    assert gauge_text("remit_x", "What it is.", 2_000_001).endswith("\nremit_x 2000001\n")
    assert gauge_text("remit_x", "What it is.", 0.25).endswith("\nremit_x 0.25\n")
    assert gauge_text("remit_x", "What it is.", value=True).endswith("\nremit_x 1\n")


def test_no_two_counters_overlap():
    """Families are stored one after the other in a row."""
    edges = [(family.start, family.end) for family in FAMILIES]
    assert edges[0][0] == 0
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(edges))
    assert edges[-1][1] * 8 == ROW_BYTES
