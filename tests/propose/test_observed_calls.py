"""Which calls of a log a proposal learns from."""

import json

import pytest
from audit_entries import AGENTS, KEY, entry_of, fields_of

from app.model.proposals import ProposalFilter
from app.propose.observed_calls import Observer

FOREVER = 1 << 50


def line(sequence, context=None, **given):
    """A line of the log: an allowed call, of its own session unless a context is given."""
    context = {"session": f"s{sequence}"} if context is None else context
    return json.dumps(entry_of(fields_of(sequence, **given)) | {"context": context}).encode()


def said(sequence, code, **about):
    """A line about another."""
    shown = entry_of(fields_of(sequence)) | {"result": None, "type": "outcome", "code": code, **about}
    return json.dumps(shown).encode()


def observations(*lines, wanted=None, span=(0, FOREVER)):
    observer = Observer(AGENTS[0], *span, wanted or ProposalFilter())
    observer.feed(lines)
    return observer.finish()


def entry(sequence):
    return str(fields_of(sequence)["id"])


def learned(*lines, **options):
    return [call.id for call in observations(*lines, **options).calls]


@pytest.mark.parametrize("result", ["denied", "escalated"])
def test_only_allowed_calls_are_learned(result):
    assert learned(line(1), line(2, result=result)) == [entry(1)]


@pytest.mark.parametrize("code", ["failed", "not_executed"])
def test_a_call_that_failed_is_not_learned(code):
    """Wherever in the log its report stands."""
    lines = [line(1), line(2), said(3, code, decisionId=entry(2)), said(4, "executed", decisionId=entry(1))]
    for order in (lines, lines[::-1]):
        found = observations(*order)
        assert [call.id for call in found.calls] == [entry(1)]
        assert found.failed == 1


def test_a_session_in_which_a_person_denied_something_is_left_out_whole():
    """And what was denied is kept: the result must not allow it."""
    here = {"session": "s", "user": "u"}
    lines = [
        line(1, here),
        line(2, here, result="escalated", approvalId="a", parameters='{"path":"/etc"}'),
        line(3, here),
        line(4),
        said(5, "approval_denied", type="approval", approvalId="a"),
    ]
    lines[1] = json.dumps(json.loads(lines[1]) | {"approvalId": "a"}).encode()
    found = observations(*lines)
    assert [call.id for call in found.calls] == [entry(4)]
    assert [call.parameters for call in found.refused] == [{"path": "/etc"}]
    assert (found.sessions_left_out, found.calls_left_out) == (1, 2)


@pytest.mark.parametrize("field", ["suspendedBy", "trippedBy"])
def test_a_session_in_which_a_breaker_tripped_is_left_out_whole(field):
    here = {"session": "s"}
    tripping = json.dumps(json.loads(line(2, here, result="denied")) | {field: "p"}).encode()
    assert learned(line(1, here), tripping, line(3)) == [entry(3)]


def test_a_denied_call_without_a_session_leaves_no_other_out():
    tripping = json.dumps(json.loads(line(2, {}, result="denied")) | {"trippedBy": "p"}).encode()
    assert learned(line(1, {}), tripping) == [entry(1)]


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        ({"user": ["ann"]}, [1, 2]),
        ({"session": ["s1", "s3"]}, [1, 3]),
        ({"exclude_session": ["s1"]}, [2, 3]),
        ({"user": ["ann"], "exclude_session": ["s1"]}, [2]),
        ({"key_id": [KEY]}, [1, 2, 3]),
        ({"key_id": ["018bcfe5-6800-7000-8000-000000000001"]}, []),
    ],
)
def test_a_person_says_which_calls_to_learn_from(wanted, kept):
    lines = [line(number, {"session": f"s{number}", "user": "ann" if number < 3 else "bob"}) for number in (1, 2, 3)]
    assert learned(*lines, wanted=ProposalFilter(**wanted)) == [entry(each) for each in kept]


def test_calls_outside_the_span_and_of_other_agents_are_not_learned():
    when = int(fields_of(2)["timeMs"])
    lines = [line(1), line(2), line(3), line(2, agentId=AGENTS[1])]
    assert learned(*lines, span=(when, when)) == [entry(2)]


def test_a_call_is_the_users_or_else_the_sessions():
    found = observations(line(1, {"user": "u", "session": "s"}), line(2, {"session": "s"}), line(3, {}))
    assert [call.unit for call in found.calls] == ["u", "s", ""]


def test_what_the_log_hides_and_what_cannot_be_read_is_said():
    found = observations(line(1, parameters='{"a":{"token":"[REDACTED]"},"b":1}'), b"{", b'{"id":1}')
    assert [call.hidden for call in found.calls] == [frozenset({"a.token"})]
    assert found.unreadable == 2
