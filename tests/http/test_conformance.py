"""Schemathesis: whatever the document lets a client send is answered as the document says.

Every operation gets the document's examples, a systematic walk along the edges of each schema, and random values,
valid and invalid; then sequences of calls in which one answer's ids go into the next. The seed is fixed.
"""

import copy
import re
import zoneinfo
from datetime import datetime

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from schemathesis.pytest import _test_builder
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import positive_data_acceptance
from tenants import Tenant

from app.http.routes import document
from app.model.checkpoints import Checkpoint

pytestmark = pytest.mark.slow

CONFIG = {
    "generation": {
        "deterministic": True,
        # Beyond Latin-1 the service refuses characters that no pattern can list: what Unicode has not assigned yet.
        "codec": "latin-1",
        # Keys have tests of their own; here every call has a valid one, or nothing but 401 would be seen.
        "with-security-parameters": False,
    },
    "checks": {
        # Valid and yet refused: an id that nobody has, an agent that is revoked, an If-Match of another version.
        "positive_data_acceptance": {"expected-statuses": ["2xx", "404", "409", "412"]},
    },
    "operations": [
        # Schemathesis cannot always invent a random wrong list of rules ("Cannot generate an array with 1 demanded
        # elements"); the walk along the edges still makes wrong ones.
        {"include-path-regex": "^/v1/policies", "phases": {"fuzzing": {"generation": {"mode": "positive"}}}},
        # A set's policies are the path's owner's, and the workspace's are guardrails: one schema serves all three.
        {
            "include-path-regex": "^/v1/(agents|groups|workspace).*/policies$",
            "phases": {"fuzzing": {"generation": {"mode": "positive"}}},
            "checks": {"positive_data_acceptance": {"enabled": False}},
        },
        # The body of these is an agent's set, or holds calls or a set: one walk along the edges of a set, of its rules
        # and of a call is enough.
        {
            "include-operation-id": [
                "put_workspace_policies",
                "put_groups_group_policies",
                "post_policies_lint",
                "post_policies_compare",
                "post_authorize_batch",
                "post_explain",
            ],
            "phases": {"coverage": {"enabled": False}},
        },
        # Each replay is a process, which runs only while nothing else wants the cores: valid ones are those of the
        # examples and the random ones.
        {"include-path": "/v1/replay", "phases": {"coverage": {"generation": {"mode": "negative"}}}},
        # A policy of a body may say whose it is, and that must be the body's own group: no schema compares the two.
        {"include-path": "/v1/policies/compare", "checks": {"positive_data_acceptance": {"enabled": False}}},
        # No schema tells whether a key or a code is anybody's.
        {"include-path": "/v1/session", "checks": {"positive_data_acceptance": {"enabled": False}}},
        # A group's name may have more letters than those that need no escapes in a path.
        {"include-path-regex": "^/v1/groups/", "checks": {"negative_data_rejection": {"enabled": False}}},
        # A checkpoint can be well-formed and of another workspace; no schema tells.
        {"include-path": "/v1/audit-logs/verify", "checks": {"positive_data_acceptance": {"enabled": False}}},
        # Which addresses may be sent to, no schema tells.
        {"include-path-regex": "^/v1/webhooks", "checks": {"positive_data_acceptance": {"enabled": False}}},
        # Two tools of one list have two names, and the one of a body is the path's, in which it may have more letters.
        {"include-path": "/v1/catalog", "checks": {"positive_data_acceptance": {"enabled": False}}},
        {
            "include-path-regex": "^/v1/catalog/(tool/{tool}|{resource_type}/{resource_name})$",
            "checks": {
                "positive_data_acceptance": {"enabled": False},
                "negative_data_rejection": {"enabled": False},
            },
        },
        # Requests are pinned under a secret, which this replica lacks.
        {"include-path-regex": "^/v1/sessions/.*/request$", "checks": {"positive_data_acceptance": {"enabled": False}}},
        # A parameter that needs another; a time in a test; records of a call that was not executed: no schema says so.
        {
            "include-path-regex": "^/v1/(audit-logs/counts|policies/test|decisions/.*/outcome)$",
            "checks": {"positive_data_acceptance": {"enabled": False}},
        },
        # Each part of such a list is judged and reported by itself. AuthZEN asks about names that nothing can have, and
        # what makes a question whole may stand in two places.
        {
            "include-path-regex": "^/(v1/approvals/decide|access/v1/(evaluations?|search/.*))$",
            "checks": {"negative_data_rejection": {"enabled": False}, "positive_data_acceptance": {"enabled": False}},
        },
        # Keys are given or fetched, and only the service can tell whether they are keys.
        {"include-path-regex": "^/v1/issuers/", "checks": {"positive_data_acceptance": {"enabled": False}}},
        # A gateway expects 403 for whatever is not allowed.
        {"include-path-regex": "^/access/v1/ext-authz", "checks": {"positive_data_acceptance": {"enabled": False}}},
        # Without an identity provider, the console's page is at this address.
        {"include-path": "/console/sign-in", "checks": {"status_code_conformance": {"enabled": False}}},
        # It leads to the page.
        {"include-path": "/", "checks": {"positive_data_acceptance": {"expected-statuses": ["302"]}}},
        # Whatever is wrong with a hook's question, its answer is 200 and a denial.
        {
            "include-path": "/v1/hooks/claude-code",
            "checks": {
                "negative_data_rejection": {"enabled": False},
                "missing_required_header": {"enabled": False},
                "ignored_auth": {"enabled": False},
            },
        },
    ],
    "phases": {
        "coverage": {"generate-duplicate-query-parameters": True},
        # Wrong calls lead nowhere, so a sequence has none (nor the lists that Schemathesis cannot invent).
        "stateful": {"generation": {"mode": "positive"}},
    },
}
NUMBER = st.integers(1, 10**15 - 1)
INSTANT = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31))  # noqa: DTZ001 - written as UTC below

# Formats that JSON Schema does not have, and instants that are not before 1970: how to make values of them.
MAX_PARTS = 10
schemathesis.openapi.format("re2", st.sampled_from(["^a", "[0-9]+$", "a|b", r"\d{4}-\d\d", "(?i)eur", r"^\pL+$"]))
schemathesis.openapi.format("iana-time-zone", st.sampled_from(sorted(zoneinfo.available_timezones())))
schemathesis.openapi.format("posix-path", st.sampled_from(["/", "/srv/data", "/home/me"]))
schemathesis.openapi.format("host-pattern", st.sampled_from(["api.example.com", "*.corp.com", "192.0.2.1"]))
schemathesis.openapi.format("domain-pattern", st.sampled_from(["example.com", "*.corp.com"]))
schemathesis.openapi.format("cidr", st.sampled_from(["10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"]))
schemathesis.openapi.format("date-time", INSTANT.map(lambda each: f"{each.isoformat()}Z"))
schemathesis.openapi.format(
    "checkpoint",
    st.builds(Checkpoint, st.uuids().map(str), NUMBER, NUMBER, st.just("0" * 64), st.integers(0, 10**12)).map(
        lambda each: each.line
    ),
)


def read(paths="/(?!.*/stream$)", **config):
    """The part of the document whose paths begin this way; an event stream never ends, so no test can wait for it.

    Schemathesis adds links to what it reads, and walks along each of them, whatever a filter leaves out.

    config: replaces parts of CONFIG.
    """
    part = copy.deepcopy(document())
    part["paths"] = {path: item for path, item in part["paths"].items() if re.match(paths, path)}
    _shorten_lists_of_policies(part["components"]["schemas"])
    if "/v1/policies" in part["paths"]:
        # Where else a new agent's id is used: Schemathesis finds out by itself for paths, but not for bodies.
        part["paths"]["/v1/agents"]["post"]["responses"]["201"]["links"] = {
            name: {"operationId": operation, "requestBody": {"agent_id": "$response.body#/id"}}
            for name, operation in (("policy", "post_policies"), ("call", "post_authorize"))
        }
    api = schemathesis.openapi.from_dict(part, config=schemathesis.Config.from_dict(CONFIG | config))
    api.hook(filter_body)
    return api


def _shorten_lists_of_policies(schemas):
    """A rule is read alike wherever it stands, so only new policies have every type of it: the walk along all their
    edges takes half a minute for each operation. Elsewhere it is a short one, and no list is as long as it may
    be (tests/http/test_put_policies.py makes those).
    """
    whole = schemas["CreatePolicy"]["properties"]["rules"]
    short = schemas["ToolDenylist"]
    short = short | {"properties": {name: each for name, each in short["properties"].items() if name not in BEYOND}}
    for name in ("PolicyEntry", "UpdatePolicy"):
        fields = schemas[name]["properties"]
        assert fields["rules"] == whole
        fields["rules"] = whole | {"items": short}
    for name in ("PutPolicies", "LintPolicies", "TestPolicies", "ExplainBody", "ReplayBody"):
        policies = schemas[name]["properties"]["policies"]
        del policies.get("anyOf", [policies])[0]["maxItems"]


# What only the service can judge (a name with `[*]`, two bounds that exclude each other, a schema inside a schema) is
# tested by cases in tests/cases; here constraints are made of these, and rules of the types that hold no more.
PLAIN = {"regex", "enum", "min", "max", "required"}
BEYOND = {"when", "unless", "context"}
JUDGED_BY_THE_SERVICE = {"parameter_schema", "budget", "sequence"}


def filter_body(context, body):
    """Bodies whose validity the document can say: JSON Schema can compare no two fields, parse no name of a parameter,
    and say nothing of names at every depth.
    """
    if _has_nul_in_a_name(body):
        return False
    rules = body.get("rules") if isinstance(body, dict) else None
    return all(_sayable(rule) for rule in rules if isinstance(rule, dict)) if isinstance(rules, list) else True


def _has_nul_in_a_name(value):
    if isinstance(value, dict):
        return any("\0" in name for name in value) or any(map(_has_nul_in_a_name, value.values()))
    return isinstance(value, list) and any(map(_has_nul_in_a_name, value))


def _sayable(rule):
    if rule.get("type") in JUDGED_BY_THE_SERVICE or BEYOND & rule.keys():
        return False
    if isinstance(rule.get("rateLimit"), dict) and "per" in rule["rateLimit"]:
        return False
    parameters = rule.get("parameters")
    for name, held in parameters.items() if isinstance(parameters, dict) else ():
        if set("[]*") & set(name) or name.count(".") >= MAX_PARTS or "" in name.split("."):
            return False
        if not isinstance(held, dict):
            continue
        bounds = [held.get("min"), held.get("max")]
        if held.keys() - PLAIN:
            return False
        if all(isinstance(bound, int | float) for bound in bounds) and bounds[0] > bounds[1]:
            return False
    return True


def unsayable(case):
    """The check that valid bodies are accepted, if the document cannot say whether this one is.

    With `strict`, warnings are errors. A replay needs times in order and entries that retention has kept, and an
    explanation a time before 2255. The rules of a list are not filtered; an owner named in it is the one named beside
    it; no id is unknown and no key repeated.
    """
    if not case.meta.generation.mode.is_positive:
        return []
    body = case.body if isinstance(case.body, dict) else {}
    entries = body.get("policies") or []
    keys = [entry["key"] for entry in entries if entry.get("key") is not None]
    is_unsayable = (
        case.query.get("strict") == "true"
        or (case.path == "/v1/replay" and not {"from", "to"}.isdisjoint(body))
        or (case.path == "/v1/explain" and (body.get("at") or "") > "2255")
        or any(entry.get(name) is not None for entry in entries for name in ("id", "agentId", "group"))
        or not all(_sayable(rule) for entry in entries for rule in entry["rules"])
        or len(keys) != len(set(keys))
    )
    return [positive_data_acceptance] if is_unsayable else []


def build_when_it_runs(**of_operation):
    """Stands in for Schemathesis's own: it walks along the edges of every schema for 18 s, and each process of a
    parallel run collects all operations, while one runs them.
    """

    def test(tenant):
        built = build_operation_test(**of_operation)
        vars(test).update(vars(built))  # what Schemathesis has noted there, it looks for here
        built(tenant=tenant)

    return test


_test_builder.build_operation_test = build_when_it_runs


@read().parametrize()
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_the_document_says(case, tenant):
    """No 500; no status, type, header or body undescribed; no valid value refused and no invalid one taken."""
    # The walk along the edges writes `If-Match: 0`, whatever pattern the header's schema has.
    if case.headers.get("If-Match") == "0":
        del case.headers["If-Match"]
    case.call_and_validate(
        base_url=tenant.replica.base_url,
        headers={"Authorization": f"Bearer {tenant.admin_key}"},
        excluded_checks=unsayable(case),
    )


# A link puts an id into a body that was valid without it: a policy of a group becomes one of an agent as well, which is
# refused; with `strict`, so are warnings. What is valid by itself is tested above.
NO_ACCEPTANCE = {"positive_data_acceptance": {"enabled": False}}
AGENTS = "/v1/(agents|policies|authorize|decisions|api-keys)"
AGENTS_AND_POLICIES = {
    ("POST", "/v1/agents", 201),
    ("GET", "/v1/agents/{agent_id}", 200),
    ("DELETE", "/v1/agents/{agent_id}", 204),
    ("DELETE", "/v1/api-keys/{key_id}", 204),
    ("POST", "/v1/policies", 201),
    ("POST", "/v1/authorize", 200),
}
WEBHOOKS = {
    ("POST", "/v1/webhooks", 201),
    ("GET", "/v1/webhooks/{webhook_id}", 200),
    ("POST", "/v1/webhooks/{webhook_id}/rotate-secret", 200),
    ("DELETE", "/v1/webhooks/{webhook_id}", 204),
}


@pytest.mark.parametrize(
    ("paths", "count", "done"),
    [(AGENTS, 16, AGENTS_AND_POLICIES), ("/v1/webhooks(/{webhook_id}(/rotate-secret)?)?$", 8, WEBHOOKS)],
    ids=["agents", "webhooks"],
)
def test_every_sequence_of_calls_is_answered_as_the_document_says(store, replica, paths, count, done):
    """Ids of one answer go into the next call: what was created is there, what was deleted is not."""
    seen = set()

    # Those whose ids lead on to others; with all that only reads, the sequences would be made of little else.
    class Session(read(paths, checks=NO_ACCEPTANCE).as_state_machine()):
        def setup(self):
            # A workspace for each sequence, or what one finds would depend on what others left.
            self.tenant = Tenant(store.url, replica)

        def teardown(self):
            self.tenant.close()

        def get_call_kwargs(self, case):
            return {"base_url": replica.base_url, "headers": {"Authorization": f"Bearer {self.tenant.admin_key}"}}

        def after_call(self, response, case):
            seen.add((case.method, case.path, response.status_code))
            if case.method == "DELETE" and case.path.endswith("_id}") and response.status_code == 204:
                again = self.tenant.admin.delete(case.formatted_path)
                assert again.status_code == 404, f"{case.formatted_path} was deleted and is still there"

    bounds = settings(
        max_examples=count,
        stateful_step_count=20,
        derandomize=True,
        deadline=None,
        # A sequence that fails is reported as it stands: ids differ from run to run, so none could be made shorter.
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Session, settings=bounds)
    assert done <= seen, sorted(seen)
