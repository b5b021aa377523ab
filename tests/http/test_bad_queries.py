"""Invalid query parameters are refused by name, on every endpoint, with or without parameters of its own."""

import pytest

from app.model.agents import REFERENCE_RULES
from app.model.audit import AuditQuery
from app.policy_tools.struct_schemas.queries import parameters_of

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
NUMBER = "must be a whole number from"
TIME = "is not an ISO 8601 time from 1970 to 9999 such as 2026-11-20T12:34:56Z"

WRONG = {
    "limit=0": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=1001": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=-1": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=abc": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=1.0": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=1e2": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=0x10": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=%2B5": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=%205": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=%D9%A5": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=1_0": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=": ("limit", f"{NUMBER} 1 to 1000"),
    "limit": ("limit", f"{NUMBER} 1 to 1000"),
    "limit=" + "9" * 5000: ("limit", f"{NUMBER} 1 to 1000"),
    "limit=5&limit=5": ("limit", "is given twice; give it once"),
    "offset=-1": ("offset", f"{NUMBER} 0 to 1000000000000"),
    "offset=1000000000001": ("offset", f"{NUMBER} 0 to 1000000000000"),
    "offset=%FF": ("?", "the query string is not UTF-8"),
    "%FF=1": ("?", "the query string is not UTF-8"),
    "offset=%ED%A0%80": ("?", "the query string is not UTF-8"),
    "&".join(f"a{n}=1" for n in range(51)): ("?", "the query string has more than 50 parameters"),
}
AUDIT_WRONG = {
    "agent_id=4+2": ("agent_id", REFERENCE_RULES),
    "shadow=mine": ("shadow", "must be a UUID, or `any`"),
    "agentId=": ("agent_id", REFERENCE_RULES),
    f"agent_id={UNKNOWN_ID}%00": ("agent_id", REFERENCE_RULES),
    f"agent_id={UNKNOWN_ID}&agentId={UNKNOWN_ID[:-1]}1": (
        "agent_id",
        "is given in two spellings that differ; leave agentId out",
    ),
    "tool_name=a&toolName=b": ("tool_name", "is given in two spellings that differ; leave toolName out"),
    "toolName=": ("tool_name", "must have 1 to 255 characters, not 0; leave it out to match all"),
    "action=" + "a" * 256: ("action", "must have 1 to 255 characters, not 256; leave it out to match all"),
    "action=a%00": ("action", "has the invisible character U+0000 at position 1; remove it"),
    "action=%E2%80%AE": ("action", "has the invisible character U+202E at position 0; remove it"),
    "result=Allowed": ("result", "must be one of allowed, denied, escalated"),
    "result=": ("result", "must be one of allowed, denied, escalated"),
    "from=yesterday": ("from", TIME),
    "from=": ("from", TIME),
    "to=2026-02-30": ("to", TIME),
    "to=2026-13-01T00:00:00Z": ("to", TIME),
    "from=1969-12-31T23:59:59Z": ("from", TIME),
    "from=1700000000": ("from", TIME),
    "from=2026-01-01T00:00:00+01:00": ("from", f"{TIME}; a + in a query is written %2B"),
    "cursor=0": ("cursor", f"{NUMBER} 1 to 1000000000000000"),
    "cursor=-": ("cursor", f"{NUMBER} 1 to 1000000000000000"),
    "limit=1001": ("limit", f"{NUMBER} 1 to 1000"),
}


def refused(answer, path, message):
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert error["details"] == [{"path": path, "message": message}]


@pytest.mark.parametrize("path", ["/v1/agents", "/v1/policies", "/v1/api-keys", "/v1/audit-logs"])
@pytest.mark.parametrize(("query", "wrong"), WRONG.items(), ids=[query[:20] for query in WRONG])
def test_a_wrong_page_is_refused_on_every_list(tenant, path, query, wrong):
    """Nothing is guessed, rounded or clipped."""
    refused(tenant.admin.get(f"{path}?{query}"), *wrong)


@pytest.mark.parametrize(("query", "wrong"), AUDIT_WRONG.items(), ids=[query[:20] for query in AUDIT_WRONG])
def test_a_wrong_filter_is_refused(tenant, query, wrong):
    """Ignoring the filter would show more than was asked for."""
    refused(tenant.reader.get(f"/v1/audit-logs?{query}"), *wrong)


@pytest.mark.parametrize("value", ["4 2", "", "x" * 129])
def test_a_malformed_agent_of_a_policy_list_is_refused(tenant, value):
    """An empty list would say that the agent has no policies."""
    refused(tenant.reader.get("/v1/policies", params={"agent_id": value}), "agent_id", REFERENCE_RULES)


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/v1/agents", "alias, name, status, limit, offset"),
        ("/v1/api-keys", "limit, offset"),
        ("/v1/policies", "agent_id, group, kind, key, limit, offset"),
        (
            "/v1/audit-logs",
            ", ".join(each.name for each in parameters_of(AuditQuery)),
        ),
    ],
)
@pytest.mark.parametrize("name", ["page", "Limit", "limit ", "agent-id", "limit[]", "\u202e"])
def test_an_unknown_parameter_is_refused_with_those_there_are(tenant, path, known, name):
    """A typo in a filter must not give an answer without the filter."""
    answer = tenant.admin.get(path, params={name: "1"})
    refused(answer, name.replace("\u202e", "\\u{202e}"), f"is not a query parameter here; there are {known}")


def test_an_endpoint_without_parameters_refuses_them_all(tenant):
    """`?dry_run=true` on a DELETE must not delete."""
    agent = tenant.new_agent()
    policy = tenant.new_policy(agent["id"])
    key = tenant.new_key(["read"])
    paths = [f"/v1/policies/{policy['id']}", f"/v1/agents/{agent['id']}", f"/v1/api-keys/{key['id']}"]
    none = ("dry_run", "is not a query parameter here; there are none")

    forced = ("dry_run", "is not a query parameter here; there are force")
    refused(tenant.admin.delete(paths[2], params={"dry_run": "true"}), *forced)
    owner = ("dry_run", "is not a query parameter here; there are agent_id, group")
    for path, wrong in zip(paths[:2], (owner, none), strict=True):
        refused(tenant.admin.delete(path, params={"dry_run": "true"}), *wrong)
        refused(tenant.admin.get(path, params={"dry_run": "true"}), *wrong)
        changing = (wrong[0], f"{wrong[1]}, strict") if wrong is owner else wrong
        refused(tenant.admin.patch(path, params={"dry_run": "true"}, json={"name": "n"}), *changing)
    refused(tenant.admin.post("/v1/agents", params={"dry_run": "true"}, json={"name": "n"}), *none)

    assert tenant.reader.get(paths[0]).json() == policy
    assert tenant.reader.get(paths[1]).json() == agent


@pytest.mark.parametrize("query", ["?", "?&", "?&&"])
def test_an_empty_query_is_no_parameter(tenant, query):
    """Some clients end every path with a question mark."""
    assert tenant.reader.get(f"/v1/agents{query}").status_code == 200


def test_equal_values_in_both_spellings_are_one(tenant):
    """Equal values are not ambiguous."""
    agent = tenant.new_agent()
    tenant.authorize(agent["id"], "both")
    query = f"agent_id={agent['id']}&agentId={agent['id']}&toolName=both&tool_name=both"
    assert len(tenant.reader.get(f"/v1/audit-logs?{query}").json()) == 1


@pytest.mark.parametrize(
    "given", ["2026-11-20T12:34:56Z", "2026-11-20", "2026-11-20T13:34:56%2B01:00", "20261120T123456Z"]
)
def test_times_of_iso_8601_are_read(tenant, given):
    """A date is its first instant; without an offset it is UTC."""
    assert tenant.reader.get(f"/v1/audit-logs?from={given}").status_code == 200


def test_an_id_is_the_same_in_upper_case(tenant):
    """RFC 9562 reads both; we write lower case."""
    agent = tenant.new_agent()
    decision = tenant.authorize(agent["id"].upper())
    found = tenant.log(agent_id=agent["id"].upper())
    assert [(entry["id"], entry["agentId"]) for entry in found] == [(decision["id"], agent["id"])]


@pytest.mark.parametrize("cursor", ["0-0", "00-0", "x", "1", "1-", "-1", "1-1-1", "18446744073709551616-0"])
def test_an_invented_cursor_of_the_trail_is_refused(tenant, cursor):
    """The store has no stream id 0-0, and would answer it with an error of its own."""
    answer = tenant.admin.get("/v1/changes", params={"cursor": cursor})
    refused(answer, "cursor", "must be the cursor of the next page, as another page says it")


def test_the_greatest_cursor_is_a_cursor(tenant):
    """The document states this bound as inclusive."""
    assert tenant.reader.get("/v1/audit-logs", params={"cursor": 10**15}).status_code == 200


def test_authorize_takes_no_query(tenant):
    """`?dry_run=true` must not decide; the error names what answers without deciding."""
    body = {"agent_id": tenant.new_agent()["id"], "tool_name": "t"}
    answer = tenant.reader.post("/v1/authorize?dry_run=true", json=body)
    assert answer.status_code == 400
    assert "/v1/explain" in answer.text
    assert tenant.reader.get("/v1/audit-logs", params={"agent_id": body["agent_id"]}).json() == []
