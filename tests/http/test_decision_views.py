"""The answer to an authorize call as JSON."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.http.views import decisions
from app.http.views.decisions import DecisionView, encode_decision
from app.model.decision_codes import DecisionCode
from app.model.decisions import Decision, Outcome, Result, RuleRef

ID = "01a1fb57-73a0-7a1a-a700-2fd2546c3e80"
POLICY = "01a1fb57-739a-7118-808e-2de444eeab8c"
reasons = st.sampled_from(['says "latencyMs":1,', "plain", 'ends with "', "100 % and \\", "é ✓"]) | st.text()
outcomes = st.builds(
    Outcome,
    st.sampled_from(Result),
    st.sampled_from([None, POLICY]),
    st.sampled_from([None, RuleRef(3, "rate_limit")]),
    reasons,
)
asked = st.builds(
    Decision,
    st.just(ID),
    outcomes,
    st.sampled_from([None, 1_500]),
    st.integers(0, 10**9),
    st.integers(0, 4 * 10**15),
)


@given(asked, st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 4 * 10**15)), max_size=3))
def test_an_answer_is_the_view_of_its_own_decision(decision, later):
    """Only the constant part is cached, not the id or the times."""
    for latency_us, time_us in [(decision.latency_us, decision.time_us), *later]:
        again = replace(decision, id=ID[::-1], latency_us=latency_us, time_us=time_us)
        plain = msgspec.json.encode(DecisionView.of(again))
        assert list(msgspec.json.decode(encode_decision(again)).items()) == list(msgspec.json.decode(plain).items())


def test_a_new_outcome_is_never_answered_with_a_cached_one():
    """Cached parts are found by id(), which a new object can reuse."""
    for number in range(3 * decisions._FRAMES_MAX):
        decision = Decision(
            ID, Outcome(Result.ALLOWED, POLICY, None, f"reason {number}", DecisionCode.ALLOWED), None, 1, 1
        )
        assert f'"reason {number}"'.encode() in encode_decision(decision)
    assert len(decisions._frames._frames) <= decisions._FRAMES_MAX
