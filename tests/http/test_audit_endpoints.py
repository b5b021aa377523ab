"""The audit log over HTTP: status, verification, export and stream, on a running service."""

import csv
import gzip
import io
import time
from itertools import islice

import httpx
import msgspec
import pytest
from audit_entries import grow_trees
from servers import Replica
from tenants import Tenant

from app.audit.seal.retention import Retention
from app.redis_client.clients import open_client
from app.store.keyspace import Keyspace


@pytest.fixture(scope="module")
def sealing_replica(store):
    """A service whose compactor seals 16 entries at a time, and entries that are a second old."""
    running = Replica(store.url, REMIT_AUDIT_SEGMENT_ENTRIES="16", REMIT_AUDIT_SEAL_AFTER_SECONDS="1")
    yield running
    running.stop()


@pytest.fixture
def tenant(store, sealing_replica):
    """A workspace of this test's own, with one agent."""
    made = Tenant(store.url, sealing_replica)
    made.agent = made.admin.post("/v1/agents", json={"name": "a"}).json()["id"]
    yield made
    made.close()


def decide(tenant, count=1, tool="file.read"):
    """`count` decisions; their ids, oldest first."""
    body = {"agent_id": tenant.agent, "tool_name": tool}
    return [tenant.admin.post("/v1/authorize", json=body).json()["id"] for _ in range(count)]


def sealed_up_to(tenant, sequence):
    """Wait until the compactor has sealed that far."""
    for _ in range(2_000):
        status = tenant.admin.get("/v1/audit-logs/status").json()
        if status["sealedSequence"] >= sequence:
            return status
        time.sleep(0.02)  # or the service that is waited for has less of the machine
    raise AssertionError(status)


@pytest.mark.slow
def test_the_service_seals_by_itself_and_its_answers_stay_the_same(tenant):
    """`remit serve` runs a compactor; queries show the same before and after sealing."""
    ids = decide(tenant, 40)
    before = tenant.admin.get("/v1/audit-logs").json()
    assert [entry["id"] for entry in before] == ids[::-1]

    status = sealed_up_to(tenant, 40)

    assert (status["unsealed"], status["lagSeconds"], status["lastSequence"], status["poison"]) == (0, 0, 40, 0)
    assert tenant.admin.get("/v1/audit-logs").json() == before


def test_a_verification_gives_a_checkpoint_that_a_later_one_takes(tenant):
    """It is one line, from which a later verification continues."""
    decide(tenant, 20)
    sealed_up_to(tenant, 20)
    first = tenant.admin.get("/v1/audit-logs/verify").json()
    assert (first["intact"], first["complete"], first["entries"]) == (True, True, 20)
    decide(tenant, 20)
    sealed_up_to(tenant, 40)

    second = tenant.admin.get("/v1/audit-logs/verify", params={"checkpoint": first["checkpoint"]}).json()

    assert (second["intact"], second["complete"], second["entries"]) == (True, True, 20)
    forged = first["checkpoint"].replace(first["checkpoint"].split()[3], "0" * 64)
    third = tenant.admin.get("/v1/audit-logs/verify", params={"checkpoint": forged}).json()
    assert third["finding"]["fault"] == "rewritten"


def test_only_an_admins_checkpoint_raises_an_alarm_and_each_finding_once(tenant):
    """An invented checkpoint does not match an intact log; two findings in turn are told once each."""
    decide(tenant, 20)
    sealed_up_to(tenant, 20)
    line = tenant.admin.get("/v1/audit-logs/verify").json()["checkpoint"]
    forged = [line.replace(line.split()[3], digit * 64) for digit in "01"]
    forged[1] = forged[1].replace(" 2 ", " 1 ")
    auditor = tenant.replica.client(tenant.new_key(["audit"])["key"])

    def notices():
        return tenant.in_store(lambda client: client.call("XLEN", Keyspace(tenant.id).notices))

    for each in forged:
        assert auditor.get("/v1/audit-logs/verify", params={"checkpoint": each}).json()["finding"] is not None
    assert notices() == 0
    messages = set()
    for each in forged * 2:
        found = tenant.admin.get("/v1/audit-logs/verify", params={"checkpoint": each}).json()["finding"]
        messages.add(found["message"])
    assert notices() == len(messages) == 2
    auditor.close()


@pytest.mark.parametrize("line", ["nonsense", ""])
def test_an_invalid_checkpoint_is_refused(tenant, line):
    """400, with a sentence that says what a checkpoint looks like."""
    answer = tenant.admin.get("/v1/audit-logs/verify", params={"checkpoint": line})
    assert answer.status_code == 400
    assert answer.json()["error"]["details"][0]["path"] == "checkpoint"


def test_an_export_is_whole_and_compressed_if_that_is_accepted(tenant):
    """Sealed and unsealed entries; the last record counts them."""
    ids = decide(tenant, 40)
    plain = tenant.admin.get("/v1/audit-logs/export", headers={"Accept-Encoding": "identity"})
    *records, end = [msgspec.json.decode(line) for line in plain.content.splitlines()]
    assert [record["id"] for record in records] == ids
    assert end["end"]["entries"] == 40
    assert plain.headers["content-type"].startswith("application/x-ndjson")
    request = tenant.admin.build_request("GET", "/v1/audit-logs/export", headers={"Accept-Encoding": "gzip"})
    packed = tenant.admin.send(request, stream=True)
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(b"".join(packed.iter_raw())) == plain.content


def test_an_export_as_csv_keeps_to_its_filters(tenant):
    """The header, the matching rows, and the end."""
    decide(tenant, 3)
    decide(tenant, 2, tool="=cmd()")
    text = tenant.admin.get("/v1/audit-logs/export", params={"format": "csv", "tool_name": "=cmd()"}).text
    header, *rows, end = text.splitlines()
    assert header.startswith("id,timestamp,agentId,")
    assert len(rows) == 2
    assert all(",'=cmd()," in row for row in rows)
    assert end.startswith("#end,,entries=2,")


def events(answer):
    """Id and entry of each event that has one, as they come."""
    sequence = None
    for line in answer.iter_lines():
        if line.startswith("id: "):
            sequence = int(line[4:])
        elif line.startswith("data: "):
            yield sequence, msgspec.json.decode(line[6:])


@pytest.mark.slow
def test_a_stream_resumes_after_the_last_event_without_gap_or_repetition(tenant):
    """Even if entries were sealed while nobody listened."""
    ids = decide(tenant, 10)
    with tenant.admin.stream("GET", "/v1/audit-logs/stream", headers={"Last-Event-ID": "0"}) as answer:
        received = list(islice(events(answer), 7))
    assert [(sequence, entry["id"]) for sequence, entry in received] == list(enumerate(ids[:7], 1))
    ids += decide(tenant, 30)
    sealed_up_to(tenant, 40)
    with tenant.admin.stream("GET", "/v1/audit-logs/stream", headers={"Last-Event-ID": "7"}) as answer:
        rest = list(islice(events(answer), 33))
    assert [(sequence, entry["id"]) for sequence, entry in rest] == list(enumerate(ids, 1))[7:]


@pytest.mark.slow
async def test_a_stream_that_resumes_below_the_floor_says_so(tenant, store):
    """Retention dropped what came after the last event; the stream goes on with what is left."""
    ids = decide(tenant, 32)
    sealed_up_to(tenant, 32)
    client = open_client(store.url, 5_000)
    await grow_trees(client, tenant.id)
    while await Retention(client, unarchived=True).drop_next(tenant.id, 1 << 50):
        pass
    status = tenant.admin.get("/v1/audit-logs/status").json()
    await client.close()
    first = status["firstSequence"]
    assert first > 1

    with tenant.admin.stream("GET", "/v1/audit-logs/stream", headers={"Last-Event-ID": "0"}) as answer:
        assert answer.headers["X-Audit-Floor"].endswith("Z")
        assert next(events(answer))[1]["id"] == ids[first - 1]
    resumed = {"Last-Event-ID": str(first - 1)}
    with tenant.admin.stream("GET", "/v1/audit-logs/stream", headers=resumed) as answer:
        assert "X-Audit-Floor" not in answer.headers


def test_a_stream_without_a_last_event_begins_with_what_is_new(tenant):
    """It applies its filters."""
    decide(tenant, 3)
    with tenant.admin.stream("GET", "/v1/audit-logs/stream", params={"tool_name": "b.c"}) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "id: 3"
        decide(tenant, 2)
        wanted = decide(tenant, 1, tool="b.c")
        for line in lines:
            if line.startswith("data: "):
                assert msgspec.json.decode(line[6:])["id"] == wanted[0]
                break


def test_a_stream_ends_when_its_key_is_revoked(tenant):
    """Later decisions are not sent."""
    made = tenant.admin.post("/v1/api-keys", json={"name": "k", "scopes": ["read"]}).json()
    with httpx.stream(
        "GET",
        f"{tenant.admin.base_url}/v1/audit-logs/stream",
        headers={"Authorization": f"Bearer {made['key']}"},
        timeout=10,
    ) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "id: 0"
        assert tenant.admin.delete(f"/v1/api-keys/{made['id']}").status_code == 204
        decide(tenant, 3)
        assert not [line for line in lines if line.startswith("data: ")]


@pytest.mark.slow
def test_a_replica_that_stops_ends_its_streams(store):
    """It does not wait for streams that would never end."""
    replica = Replica(store.url)
    tenant = Tenant(store.url, replica)
    with tenant.admin.stream("GET", "/v1/audit-logs/stream") as answer:
        lines = answer.iter_lines()
        assert next(lines) == "id: 0"
        replica.process.terminate()
        assert list(lines) is not None
    assert replica.process.wait(15) == 0
    tenant.close()


@pytest.mark.parametrize("given", ["-1", "x", "1" * 16, "999999999"])
def test_an_invalid_last_event_id_is_refused(tenant, given):
    """It is 400, because guessing would skip or repeat entries; so is one beyond the log, which was then restored."""
    answer = tenant.admin.get("/v1/audit-logs/stream", headers={"Last-Event-ID": given})
    assert answer.status_code == 400
    assert answer.json()["error"]["details"][0]["path"] == "Last-Event-ID"


def test_one_entry_is_read_by_its_id_and_found_by_what_decided(tenant):
    """The id is that of authorize's answer."""
    policy = tenant.new_policy(tenant.agent)["id"]
    entry_id = decide(tenant)[0]
    entry = tenant.reader.get(f"/v1/audit-logs/{entry_id.upper()}")
    assert (entry.status_code, entry.json()["id"], entry.json()["policyId"]) == (200, entry_id, policy)
    filters = (
        {"id": entry_id},
        {"policyId": policy},
        {"key_id": entry.json()["keyId"]},
        {"rule_type": "tool_allowlist"},
    )
    for each in filters:
        assert [found["id"] for found in tenant.log(**each)] == [entry_id], each
    assert tenant.log(rule_type="rate_limit") == []
    for unknown in ("no-id", policy):
        answer = tenant.reader.get(f"/v1/audit-logs/{unknown}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "AUDIT_ENTRY_NOT_FOUND")


def test_csv_names_what_was_renamed_or_deleted_as_it_was(tenant):
    """The log keeps ids; their names come from the trail of changes, as of each entry."""
    policy = tenant.new_policy(tenant.agent, name="first rules")["id"]
    tenant.authorize(tenant.agent)
    tenant.admin.patch(f"/v1/agents/{tenant.agent}", json={"name": "=renamed"}).raise_for_status()
    tenant.authorize(tenant.agent)
    tenant.admin.patch(f"/v1/policies/{policy}", json={"name": "second rules"}).raise_for_status()
    tenant.authorize(tenant.agent)
    tenant.admin.delete(f"/v1/agents/{tenant.agent}").raise_for_status()

    text = tenant.reader.get("/v1/audit-logs/export", params={"format": "csv"}).text
    rows = list(csv.DictReader(io.StringIO(text, newline="")))[:-1]

    told = [(row["agentName"], row["policyName"], row["keyName"]) for row in rows]
    assert told == [
        ("a", "first rules", "a key"),
        ("'=renamed", "first rules", "a key"),
        ("'=renamed", "second rules", "a key"),
    ]


def test_entries_are_found_by_session_and_by_user(tenant):
    """As the caller gave them in `context`, not nested in anything else, whether sealed or not."""
    chats = {"session": 'a "b"'}, {"session": "c", "user": "ann"}, {"user": "ann"}, {"x": {"user": "ann"}}
    ids = [tenant.authorize(tenant.agent, context=context)["id"] for context in chats]

    def found(**filters):
        return [ids.index(entry["id"]) for entry in tenant.log(**filters)]

    for _ in range(2):
        assert found(session='a "b"') == [0]
        assert found(user="ann") == [2, 1]
        assert found(user="ann", session="c") == [1]
        assert found(user="an") == []
        sealed_up_to(tenant, len(ids))


def test_text_is_found_in_pages_and_exports_and_what_was_redacted_is_not(tenant):
    """The answer says that the filter is not indexed; a text that no entry can have is refused."""
    calls = {"to": "josé@example.com"}, {"to": "jo", "password": "hunter2"}
    ids = [tenant.authorize(tenant.agent, parameters=parameters)["id"] for parameters in calls]
    for text, expected in (("josé@", [ids[0]]), ("hunter2", []), ("[REDACTED]", [ids[1]])):
        page = tenant.reader.get(
            "/v1/audit-logs", params={"q": text, "user": "ann"} if text == "hunter2" else {"q": text}
        )
        assert [entry["id"] for entry in page.json()] == expected
        assert page.headers["X-Audit-Scan"] == ("user, q" if text == "hunter2" else "q")
        exported = tenant.reader.get("/v1/audit-logs/export", params={"q": text}).text.splitlines()[:-1]
        assert [msgspec.json.decode(line)["id"] for line in exported] == expected
    assert "X-Audit-Scan" not in tenant.reader.get("/v1/audit-logs", params={"tool_name": "file.read"}).headers
    for refused in ("", "x" * 256, tenant.reader.headers["Authorization"]):
        answer = tenant.reader.get("/v1/audit-logs", params={"q": refused})
        assert (answer.status_code, answer.json()["error"]["details"][0]["path"]) == (400, "q")


def test_counts_are_those_of_the_entries_sealed_or_not(tenant):
    """By every value, with a filter, in intervals that add up; what is wrong in the query is named."""
    decide(tenant, 20)
    sealed_up_to(tenant, 20)
    decide(tenant, 5, tool="file.write")

    def counts(**query):
        return tenant.admin.get("/v1/audit-logs/counts", params=query).json()

    assert counts() == {
        "by": "result",
        "total": 25,
        "values": [{"value": "denied", "count": 25}],
        "others": 0,
        "from": None,
        "stepSeconds": None,
    }
    by_tool = counts(by="tool", limit=1)
    assert (by_tool["values"], by_tool["others"]) == ([{"value": "file.read", "count": 20}], 5)
    assert counts(by="agent", tool_name="file.write")["values"] == [{"value": tenant.agent, "count": 5}]
    assert counts(by="policy")["values"] == [{"value": None, "count": 25}]
    assert counts(by="code", action="authorize")["values"] == [{"value": "default_deny", "count": 25}]
    oldest = tenant.admin.get("/v1/audit-logs").json()[-1]["timestamp"]
    over_time = counts(**{"from": oldest, "step": 60})
    assert sum(over_time["values"][0]["counts"]) == 25
    for query, path in (({"step": 60}, "from"), ({"from": "2020-01-01T00:00:00Z", "step": 60}, "step")):
        refused = tenant.admin.get("/v1/audit-logs/counts", params=query)
        assert (refused.status_code, refused.json()["error"]["details"][0]["path"]) == (400, path)
