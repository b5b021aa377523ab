"""Every refusal of a rule names the place, what is wrong there and what would be right."""

import json
import re

import pytest

from app.errors import Invalid
from app.http.api.policies import CreatePolicy
from app.http.bodies import decode_body
from app.model.constraints import Constraint

AGENT_ID = "01980000-0000-7000-8000-000000000000"
VALUES = [None, True, 1, 1.5, "a", "", [], {}, [1], ["/", 1], {"other": 1}]
FIELDS = [re.sub(r"_(\w)", lambda match: match[1].upper(), name) for name in Constraint.__struct_fields__]


def refusal(rule):
    """Path and sentence; None if the rule is taken."""
    body = {"name": "n", "agent_id": AGENT_ID, "rules": [{"tools": ["t"], **rule}]}
    try:
        decode_body(json.dumps(body).encode(), CreatePolicy)
    except Invalid as error:
        [detail] = error.details
        return detail.path.removeprefix("$.rules[0]."), detail.message
    return None


def constraint(**fields):
    return {"type": "parameter_constraint", "parameters": {"x": fields}}


@pytest.mark.parametrize("field", FIELDS)
def test_any_constraint_is_accepted_or_told_what_it_must_be(field):
    """In a sentence that says what was given, or which fields exist."""
    for value in VALUES:
        told = refusal(constraint(**{field: value}))
        if told is not None:
            path, message = told
            assert path.startswith(f"parameters.x.{field}")
            assert re.search(
                r"^must be .+, (not|and) |is missing; it must|there (is|are)|give |such as|begin|syntax", message
            )


SENTENCES = {
    "a number with bounds": (
        {"type": "budget", "budget": {"parameter": "a", "max": -1, "windowSeconds": 1}},
        ("budget.max", "must be a number from 0 to 1000000000, not -1"),
    ),
    "in a list that need not be one": (
        constraint(type=[1]),
        ("parameters.x.type[0]", "must be one of string, number, integer, boolean, null, array, object, not 1"),
    ),
    "an object that needs fields": (
        {"type": "rate_limit"},
        ("rateLimit", "is missing; it must be an object with `maxCalls`"),
    ),
    "the only field": (
        constraint(path={"in": ["/a"]}),
        ("parameters.x.path.in", "is not a field here; there are under, notAmong, ignoreCase"),
    ),
    "a URL": (
        constraint(host={"in": ["https://corp.com"]}),
        (
            "parameters.x.host.in[0]",
            '"https://corp.com" is more than a host: leave out scheme, user, port and path',
        ),
    ),
    "a port": (
        constraint(host={"in": ["corp.com:80"]}),
        ("parameters.x.host.in[0]", '"corp.com:80" is more than a host: leave out scheme, user, port and path'),
    ),
    "no path behind the dot": (
        {"type": "rate_limit", "rateLimit": {"maxCalls": 1, "windowSeconds": 1, "per": ["context."]}},
        ("rateLimit.per[0]", 'names no value; write a path after the dot, as in "context.user"'),
    ),
    "no absence": (
        constraint(absent=False),
        ("parameters.x.absent", "must be true, and the only field; use `required: true` to demand a value"),
    ),
    "a pattern of a schema": (
        {"type": "parameter_schema", "schema": {"pattern": "(?=a)"}},
        (
            "schema.pattern",
            (
                'is not a JSON Schema of 2020-12: "(?=a)" is not a "regex"; patterns are those of Rust\'s regex, '
                "without look-around and back-references"
            ),
        ),
    ),
}


@pytest.mark.parametrize(("rule", "told"), SENTENCES.values(), ids=SENTENCES)
def test_a_refusal_says_what_would_be_right(rule, told):
    """It is compared word for word."""
    assert refusal(rule) == told
