"""What the questions run against: the baseline, and a captured commit."""

import json
import os

import pytest

from bench.harness.baseline import EMPTY, TYPED
from bench.harness.captured_commits import StoreConnection, ask, commit_of, send_many
from bench.harness.closed_loop import Call
from bench.harness.population import hot_call, hot_place
from bench.harness.processes import Baseline, free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def baseline():
    """The two handlers that decide nothing, on any core."""
    with Baseline(min(os.sched_getaffinity(0))) as server:
        yield server


def test_the_empty_handler_answers_an_empty_object(baseline):
    """It is the least that a request can cost here."""
    assert ask(baseline, Call(EMPTY, b"{}")) == b"{}"


def test_the_typed_handler_answers_what_a_decision_looks_like(baseline, replica, store):
    """Its answer has the fields of a decision, so the two cost the same to encode and to send."""
    call = hot_call(hot_place(store.url, f"typed {free_port()}"))

    constant, decision = ask(baseline, Call(TYPED, call.body)), ask(replica, call)

    assert _keys(constant) == _keys(decision)
    assert abs(len(constant) - len(decision)) < 40


def test_a_commit_caught_on_the_wire_can_be_sent_again(replica, store):
    """Every byte of it survived the store's own quoting, so the store commits it as often as it comes."""
    place = hot_place(store.url, f"wire {free_port()}")
    words = commit_of(store, replica, hot_call(place))

    with StoreConnection(store) as connection:
        send_many(connection, words, calls=20, together=10)
        stream = next(word for word in words if word.endswith(b":audit:stream"))

        assert connection.call(b"XLEN", stream) == 22  # two that were asked over HTTP, and these


def _keys(raw):
    return list(json.loads(raw))
