"""The oracles themselves: they accept a correct run, and each detects its fault."""

import copy

import pytest
import redis
from oracle import (
    Forbidden,
    check_answers,
    check_chain,
    check_forbidden,
    check_quotas,
    check_sequence,
    check_suffix,
    gone,
)
from servers import Replica
from topologies import SEALING_FAST
from witness import Witness


class Run:
    """A workspace in which some calls were answered: twenty allowed, the rest denied."""

    def __init__(self, witness):
        self.witness, self.store = witness, witness.store
        self.agent_id = witness.new_agent(max_calls=20)
        with witness.load(self.agent_id) as load:
            load.after(60)
        self.calls = load.answered
        [self.quota] = witness.quotas
        self.name = f"remit:{{{witness.tenant.id}}}:"
        while not self.store.exists(f"{self.name}audit:segment:1"):
            witness.tenant.log(limit=1)

    def log(self):
        return copy.deepcopy(self.witness.log())

    def check_chain(self):
        check_chain(self.witness.url, self.witness.tenant.id)


@pytest.fixture(scope="module")
def new_run(store, shared):
    replica = shared(Replica(store.url, **SEALING_FAST))
    return lambda: Run(shared(Witness(redis.Redis(port=store.port), store.url, replica)))


@pytest.fixture(scope="module")
def run(new_run):
    return new_run()


def test_a_correct_run_passes_the_oracle(run):
    """Sixty calls, twenty of them allowed, in segments and in the stream, are as the log says."""
    log = run.witness.check()
    assert len(log.entries) >= 60
    assert sum(entry["result"] == "allowed" for entry in log.entries) == 20


def lose_an_entry(log, calls):
    del log.by_id[calls[3].answer["id"]]


def change_a_reason(log, calls):
    log.by_id[calls[3].answer["id"]]["reason"] = "because"


def change_a_parameter(log, calls):
    log.by_id[calls[3].answer["id"]]["parameters"] = {"call": calls[3].number, "amount": 1}


def turn_a_result(log, calls):
    log.by_id[calls[3].answer["id"]]["result"] = "escalated"


def repeat_an_entry(log, calls):
    log.entries.append(log.by_id[calls[3].answer["id"]])


def count_a_call_twice(log, calls):
    log.entries.append(log.by_id[calls[3].answer["id"]] | {"id": "another"})


def invent_a_call(log, calls):
    log.entries.append(log.entries[0] | {"id": "another", "parameters": {"call": 0}})


@pytest.mark.parametrize(
    ("doctor", "sentence"),
    [
        (lose_an_entry, "is not in the log"),
        (change_a_reason, "the log says"),
        (change_a_parameter, "the log says"),
        (turn_a_result, "the log says"),
        (repeat_an_entry, "more than once"),
        (count_a_call_twice, "has 2 entries"),
        (invent_a_call, "that nobody made"),
    ],
)
def test_an_answer_that_the_log_does_not_hold_as_it_was_given_is_found(run, doctor, sentence):
    """Lost, changed in any part, repeated, or made up."""
    log = run.log()
    doctor(log, run.calls)
    with pytest.raises(AssertionError, match=sentence):
        check_answers(log, run.calls)


def test_a_retry_with_an_idempotency_key_may_not_have_two_entries(run):
    """Without a key, it may."""
    log, call = run.log(), copy.deepcopy(run.calls[3])
    log.entries.append(log.by_id[call.answer["id"]] | {"id": "another"})
    call.sends = 2
    calls = [*run.calls[:3], call, *run.calls[4:]]
    check_answers(log, calls)

    call.key = "the same"
    with pytest.raises(AssertionError, match="was sent 2 times and has 2 entries"):
        check_answers(log, calls)


def test_a_quota_with_one_call_too_many_is_found(run):
    """One more within the hour is too many, wherever it is in the log."""
    log = run.log()
    denied = next(entry for entry in log.entries if entry["result"] == "denied")
    denied["result"] = "allowed"
    with pytest.raises(AssertionError, match="21 calls were admitted"):
        check_quotas(log, [run.quota])


def test_a_call_that_was_admitted_one_window_later_is_no_call_too_many(run):
    """The window is closed at its old end."""
    log = run.log()
    first = min(entry["timestamp"] for entry in log.entries if entry["result"] == "allowed")
    denied = next(entry for entry in log.entries if entry["result"] == "denied")
    denied["result"] = "allowed"
    denied["timestamp"] = first.replace(first[:4], str(int(first[:4]) + 1), 1)
    check_quotas(log, [run.quota])


def test_a_call_that_was_allowed_after_it_was_forbidden_is_found(run):
    """A call sent at the same moment counts as sent before."""
    allowed = next(call for call in run.calls if call.answer["allowed"])
    check_forbidden([allowed], [Forbidden(run.agent_id, allowed.sent)])
    check_forbidden([allowed], [Forbidden("another", allowed.sent - 1)])
    with pytest.raises(AssertionError, match="1 ns after it was forbidden"):
        check_forbidden([allowed], [Forbidden(run.agent_id, allowed.sent - 1)])


def test_a_gap_in_the_answers_is_not_taken_for_a_lost_end(run):
    """A crash may lose only the newest answers."""
    calls = sorted(run.calls, key=lambda call: call.answer["id"])
    newest, older = calls[-1], calls[len(calls) // 2]
    log = run.log()
    del log.by_id[newest.answer["id"]]
    check_suffix(log, calls, list(gone(log, calls)))

    del log.by_id[older.answer["id"]]
    with pytest.raises(AssertionError, match="is lost, and one of"):
        check_suffix(log, calls, list(gone(log, calls)))


def test_a_gap_a_repetition_and_a_missing_end_are_found(run):
    """Numbers are 1, 2, 3 … to the last commit's."""
    for doctored in ([*range(1, 9), *range(10, 21)], [*range(1, 9), 8, *range(9, 20)], [*range(1, 20)]):
        log = run.log()
        log.sequences, log.last_sequence = doctored, 20
        with pytest.raises(AssertionError, match="must stand"):
            check_sequence(log)


def test_a_changed_segment_and_a_deleted_entry_break_the_chain(new_run):
    """As found in the store's bytes."""
    run = new_run()
    run.check_chain()
    segment = f"{run.name}audit:segment:1"
    honest = run.store.hget(segment, "sha256")
    run.store.hset(segment, "sha256", "0" * 64)
    with pytest.raises(AssertionError, match="the chain is broken"):
        run.check_chain()
    run.store.hset(segment, "sha256", honest)

    def breaks():
        """A compactor that has just read the entry seals it all the same; then nothing is missing."""
        run.witness.tenant.authorize(run.agent_id, parameters={"call": -1})
        newest, _ = run.store.xrevrange(f"{run.name}audit:stream", count=1)[0]
        run.store.xdel(f"{run.name}audit:stream", newest)
        try:
            run.check_chain()
        except AssertionError as error:
            return "the chain is broken" in str(error)
        return False

    assert any(breaks() for _ in range(20))
