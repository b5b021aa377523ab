"""Tests of policies say what earlier calls reported of their results."""

import json
from pathlib import Path

import pytest

from app.policy_tools.files.policy_file import FileError
from app.policy_tools.files.test_file import read_test_file
from app.policy_tools.files.test_run import run_tests

AIRLINE = json.loads((Path(__file__).parents[2] / "examples/airline/policies.json").read_text())
SESSION = {"session": "1"}
RESERVATION = {"reservation_id": "4WQ150"}
CHANGE = {"tool": "update_reservation_flights", "context": SESSION, "at": "1m"} | {
    "parameters": RESERVATION | {"cabin": "economy", "flights": [{}], "payment_id": "gift_card_1234567"}
}


def looked_up(tool="get_reservation_details", name="reservation:4WQ150", cabin="economy", **fields):
    """The call that read a reservation, of which the runtime reported the cabin."""
    call = {"tool": tool, "parameters": RESERVATION, "context": SESSION, "records": {name: {"cabin": cabin}}}
    return call | fields


@pytest.fixture
def changed(tmp_path):
    """What a change of flights gets after these calls, the airline's record rule being enabled."""
    policies = [each | {"enabled": each["name"] != "Emergency stop"} for each in AIRLINE["policies"]]
    (tmp_path / "airline.json").write_text(json.dumps(AIRLINE | {"policies": policies}))
    path = tmp_path / "x.test.json"

    def run(*before, **call):
        test = {"name": "n", "before": before, "call": CHANGE | call, "want": "allowed"}
        path.write_text(json.dumps({"tests": [test], "start": "2026-11-20T18:00:00Z"}))
        (outcome,) = run_tests(read_test_file(path))
        return outcome.got

    return run


def escalates(got):
    assert got.result == "escalated", got
    assert got.policy.startswith("A basic economy ticket keeps its flights")
    return True


def test_a_rule_reads_what_an_earlier_call_of_the_test_reported(changed):
    """A fitting record lets the call through; without one, or with another cabin, a person is asked."""
    assert changed(looked_up()).result == "allowed"
    assert escalates(changed(looked_up(records={})))
    assert escalates(changed(looked_up(cabin="basic_economy")))
    assert escalates(changed(looked_up(cabin=None)))
    assert escalates(changed(looked_up(name="reservation:ZFA04Y")))


def test_the_newest_report_of_a_record_counts_and_sixteen_are_kept(changed):
    """As in a store: a record replaces one of its name, and the oldest go."""
    assert escalates(changed(looked_up(), looked_up(cabin="basic_economy")))
    others = {f"reservation:{number}": {"cabin": "economy"} for number in range(16)}
    assert escalates(changed(looked_up(), looked_up(records=others)))
    assert changed(looked_up(), looked_up(records=others), looked_up()).result == "allowed"


def test_a_record_is_of_its_tool_its_session_and_its_time(changed):
    """So a record of another tool or session, or one of an hour ago, is none."""
    read = looked_up(records={})
    assert escalates(changed(read, looked_up(tool="get_user_details")))
    assert escalates(changed(read, looked_up(context={"session": "2"})))
    assert changed(looked_up(), at="3599s").result == "allowed"
    assert escalates(changed(looked_up(), at="1h"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"context": {}}, "must name its `session`"),
        ({"want": "denied"}, "only a call that is allowed has a result"),
        ({"records": {"r": {"n": 2**60}}}, "not all readers have exactly"),
        ({"records": {"r": {"n": [1]}}}, "records"),
    ],
)
def test_records_that_a_service_would_refuse_are_refused(changed, fields, said):
    with pytest.raises(FileError, match=said):
        changed(looked_up(**fields))
