"""Sessions: signing in with a key or a code, the cookie and what may use it, and what ends a session."""

import asyncio
import re

import httpx
import pytest
from command_line import run_remit
from servers import Replica, clean_env
from tenants import tenant_on

from app.model.api_keys import digest_of
from app.model.sign_ins import CODE_SECONDS, IDLE_MS, LONGEST_MS
from app.redis_client.clients import store_time_ms
from app.store.keyspace import Keyspace, code_pointer
from app.store.sign_ins import SESSIONS_PER_KEY

tenant = tenant_on()
PUBLIC_URL = "https://remit.example.com:8443/base"
SAME = {"Sec-Fetch-Site": "same-origin"}
COOKIE = "__Host-remit"


@pytest.fixture(scope="module")
def other(store):
    """Another replica on the same store, which knows its public URL."""
    running = Replica(store.url, REMIT_PUBLIC_URL=PUBLIC_URL, REMIT_COMPACT="false")
    yield running
    running.stop()


@pytest.fixture
def anybody(tenant):
    """A client without a key."""
    with httpx.Client(base_url=tenant.admin.base_url) as client:
        yield client


def sign_in(client, key, **fields):
    """The answer to a sign-in by a program."""
    return client.post("/v1/session", json={"key": key, "transport": "bearer", **fields})


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def code_of(answer):
    return answer.status_code, answer.json()["error"]["code"]


def token_in(answer):
    """The token in the cookie that the answer sets."""
    return re.match(rf"{COOKIE}=(ses_[0-9a-f]{{64}});", answer.headers["set-cookie"])[1]


def test_a_program_signs_in_and_has_what_its_key_has(tenant, anybody):
    """The same workspace, name and scopes; the token is in the answer, once, and no cookie."""
    made = sign_in(anybody, tenant.read_key)
    assert (made.status_code, made.headers["cache-control"], "set-cookie" in made.headers) == (201, "no-store", False)
    session = made.json()
    assert (session["name"], session["scopes"], session["via"]) == ("a key", ["read"], "cli")

    me = anybody.get("/v1/session", headers=bearer(session["token"])).json()

    assert (me["workspace"]["id"], me["name"], me["scopes"]) == (tenant.id, "a key", ["read"])
    assert (me["sessionId"], me["keyId"], me["until"]) == (session["id"], session["keyId"], session["until"])
    assert "token" not in anybody.get("/v1/session", headers=bearer(session["token"])).text
    assert anybody.get("/v1/agents", headers=bearer(session["token"])).status_code == 200
    assert anybody.post("/v1/agents", headers=bearer(session["token"]), json={"name": "x"}).status_code == 403
    agent = tenant.new_agent()
    call = {"agent_id": agent["id"], "tool_name": "file.read"}
    assert anybody.post("/v1/authorize", headers=bearer(session["token"]), json=call).json()["result"] == "denied"
    assert tenant.log()[0]["keyId"] == session["id"]


def test_who_am_i_counts_what_the_scopes_may_read(tenant, anybody):
    """Totals for the first screen; with a key as well as with a session."""
    tenant.new_policy(tenant.new_agent()["id"])
    tenant.new_agent()
    me = tenant.reader.get("/v1/session").json()
    assert me["totals"] == {"pendingApprovals": 0, "agents": 2, "policies": 1}
    assert (me["until"], "sessionId" in me) == (None, False)
    approver = tenant.new_key(["approve"])["key"]
    assert anybody.get("/v1/session", headers=bearer(approver)).json()["totals"] == {"pendingApprovals": 0}
    runtime = tenant.new_key(["authorize"])["key"]
    assert anybody.get("/v1/session", headers=bearer(runtime)).json()["totals"] == {}


def test_a_browser_gets_a_cookie_and_no_token(tenant, anybody):
    """With every attribute that keeps it in this browser and on this host."""
    made = anybody.post("/v1/session", json={"key": tenant.admin_key}, headers=SAME)
    assert made.status_code == 201
    assert "token" not in made.json()
    value = made.headers["set-cookie"]
    seconds = LONGEST_MS // 1000
    assert value == f"{COOKIE}={token_in(made)}; Max-Age={seconds}; HttpOnly; Secure; SameSite=Strict; Path=/"
    cookie = {"Cookie": f"theme=dark; {COOKIE}={token_in(made)}"}
    assert anybody.get("/v1/session", headers=cookie).json()["via"] == "console"
    assert anybody.post("/v1/agents", headers=cookie | SAME, json={"name": "x"}).status_code == 201

    gone = anybody.delete("/v1/session", headers=cookie | SAME)

    assert (gone.status_code, gone.headers["set-cookie"].split(";")[:2]) == (200, [f"{COOKIE}=", " Max-Age=0"])
    assert code_of(anybody.get("/v1/session", headers=cookie)) == (401, "UNAUTHORIZED")


def test_each_sign_in_is_a_new_session(tenant, anybody):
    """Nobody can prepare a session's id for somebody else."""
    first, second = (sign_in(anybody, tenant.read_key).json() for _ in range(2))
    assert first["id"] != second["id"]
    assert first["token"] != second["token"]
    cookie = {"Cookie": f"{COOKIE}={first['token']}"}
    third = anybody.post("/v1/session", json={"key": tenant.read_key}, headers=SAME | cookie)
    assert token_in(third) not in (first["token"], second["token"])


CROSS_SITE = [
    {},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "Same-Origin"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://remit.example.com:8443"},
    {"Origin": "null"},
    {"Origin": "https://remit.example.com"},
    {"Origin": "http://remit.example.com:8443"},
    {"Origin": "https://remit.example.com:8443/base"},
    {"Origin": "https://remit.example.com:8443.evil.com"},
    {"Referer": PUBLIC_URL},
]


@pytest.mark.parametrize("headers", CROSS_SITE, ids=str)
def test_a_change_with_a_cookie_needs_a_page_of_this_origin(tenant, other, headers):
    """A page on another port of this host is of the same site, so browsers send it the cookie."""
    with other.client() as client:
        del client.headers["authorization"]
        token = sign_in(client, tenant.admin_key).json()["token"]
        sent = {"Cookie": f"{COOKIE}={token}"} | headers
        changes = {
            "POST": "/v1/agents",
            "PUT": "/v1/workspace/policies",
            "PATCH": f"/v1/agents/{tenant.id}",
            "DELETE": "/v1/session",
        }
        answers = {
            method: code_of(client.request(method, path, headers=sent, json={"name": "x"}))
            for method, path in changes.items()
        }
        assert answers == dict.fromkeys(changes, (403, "CROSS_SITE"))
        assert client.get("/v1/session", headers=sent).status_code == 200


@pytest.mark.parametrize("headers", [SAME, {"Origin": "https://remit.example.com:8443"}], ids=str)
def test_a_page_of_this_origin_may_change_things(tenant, other, headers):
    """Old browsers, which do not send Sec-Fetch-Site, are known by Origin if the public URL is set."""
    with other.client() as client:
        del client.headers["authorization"]
        token = token_in(client.post("/v1/session", json={"key": tenant.admin_key}, headers=headers))
        client.cookies.clear()
        cookie = {"Cookie": f"{COOKIE}={token}"}
        assert client.post("/v1/agents", headers=cookie | headers, json={"name": "x"}).status_code == 201


def test_a_page_of_another_origin_signs_nobody_in(tenant, anybody):
    """A browser would act for the attacker, and show its owner's work to him."""
    answer = anybody.post("/v1/session", json={"key": tenant.admin_key}, headers={"Sec-Fetch-Site": "cross-site"})
    assert code_of(answer) == (403, "CROSS_SITE")
    assert "set-cookie" not in answer.headers
    assert tenant.admin.get("/v1/sessions").json() == []


def test_a_cookie_opens_no_door(tenant, anybody):
    """Decisions look at Authorization only, so no page can ask for one."""
    token = sign_in(anybody, tenant.admin_key).json()["token"]
    cookie, agent_id = {"Cookie": f"{COOKIE}={token}"} | SAME, tenant.new_agent()["id"]
    call = {"agent_id": agent_id, "tool_name": "file.read"}
    assert code_of(anybody.post("/v1/authorize", headers=cookie, json=call)) == (401, "UNAUTHORIZED")
    both = cookie | bearer(tenant.read_key)
    assert anybody.post("/v1/authorize", headers=both, json=call).status_code == 200
    hook = anybody.post("/v1/hooks/claude-code", headers=cookie, json={})
    assert "Authorization is missing" in hook.text


def test_cookie_and_authorization_together_are_refused(tenant, anybody):
    """One program might look at the one, another at the other."""
    token = sign_in(anybody, tenant.admin_key).json()["token"]
    both = {"Cookie": f"{COOKIE}={token}"} | bearer(tenant.read_key)
    assert code_of(anybody.get("/v1/agents", headers=both)) == (400, "VALIDATION_ERROR")
    twice = [("Cookie", f"{COOKIE}={token}"), ("Cookie", f"a=b; {COOKIE}={token}")]
    assert code_of(anybody.get("/v1/agents", headers=twice)) == (400, "VALIDATION_ERROR")
    for wrong in ("", "x", tenant.admin_key, f"{token}0", token.upper()):
        answer = anybody.get("/v1/agents", headers={"Cookie": f"{COOKIE}={wrong}"})
        assert code_of(answer) == (401, "UNAUTHORIZED")
    for unrelated in (f"{COOKIE.lower()}={token}", f"x{COOKIE}={token}", f"__Secure-remit={token}"):
        assert "Authorization is missing" in anybody.get("/v1/agents", headers={"Cookie": unrelated}).text


@pytest.mark.parametrize(
    "body",
    [{}, {"key": "a", "code": "b"}, {"key": 7}, {"key": "x" * 101}, {"key": "x", "transport": "header"}, {"id": "x"}],
    ids=str,
)
def test_a_malformed_sign_in_is_refused(anybody, body):
    """With the place that is wrong."""
    assert code_of(anybody.post("/v1/session", json=body, headers=SAME)) == (400, "VALIDATION_ERROR")


def test_a_sign_in_is_read_like_any_body(anybody):
    """Before anybody is known: neither a long body nor a query, and words of other bodies mean nothing."""
    assert anybody.post("/v1/session", content=b"x" * 20_000, headers=SAME).status_code == 413
    assert code_of(anybody.post("/v1/session?dry_run=1", json={}, headers=SAME)) == (400, "VALIDATION_ERROR")
    strange = {"key": "parameter_schema", "code": "egex" * 20}
    assert code_of(anybody.post("/v1/session", json=strange, headers=SAME)) == (400, "VALIDATION_ERROR")


def test_only_a_whole_key_signs_in(tenant, anybody):
    """Not a session, which could then outlive itself; not a runtime's key, which would get out of its binding."""
    token = sign_in(anybody, tenant.read_key).json()["token"]
    for wrong in (token, "svc_" + "0" * 32, "nonsense", ""):
        assert code_of(sign_in(anybody, wrong)) == (401, "UNAUTHORIZED")
    agent_id = tenant.new_agent()["id"]
    for binding in ({"agents": [agent_id]}, {"sessionFrom": "key"}):
        runtime = tenant.new_key(["authorize"], **binding)["key"]
        assert code_of(sign_in(anybody, runtime)) == (403, "INSUFFICIENT_SCOPE")


def test_wrong_keys_and_codes_lock_an_address_out(store, tenant):
    """Signing in is guessing at keys like any other way, and a session that has worked stays unaffected."""
    narrow = Replica(store.url, REMIT_AUTH_FAILURES_PER_MINUTE="3", REMIT_COMPACT="false")
    try:
        with httpx.Client(base_url=narrow.client().base_url) as client:
            token = token_in(client.post("/v1/session", json={"key": tenant.read_key}, headers=SAME))
            cookie = {"Cookie": f"{COOKIE}={token}"}
            assert client.get("/v1/session", headers=cookie).status_code == 200
            for field in ("key", "code", "key"):
                wrong = {field: "0" * 32, "transport": "bearer"}
                assert client.post("/v1/session", json=wrong).status_code == 401
            assert code_of(sign_in(client, tenant.read_key)) == (429, "LOCKED_OUT")
            assert client.get("/v1/session", headers=cookie).status_code == 200
            assert code_of(client.post("/v1/authorize", headers=cookie, json={})) == (429, "LOCKED_OUT")
    finally:
        narrow.stop()


def test_a_session_dies_with_its_key(tenant, other, anybody):
    """On every replica, at once: also for decisions, whose caller is cached."""
    key = tenant.new_key(["read"])
    token = sign_in(anybody, key["key"]).json()["token"]
    call = {"agent_id": tenant.new_agent()["id"], "tool_name": "file.read"}
    with other.client() as elsewhere:
        elsewhere.headers["authorization"] = f"Bearer {token}"
        for client in (anybody, elsewhere):
            assert client.post("/v1/authorize", headers=bearer(token), json=call).status_code == 200
            assert client.get("/v1/agents", headers=bearer(token)).status_code == 200

        assert tenant.admin.delete(f"/v1/api-keys/{key['id']}").status_code == 204

        for client in (anybody, elsewhere):
            assert code_of(client.post("/v1/authorize", headers=bearer(token), json=call)) == (401, "UNAUTHORIZED")
            assert code_of(client.get("/v1/agents", headers=bearer(token))) == (401, "UNAUTHORIZED")
    assert tenant.admin.get("/v1/sessions").json() == []


def test_a_session_ends_no_later_than_its_key(tenant, anybody):
    """Neither when the key expires, nor when it is rotated away."""
    soon = tenant.new_key(["read"], expiresAt="2100-01-01T00:00:00Z")
    in_an_hour = tenant.in_store(store_time_ms) + 3_600_000
    tenant.in_store(lambda client: client.call("HSET", Keyspace(tenant.id).key(soon["id"]), "expires_ms", in_an_hour))
    session = sign_in(anybody, soon["key"]).json()
    [stored] = tenant.admin.get("/v1/sessions").json()
    assert stored["until"] == session["until"] == tenant.admin.get("/v1/api-keys").json()[-1]["expiresAt"]

    rotated = tenant.admin.post(f"/v1/api-keys/{soon['id']}/rotate", json={"overlapSeconds": 60}).json()

    [after] = tenant.admin.get("/v1/sessions").json()
    assert after["until"] == after["idleUntil"] == rotated["replacedUntil"] < session["until"]
    tenant.admin.post(f"/v1/api-keys/{soon['id']}/rotate", json={"overlapSeconds": 0})
    assert code_of(anybody.get("/v1/session", headers=bearer(session["token"]))) == (401, "API_KEY_EXPIRED")


def test_a_session_ends_when_it_is_not_used_and_when_it_is_old(tenant, anybody):
    """Each use moves the first end, and nothing moves the second."""
    session = sign_in(anybody, tenant.read_key).json()
    record = Keyspace(tenant.id).key(session["id"])

    def stored(*fields):
        return [int(each) for each in tenant.in_store(lambda client: client.call("HMGET", record, *fields))]

    created, idle, ends = stored("created_ms", "expires_ms", "ends_ms")
    assert (idle - created, ends - created) == (IDLE_MS, LONGEST_MS)
    now = tenant.in_store(store_time_ms)
    tenant.in_store(lambda client: client.call("HSET", record, "expires_ms", now + 60_000, "last_used_ms", 1))
    assert anybody.get("/v1/session", headers=bearer(session["token"])).status_code == 200
    [idle] = stored("expires_ms")
    assert idle >= now + IDLE_MS
    tenant.in_store(lambda client: client.call("HSET", record, "ends_ms", now + 120_000, "last_used_ms", 1))
    assert anybody.get("/v1/session", headers=bearer(session["token"])).status_code == 200
    assert stored("expires_ms") == [now + 120_000]
    tenant.in_store(lambda client: client.call("HSET", record, "expires_ms", now - 1))
    for _ in range(2):
        answer = anybody.get("/v1/session", headers=bearer(session["token"]))
        assert (code_of(answer), answer.json()["error"]["message"]) == (
            (401, "API_KEY_EXPIRED"),
            "The session has expired",
        )
    life_ms = tenant.in_store(lambda client: client.call("PTTL", record))
    assert 0 < life_ms <= LONGEST_MS


def test_an_open_stream_is_not_a_use_and_ends_with_its_session(tenant, anybody):
    """A page left open does not keep its session; a session that is ended ends the stream within a second."""
    session = sign_in(anybody, tenant.read_key).json()
    record = Keyspace(tenant.id).key(session["id"])
    with anybody.stream("GET", "/v1/audit-logs/stream", headers=bearer(session["token"]), timeout=10) as answer:
        lines = answer.iter_lines()
        next(lines)
        tenant.in_store(lambda client: client.call("HSET", record, "last_used_ms", 1))
        tenant.authorize(tenant.new_agent()["id"])
        assert any(line.startswith("data: ") for line in lines)
        assert tenant.in_store(lambda client: client.call("HGET", record, "last_used_ms")) == "1"

        assert tenant.admin.delete(f"/v1/sessions/{session['id']}").status_code == 204

        assert [line for line in lines if line.startswith("data: ")] == []


def test_sessions_are_listed_and_ended_by_admins(tenant, anybody):
    """The trail says who signed in, and who ended which session; neither shows a token."""
    session = sign_in(anybody, tenant.read_key).json()
    [listed] = tenant.admin.get("/v1/sessions").json()
    assert listed == {name: value for name, value in session.items() if name != "token"}
    assert session["id"] not in [each["id"] for each in tenant.admin.get("/v1/api-keys").json()]
    for as_key in (
        tenant.admin.delete(f"/v1/api-keys/{session['id']}"),
        tenant.admin.post(f"/v1/api-keys/{session['id']}/rotate", json={}),
    ):
        assert code_of(as_key) == (404, "API_KEY_NOT_FOUND")
    key_id = session["keyId"]
    assert code_of(tenant.admin.delete(f"/v1/sessions/{key_id}")) == (404, "SESSION_NOT_FOUND")

    ended = tenant.admin.delete(f"/v1/sessions/{session['id']}", headers={"Change-Reason": "left the team"})

    assert ended.status_code == 204
    assert code_of(anybody.get("/v1/session", headers=bearer(session["token"]))) == (401, "UNAUTHORIZED")
    assert code_of(tenant.admin.delete(f"/v1/sessions/{session['id']}")) == (404, "SESSION_NOT_FOUND")
    changes = tenant.admin.get("/v1/changes", params={"resource_type": "session"})
    last, first = changes.json()
    assert (first["kind"], first["actorId"], first["resourceId"]) == ("created", key_id, session["id"])
    assert first["after"] == {
        "name": "a key",
        "scopes": ["read"],
        "via": "cli",
        "endsAt": session["until"],
        "keyId": key_id,
    }
    assert (last["kind"], last["reason"], last["before"]) == ("deleted", "left the team", first["after"])
    assert session["token"] not in changes.text


def test_sessions_are_listed_in_pages(tenant, anybody):
    """Those that end first come first, and one that has ended early takes no place in a page."""
    ids = [sign_in(anybody, tenant.read_key).json()["id"] for _ in range(5)]

    def page(**query: int) -> list[str]:
        return [each["id"] for each in tenant.admin.get("/v1/sessions", params=query).json()]

    assert (page(), page(limit=2), page(limit=2, offset=4), page(offset=5)) == (ids, ids[:2], ids[4:], [])
    # As after half an hour without use: the record is there, and the index still has it.
    record = Keyspace(tenant.id).key(ids[1])
    tenant.in_store(lambda client: client.call("HSET", record, "expires_ms", 1))

    assert (page(limit=2), page(limit=2, offset=2)) == ([ids[0], ids[2]], ids[3:])
    assert code_of(tenant.admin.get("/v1/sessions", params={"limit": 0})) == (400, "VALIDATION_ERROR")


def test_only_a_session_signs_out(tenant):
    """A key that is not needed any more is revoked."""
    assert code_of(tenant.reader.delete("/v1/session")) == (409, "NOT_A_SESSION")


def test_a_key_has_a_limited_number_of_sessions(tenant, anybody):
    """Those that have ended make room, and all of them count as their key where requests and streams are counted."""
    key = tenant.new_key(["read"])
    record = Keyspace(tenant.id).key(key["id"])
    invented = " ".join(f"00000000-0000-7000-8000-{each:012x}" for each in range(SESSIONS_PER_KEY))
    tenant.in_store(lambda client: client.call("HSET", record, "sign_ins", invented))
    first = sign_in(anybody, key["key"])
    assert first.status_code == 201
    assert tenant.in_store(lambda client: client.call("HGET", record, "sign_ins")) == first.json()["id"]
    now = tenant.in_store(store_time_ms)
    for each in invented.split():
        tenant.in_store(
            lambda client, each=each: client.call("HSET", Keyspace(tenant.id).key(each), "expires_ms", now * 2)
        )
    tenant.in_store(lambda client: client.call("HSET", record, "sign_ins", invented))
    assert code_of(sign_in(anybody, key["key"])) == (409, "LIMIT_REACHED")


async def test_signing_in_while_the_key_is_revoked_leaves_no_session(tenant, replica):
    """Whichever comes first: no session outlives the revocation."""
    for _ in range(5):
        key = tenant.new_key(["read"])
        async with (
            replica.async_client(tenant.admin_key) as admin,
            httpx.AsyncClient(base_url=admin.base_url) as client,
        ):
            *made, gone = await asyncio.gather(
                *(client.post("/v1/session", json={"key": key["key"], "transport": "bearer"}) for _ in range(8)),
                admin.delete(f"/v1/api-keys/{key['id']}"),
            )
            assert gone.status_code == 204
            for each in made:
                assert each.status_code in (201, 401, 503)
                if each.status_code == 201:
                    answer = await client.get("/v1/session", headers=bearer(each.json()["token"]))
                    assert answer.status_code == 401
    assert tenant.admin.get("/v1/sessions").json() == []


def test_a_code_works_once_for_a_minute(tenant, anybody, remit_console):
    """It signs a browser in without a key; what is stored tells nobody the code."""
    link = remit_console(
        "--scope", "approve", "--scope", "audit", "--name", "ann", "--url", "https://remit.example.com"
    )
    code = re.fullmatch(r"https://remit\.example\.com/console/sign-in#([0-9a-f]{32})\n", link)[1]
    assert tenant.in_store(lambda client: client.call("EXISTS", f"remit:code:{code}")) == 0
    made = anybody.post("/v1/session", json={"code": code}, headers=SAME)
    assert (made.status_code, made.json()["name"], made.json()["scopes"]) == (201, "ann", ["approve", "audit"])
    again = anybody.post("/v1/session", json={"code": code}, headers=SAME)
    assert code_of(again) == (401, "UNAUTHORIZED")
    assert code not in again.text
    [change] = tenant.admin.get("/v1/changes", params={"resource_type": "session"}).json()
    assert (change["actorId"], change["after"]["name"]) == ("console", "ann")


async def test_a_code_is_redeemed_by_one_of_many(tenant, replica, remit_console):
    """Two browsers cannot both be signed in by it."""
    code = remit_console().strip().partition("#")[2]
    async with httpx.AsyncClient(base_url=tenant.admin.base_url) as client:
        made = await asyncio.gather(
            *(client.post("/v1/session", json={"code": code, "transport": "bearer"}) for _ in range(12))
        )
    assert sorted(each.status_code for each in made) == [201] + [401] * 11


def test_a_code_is_gone_after_a_minute(tenant, remit_console):
    """By the store's own timer."""
    code = remit_console().strip().partition("#")[2]
    life_s = tenant.in_store(lambda client: client.call("TTL", code_pointer(digest_of(code))))
    assert 0 < life_s <= CODE_SECONDS


@pytest.fixture
def remit_console(tenant, store):
    """Runs `remit console` for the workspace; gives what it prints."""

    def run(*options):
        env = clean_env() | {"REMIT_REDIS_URL": store.url}
        ran = run_remit(["console", "--workspace", tenant.id, *options], env)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run


def test_no_token_is_stored_or_logged(tenant, anybody):
    """I10: only its digest; and one that is pasted into a name is refused, into parameters cut."""
    token = sign_in(anybody, tenant.admin_key).json()["token"]
    call = {"agent_id": tenant.new_agent()["id"], "tool_name": "file.read", "parameters": {"q": f"use {token} now"}}
    tenant.reader.post("/v1/authorize", json=call)
    assert token not in tenant.reader.get("/v1/audit-logs").text
    named = tenant.admin.post("/v1/agents", json={"name": f"agent {token}"})
    assert code_of(named) == (400, "VALIDATION_ERROR")
    assert token not in named.text
    everything = tenant.in_store(lambda client: everything_in(client, tenant.id))
    assert token not in str(everything)


async def everything_in(client, workspace_id):
    """Every value that can contain a token, of this workspace and of none."""
    found, cursor = [], 0
    while True:
        cursor, names = await client.call("SCAN", cursor, "COUNT", 1000)
        for name in (each for each in names if "{" not in each or workspace_id in each):
            kind = await client.call("TYPE", name)
            command = {
                "string": ["GET"],
                "hash": ["HGETALL"],
                "zset": ["ZRANGE", 0, -1],
                "stream": ["XRANGE", "-", "+"],
            }
            if kind in command:
                verb, *rest = command[kind]
                found.append((name, await client.call_bytes(verb, name, *rest)))
        if int(cursor) == 0:
            return found
