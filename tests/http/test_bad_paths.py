"""Invalid paths, ids and methods; and ids of other workspaces, which are answered as unknown."""

import pytest
from servers import ADMIN_KEY

UNKNOWN = "00000000-0000-7000-8000-000000000000"
MALFORMED = [
    "42",
    "x" * 36,
    "{agent_id:str}",
    UNKNOWN[:-1],
    UNKNOWN + "0",
    UNKNOWN.replace("-", ""),
    "%7B" + UNKNOWN + "%7D",
    UNKNOWN + "%00",
    UNKNOWN + "%0A",
    "%00",
    "%FF",
    "%E2%80%AE",
    "*",
    ";" + UNKNOWN,
    "a" * 8000,
]
RESOURCES = {
    "/v1/agents": ("AGENT_NOT_FOUND", "No agent has this id or alias", ("GET", "PATCH", "DELETE")),
    "/v1/policies": ("POLICY_NOT_FOUND", "No policy has this id or key", ("GET", "PATCH", "DELETE")),
    "/v1/api-keys": ("API_KEY_NOT_FOUND", "No API key has this id", ("DELETE",)),
}
ROUTES = [(path, method) for path, (_, _, methods) in RESOURCES.items() for method in methods]


def answer_of(client, method, path):
    return client.request(method, path, **({"json": {"name": "n"}} if method == "PATCH" else {}))


@pytest.mark.parametrize(("path", "method"), ROUTES)
def test_an_id_that_nobody_has_is_404(tenant, path, method):
    """Whether malformed or merely unknown: either way, it names nothing."""
    code, message, _ = RESOURCES[path]
    for given in (UNKNOWN, *MALFORMED):
        answer = answer_of(tenant.admin, method, f"{path}/{given}")
        assert answer.status_code == 404, given
        assert answer.json() == {"error": {"code": code, "message": message, "details": []}}, given


@pytest.mark.parametrize(("path", "method"), ROUTES)
def test_an_id_of_another_workspace_is_answered_like_an_unknown_one(tenant, stranger, path, method):
    """Byte for byte, and nothing of theirs is read or changed."""
    agent = stranger.new_agent()
    theirs = {
        "/v1/agents": agent,
        "/v1/policies": stranger.new_policy(agent["id"]),
        "/v1/api-keys": stranger.new_key(["read"]),
    }
    before = [stranger.admin.get(each).content for each in theirs]

    foreign = answer_of(tenant.admin, method, f"{path}/{theirs[path]['id']}")
    unknown = answer_of(tenant.admin, method, f"{path}/{UNKNOWN}")

    assert foreign.status_code == unknown.status_code == 404
    assert foreign.content == unknown.content
    assert [stranger.admin.get(each).content for each in theirs][:2] == before[:2]


def test_an_agent_of_another_workspace_gets_no_policy(tenant, stranger):
    """404 like an unknown agent, and no policy stands in either workspace."""
    theirs = stranger.new_agent()
    body = {"name": "p", "rules": [{"type": "tool_allowlist", "tools": ["*"]}]}

    foreign = tenant.admin.post("/v1/policies", json={**body, "agent_id": theirs["id"]})
    unknown = tenant.admin.post("/v1/policies", json={**body, "agent_id": UNKNOWN})

    assert (foreign.status_code, foreign.content) == (404, unknown.content)
    assert foreign.json()["error"]["code"] == "AGENT_NOT_FOUND"
    assert stranger.reader.get("/v1/policies", params={"agent_id": theirs["id"]}).json() == []
    assert tenant.reader.get("/v1/policies", params={"agent_id": theirs["id"]}).json() == []


def test_a_call_of_an_agent_of_another_workspace_is_not_judged(tenant, stranger):
    """404 like an unknown agent, and neither log has an entry."""
    theirs = stranger.new_agent()
    stranger.new_policy(theirs["id"])

    foreign = tenant.reader.post("/v1/authorize", json={"agent_id": theirs["id"], "tool_name": "t"})
    unknown = tenant.reader.post("/v1/authorize", json={"agent_id": UNKNOWN, "tool_name": "t"})

    assert (foreign.status_code, foreign.content) == (404, unknown.content)
    assert foreign.json()["error"]["code"] == "AGENT_NOT_FOUND"
    assert stranger.log(agent_id=theirs["id"]) == tenant.log(agent_id=theirs["id"]) == []


def test_a_query_for_another_workspaces_agent_finds_nothing(tenant, stranger):
    """Another workspace's agent has no policies or entries in ours."""
    theirs = stranger.new_agent()
    stranger.new_policy(theirs["id"])
    stranger.authorize(theirs["id"])
    for path in ("/v1/policies", "/v1/audit-logs"):
        assert tenant.reader.get(path, params={"agent_id": theirs["id"]}).json() == []


def test_lists_hold_nothing_of_others(tenant, stranger):
    """Keys, agents, policies and entries."""
    agent = stranger.new_agent()
    made = {agent["id"], stranger.new_policy(agent["id"])["id"], stranger.authorize(agent["id"])["id"]}
    made |= {key["id"] for key in stranger.admin.get("/v1/api-keys").json()}
    for path in ("/v1/agents", "/v1/policies", "/v1/audit-logs", "/v1/api-keys"):
        assert not made & {each["id"] for each in tenant.admin.get(path, params={"limit": 1000}).json()}


NOTHING = ["/v1", "/v1/", "/v2/agents", "/V1/agents", "/v1/agent", "/v1/agents/a/b", "/v1/agents/%2e%2e/agents"]
NOTHING += ["/v1/authorize/x", "/admin", "/.env", "/v1/agents;x", "/v1/agents%00", "/v1/policies/a%2Fb", "/docs/x"]


@pytest.mark.parametrize("path", NOTHING)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_path_without_anything_behind_it_is_404(tenant, method, path):
    """With the usual error body, and a hint."""
    answer = tenant.admin.request(method, path)
    assert answer.status_code == 404
    message = "Nothing is served at this path; /docs lists what is"
    assert answer.json() == {"error": {"code": "NOT_FOUND", "message": message, "details": []}}


@pytest.mark.parametrize(
    "path", ["/v1/agents/", "/v1//agents", "/v1/agents//", "/v1%2Fagents", "/v1/agents%2F", "//v1/agents"]
)
def test_another_spelling_of_a_path_is_the_path_or_404(tenant, replica, path):
    """If it is accepted, it needs a key like the path itself."""
    url = replica.base_url + path
    assert tenant.reader.get(url).status_code in {200, 404}
    assert tenant.reader.get(url, headers={"Authorization": ""}).status_code in {401, 404}
    assert tenant.reader.post(url, json={"name": "a"}).status_code in {403, 404}


@pytest.mark.parametrize("path", ["/v1/%61uthorize", "/%76%31/authorize"])
def test_another_spelling_of_authorize_decides_the_same_way(tenant, path):
    """With and without the router, the result is the same."""
    agent = tenant.new_agent()
    body = {"agent_id": agent["id"], "tool_name": "t"}
    assert tenant.reader.post(path, json=body).json()["result"] == "denied"
    assert tenant.reader.post(path, json=body, headers={"Authorization": "Bearer x"}).status_code == 401
    assert tenant.reader.get(path).status_code == 405


ALLOWED = {
    "/v1/authorize": "OPTIONS, POST",
    "/v1/agents": "GET, HEAD, OPTIONS, POST",
    f"/v1/agents/{UNKNOWN}": "DELETE, GET, HEAD, OPTIONS, PATCH",
    "/v1/policies": "GET, HEAD, OPTIONS, POST",
    f"/v1/policies/{UNKNOWN}": "DELETE, GET, HEAD, OPTIONS, PATCH",
    "/v1/audit-logs": "GET, HEAD, OPTIONS",
    "/v1/api-keys": "GET, HEAD, OPTIONS, POST",
    f"/v1/api-keys/{UNKNOWN}": "DELETE, OPTIONS",
    "/livez": "GET, HEAD, OPTIONS",
    "/readyz": "GET, HEAD, OPTIONS",
    "/docs/api": "GET, HEAD, OPTIONS",
    "/openapi.json": "GET, HEAD, OPTIONS",
}
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "PURGE", "LINK", "MKCOL"}
REFUSED = [(path, method) for path, allow in ALLOWED.items() for method in sorted(METHODS - set(allow.split(", ")))]


@pytest.mark.parametrize(("path", "method"), REFUSED)
def test_a_method_that_does_not_exist_is_405_with_those_that_do(tenant, path, method):
    """HEAD exists where GET does; a body is not read."""
    answer = tenant.admin.request(method, path, content=b"\xff")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == ALLOWED[path]
    if method != "HEAD":
        assert answer.json()["error"]["code"] == "METHOD_NOT_ALLOWED"


def test_the_refusal_of_a_method_reads_as_a_sentence(tenant):
    """Singular for one method, plural for several."""
    sentences = [
        tenant.admin.put(path).json()["error"]["message"] for path in ("/v1/authorize", f"/v1/agents/{UNKNOWN}")
    ]
    assert sentences == [
        "PUT is not possible here; POST is",
        "PUT is not possible here; DELETE, GET and PATCH are",
    ]


@pytest.mark.parametrize(("path", "allow"), ALLOWED.items())
def test_options_lists_the_methods_without_a_key(tenant, path, allow):
    """It reveals only what the public document contains."""
    answer = tenant.admin.options(path, headers={"Authorization": ""})
    assert (answer.status_code, answer.headers["Allow"], answer.content) == (204, allow, b"")


def test_the_bootstrap_key_sees_nothing_of_a_workspace_made_later(tenant, replica):
    """`default` is a workspace like every other."""
    agent = tenant.new_agent()
    with replica.client(ADMIN_KEY) as default:
        assert default.get(f"/v1/agents/{agent['id']}").status_code == 404
