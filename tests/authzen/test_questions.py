"""Evaluations as tool calls: the text that an approval binds, and the size by which their work is bounded."""

import json

import pytest

from app.http.api.authzen_evaluation import read_evaluation
from app.http.tool_calls import Reading
from app.redaction.redactor import Redactor

READING = Reading(Redactor(["pin"]), "w", headers=[(b"content-type", b"application/json")])
BARE = {"subject": {"type": "user", "id": "ann"}, "action": {"name": "read"}, "resource": {"type": "record", "id": "7"}}
QUESTIONS = {
    "only entities": BARE,
    "a tool": BARE | {"resource": {"type": "tool", "id": "record.read", "properties": {"id": 7}}},
    "an id that JSON escapes": BARE | {"resource": {"type": "record", "id": "\u0001" * 300 + "é" * 300}},
    "all properties, and a context": {
        name: entity | {"properties": {"pin": 1, "more": [{"of": "it"}]}} for name, entity in BARE.items()
    }
    | {"context": {"user": "ann", "limits": {"of": 1}}},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_evaluation_is_bound_as_the_call_that_is_decided_and_its_size_bounds_that_text(name):
    """The text is made only for a call that needs approval, and the bound on work is known without it."""
    call = read_evaluation(json.dumps(QUESTIONS[name]).encode(), READING)
    assert json.loads(call.body) == {"parameters": call.parameters, "context": call.context}
    assert len(call.body) <= call.size


def test_what_an_approval_binds_has_the_digits_of_the_question():
    number = "9007199254740993.000000000000000001"
    raw = json.dumps(BARE | {"context": {"limit": 0}}).replace('"limit": 0', f'"limit": {number}')
    assert number in read_evaluation(raw.encode(), READING).body.decode()


def test_the_log_has_the_entities_without_their_secrets():
    """Whether they are taken from records of entities that recur, or recorded anew."""
    hidden = BARE | {"resource": {"type": "record", "id": "svc_" + "a1" * 16}}
    for question in (hidden, hidden | {"context": {"more": 1}}):
        logged = json.loads(read_evaluation(json.dumps(question).encode(), READING).recorded_context)
        assert logged["resource"] == {"type": "record", "id": "svc_a1a1a1a1..."}
        assert (logged["subject"], logged["action"]) == (BARE["subject"], BARE["action"])
