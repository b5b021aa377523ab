"""/v1/catalog: tools as their servers list them, and tools known only from the log."""

import json

import pytest
from tenants import Tenant, tenant_on

from app.audit.seal.sealer import Sealer
from app.model.catalog import MAX_CATALOG_BYTES, MAX_TOOL_BYTES, MAX_TOOLS
from app.model.resources import MAX_RESOURCE_BYTES
from app.store.catalog import MAX_SEEN, note_seen
from app.store.keyspace import Keyspace

REFUND = {
    "name": "payment.refund",
    "title": "Refund",
    "description": "Pays back.",
    "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}},
    "outputSchema": {"type": "object"},
    "annotations": {"destructiveHint": True},
    "_meta": {"vendor/x": 1},
}
READ = {"name": "files/read", "inputSchema": {"type": "object", "$defs": {"a": {}}}}


tenant = tenant_on()
asking_tenant = tenant_on("asking_replica")


@pytest.fixture
def put(tenant):
    """Sends tools to the catalogue and gives the answer."""

    def send(*tools, headers=None, **query):
        return tenant.admin.put("/v1/catalog", params=query, json={"tools": list(tools)}, headers=headers)

    return send


def names(tenant, **query):
    return [each["name"] for each in tenant.reader.get("/v1/catalog", params=query).json()]


def test_a_servers_tool_list_is_taken_as_it_is(tenant, put):
    """The result or the whole message; known fields come back unchanged, others are dropped."""
    done = put(REFUND).json()
    assert (done["tools"], done["added"], done["changed"], done["removed"]) == (1, ["payment.refund"], [], [])
    whole = {"jsonrpc": "2.0", "id": 7, "result": {"tools": [READ], "nextCursor": "2", "_meta": {}}}
    assert tenant.admin.put("/v1/catalog", json=whole).json()["added"] == ["files/read"]

    found = tenant.reader.get("/v1/catalog").json()
    assert [each["name"] for each in found] == ["files/read", "payment.refund"]
    shown = {name: found[1][name] for name in ("title", "description", "inputSchema")}
    assert shown == {name: REFUND[name] for name in shown}
    assert found[0] == tenant.reader.get("/v1/catalog/tool/files%2Fread").json()
    assert found[0]["inputSchema"] == READ["inputSchema"]
    assert (found[0]["type"], found[0]["catalogued"], found[0]["title"], found[0]["version"]) == ("tool", True, None, 1)


def test_pages_are_in_the_order_of_names(tenant, put):
    put(*({"name": f"t{number}"} for number in (3, 1, 2)))
    assert names(tenant) == ["t1", "t2", "t3"]
    assert names(tenant, limit=1, offset=1) == ["t2"]
    assert names(tenant, offset=3) == []


def test_tools_not_sent_stay_unless_pruned(tenant, put):
    put({"name": "a"}, {"name": "b"})
    assert put({"name": "c"}).json()["removed"] == []
    done = put({"name": "b", "title": "B"}, {"name": "d"}, prune="true").json()
    assert (done["added"], done["changed"], done["removed"]) == (["d"], ["b"], ["a", "c"])
    assert names(tenant) == ["b", "d"]
    nothing = {"version": "", "tools": 0, "added": [], "changed": [], "removed": ["b", "d"], "unmarked": []}
    assert put(prune="true").json() == nothing
    assert names(tenant) == []


def test_the_same_again_changes_nothing(tenant, put):
    """No new version, and no entry in the trail."""
    first = put(REFUND)
    again = put(REFUND)
    assert (again.json()["version"], again.headers["ETag"]) == (first.json()["version"], first.headers["ETag"])
    assert again.json()["changed"] == []
    assert len(trail(tenant)) == 1


def trail(tenant):
    return tenant.admin.get("/v1/changes", params={"resource_type": "catalog"}).json()


def test_each_write_is_one_entry_of_the_trail_with_its_reason(tenant, put):
    """Changed tools by name, before and after."""
    put(REFUND, {"name": "b"}, headers={"Change-Reason": "the new server"})
    put({"name": "b", "title": "B"}, {"name": "c"})
    tenant.admin.delete("/v1/catalog/tool/b", headers={"Change-Reason": "gone"})
    deleted, updated, created = trail(tenant)
    assert (created["kind"], created["before"], created["reason"]) == ("created", None, "the new server")
    assert created["resourceId"] == tenant.id
    assert created["after"]["payment.refund"]["inputSchema"] == REFUND["inputSchema"]
    unsaid = {"annotations": None, "consequence": None, "foreign": None}
    untitled = {"title": None, "description": None, "inputSchema": None, **unsaid, "version": 1}
    assert (updated["kind"], updated["before"]) == ("updated", {"c": None, "b": untitled})
    assert updated["after"] == {"c": untitled, "b": untitled | {"title": "B", "version": 2}}
    assert (deleted["kind"], deleted["after"], deleted["reason"]) == ("deleted", None, "gone")
    assert deleted["before"] == {"b": updated["after"]["b"]}


def test_a_tool_is_put_read_changed_and_deleted(tenant):
    """Only if the version is the one that was read."""
    path = "/v1/catalog/tool/booking%20read"
    made = tenant.admin.put(path, json={"description": "Shows a booking.", "icons": []})
    assert (made.status_code, made.headers["ETag"], made.json()["name"]) == (200, '"1"', "booking read")
    assert tenant.admin.put(path, json={}, headers={"If-Match": '"7"'}).status_code == 412
    changed = tenant.admin.put(path, json={"title": "Booking"}, headers={"If-Match": '"1"'})
    assert (changed.json()["version"], changed.json()["description"]) == (2, None)
    assert changed.json()["createdAt"] == made.json()["createdAt"]
    assert tenant.admin.delete(path, headers={"If-Match": '"1"'}).status_code == 412
    assert tenant.admin.delete(path, headers={"If-Match": '"2"'}).status_code == 204
    for answer in (tenant.reader.get(path), tenant.admin.delete(path)):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "TOOL_NOT_FOUND")
    assert tenant.admin.put(path, json={}, headers={"If-Match": '"1"'}).status_code == 412


def test_two_concurrent_writers_do_not_undo_each_other(tenant, put):
    """The catalogue as a whole has a version, too."""
    tag = put({"name": "a"}).headers["ETag"]
    assert put({"name": "b"}, headers={"If-Match": tag}).status_code == 200
    assert put({"name": "c"}, headers={"If-Match": tag}).status_code == 412
    assert names(tenant) == ["a", "b"]


def mark(tenant, headers=None, **tools):
    body = {"tools": {name.replace("__", "."): said for name, said in tools.items()}}
    return tenant.admin.patch("/v1/catalog", json=body, headers=headers)


def marks(tenant, name):
    found = tenant.reader.get(f"/v1/catalog/tool/{name}").json()
    return found["consequence"], found["foreign"]


def test_a_person_says_what_calls_of_a_tool_do_to_the_world(tenant, put):
    """What is left out stays; who said it, and why, is in the trail, once."""
    put(REFUND, {"name": "mail.read"})
    assert (marks(tenant, "payment.refund"), marks(tenant, "mail.read")) == ((None, None), (None, None))
    done = mark(tenant, payment__refund={"consequence": "irreversible"}, mail__read={"foreign": True})
    assert (done.status_code, done.json()["changed"]) == (200, ["mail.read", "payment.refund"])
    mark(tenant, headers={"Change-Reason": "its server keeps no log"}, mail__read={"consequence": "none"})
    assert marks(tenant, "payment.refund") == ("irreversible", None)
    assert marks(tenant, "mail.read") == ("none", True)
    last, first, _ = trail(tenant)
    assert (last["kind"], last["reason"], last["resourceId"]) == ("updated", "its server keeps no log", tenant.id)
    assert last["before"]["mail.read"]["consequence"] is None
    assert (last["after"]["mail.read"]["consequence"], last["after"]["mail.read"]["foreign"]) == ("none", True)
    assert list(first["after"]) == ["payment.refund", "mail.read"]
    assert mark(tenant, mail__read={"foreign": True}).json()["changed"] == []
    assert len(trail(tenant)) == 3


def test_an_import_keeps_what_a_person_said_until_schema_or_description_changes(tenant, put):
    """Then nothing of it holds, and the answer lists the tool; so does the same tool put by itself."""
    tools = [REFUND, READ, {"name": "mail.read"}]
    put(*tools)
    said = {"consequence": "reversible", "foreign": False}
    tenant.admin.patch("/v1/catalog", json={"tools": {"payment.refund": said, "files/read": said}})
    again = put(REFUND | {"title": "Another", "annotations": {}}, READ, {"name": "mail.read", "title": "Read"})
    assert (again.json()["unmarked"], marks(tenant, "payment.refund")) == ([], ("reversible", False))
    assert put(REFUND | {"description": "Pays back twice."}).json()["unmarked"] == ["payment.refund"]
    assert marks(tenant, "payment.refund") == (None, None)
    assert trail(tenant)[0]["before"]["payment.refund"]["consequence"] == "reversible"
    assert put(READ | {"inputSchema": {"type": "object"}}).json()["unmarked"] == ["files/read"]
    tenant.admin.patch("/v1/catalog", json={"tools": {"mail.read": said}})
    assert tenant.admin.put("/v1/catalog/tool/mail.read", json={"title": "Mail"}).json()["foreign"] is False
    changed = tenant.admin.put("/v1/catalog/tool/mail.read", json={"inputSchema": {}}).json()
    assert (changed["consequence"], changed["foreign"]) == (None, None)


def test_what_a_server_says_of_its_tools_marks_none(tenant, put):
    """Neither its annotations nor fields with the names of ours."""
    claims = {"annotations": {"readOnlyHint": True}, "consequence": "none", "foreign": False}
    put(REFUND | claims)
    assert marks(tenant, "payment.refund") == (None, None)
    shown = tenant.reader.get("/v1/catalog/tool/payment.refund").json()["suggested"]
    assert shown == {"consequence": "irreversible", "foreign": None}
    tenant.admin.put("/v1/catalog/tool/mail.read", json=claims)
    assert marks(tenant, "mail.read") == (None, None)
    mark(tenant, payment__refund={"consequence": "irreversible"})
    assert put(REFUND | claims).json()["changed"] == []
    assert marks(tenant, "payment.refund") == ("irreversible", None)


def test_tools_are_marked_all_or_none(tenant, put):
    """Not if one is unknown, nor if the catalogue is no longer the one that the person saw."""
    tag = put(REFUND, {"name": "mail.read"}).headers["ETag"]
    unknown = mark(tenant, mail__read={"consequence": "none"}, mail__send={"consequence": "irreversible"})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "TOOL_NOT_FOUND")
    assert '"mail.send"' in unknown.json()["error"]["message"]
    put(REFUND | {"description": "Pays all back."})
    late = mark(tenant, headers={"If-Match": tag}, payment__refund={"consequence": "reversible"})
    assert late.status_code == 412
    assert (marks(tenant, "mail.read"), marks(tenant, "payment.refund")) == ((None, None), (None, None))


def test_a_mark_changes_no_decision_and_is_not_read_for_one(tenant, put):
    """The same answer for every consequence, although the catalogue cannot even be read."""
    put({"name": "mail.send"})
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, {"type": "tool_grant", "tools": ["mail.send"]})
    call = {"agent_id": agent, "tool_name": "mail.send", "parameters": {}}

    def decided():
        answer = tenant.reader.post("/v1/authorize", json=call)
        assert answer.status_code == 200, answer.text
        return {name: value for name, value in answer.json().items() if name not in {"id", "timestamp", "latencyMs"}}

    before = decided()
    assert before["result"] == "allowed"
    for consequence in ("none", "discloses", "reversible", "irreversible"):
        mark(tenant, mail__send={"consequence": consequence, "foreign": consequence == "none"})
        assert decided() == before
    tenant.in_store(lambda client: client.call("SET", Keyspace(tenant.id).catalog_tools, "no hash"))
    assert tenant.reader.get("/v1/catalog/tool/mail.send").status_code == 503
    assert decided() == before


def test_approvals_and_listings_show_what_cannot_be_undone(asking_tenant):
    """As the catalogue says now; null while nobody has said."""
    tenant = asking_tenant
    tenant.admin.put("/v1/catalog", json={"tools": [{"name": "mail.send"}]})
    agent = tenant.new_agent()["id"]
    grant = {"type": "tool_grant", "tools": ["mail.send"]}
    tenant.new_policy(agent, grant, {"type": "approval_required", "tools": ["mail.send"]})
    asked = tenant.authorize(agent, "mail.send")["approval"]["id"]

    def shown():
        one = tenant.admin.get(f"/v1/approvals/{asked}").json()["consequence"]
        [listed] = tenant.admin.get("/v1/approvals").json()
        [tool] = tenant.reader.get(f"/v1/agents/{agent}/tools").json()["tools"]
        return one, listed["consequence"], tool["consequence"]

    assert shown() == (None, None, None)
    mark(tenant, mail__send={"consequence": "irreversible"})
    assert shown() == ("irreversible",) * 3
    unknown = tenant.reader.get(f"/v1/agents/{agent}/tools", params={"tool": "unheard.of"}).json()["tools"]
    assert unknown[0]["consequence"] is None


BAD_MARKS = {
    "none": ({"tools": {}}, "$.tools"),
    "nothing said": ({"tools": {"a": {}}}, "$.tools.a"),
    "an unknown consequence": ({"tools": {"a": {"consequence": "harmless"}}}, "$.tools.a.consequence"),
    "no boolean": ({"tools": {"a": {"foreign": "no"}}}, "$.tools.a.foreign"),
    "a misspelled field": ({"tools": {"a": {"consequences": "none"}}}, "$.tools.a"),
    "a name that hides": ({"tools": {"a\u200bb": {"foreign": True}}}, "$.tools"),
}


@pytest.mark.parametrize("name", BAD_MARKS)
def test_invalid_marks_are_400_with_their_place(tenant, put, name):
    """And mark nothing."""
    put({"name": "a"})
    body, place = BAD_MARKS[name]
    answer = tenant.admin.patch("/v1/catalog", json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["details"][0]["path"].startswith(place), answer.text
    assert marks(tenant, "a") == (None, None)


BAD = {
    "no tools": ({}, "$.tools"),
    "tools twice": ({"tools": [], "result": {"tools": []}}, "$.tools"),
    "no list": ({"tools": {}}, "$.tools"),
    "no name": ({"tools": [{}]}, "$.tools[0].name"),
    "a name that hides": ({"tools": [{"name": "a\u200bb"}]}, "$.tools[0].name"),
    "one name twice": ({"tools": [{"name": "a"}, {"name": "a"}]}, "$.tools[1].name"),
    "no schema": ({"tools": [{"name": "a", "inputSchema": True}]}, "$.tools[0].inputSchema"),
    "too large": (
        {"tools": [{"name": "a", "description": "x" * MAX_TOOL_BYTES}]},
        "$.tools[0].inputSchema",
    ),
    "too large in letters of several bytes": (
        {"tools": [{"name": "a", "description": "\u00e9" * (MAX_TOOL_BYTES // 2)}]},
        "$.tools[0].inputSchema",
    ),
    "a key": ({"tools": [{"name": "a", "description": "svc_" + "0" * 32}]}, "$.tools[0].description"),
    "an error for an answer": ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601}}, "$.tools"),
    "within the message": ({"result": {"tools": [{"name": ""}]}}, "$.result.tools[0].name"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_invalid_list_of_tools_is_400_with_its_place(tenant, name):
    """Nothing of it is stored."""
    body, place = BAD[name]
    answer = tenant.admin.put("/v1/catalog", json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["details"][0]["path"] == place
    assert names(tenant) == []


@pytest.mark.parametrize("text", ["x" * MAX_RESOURCE_BYTES, "\u00e9" * (MAX_RESOURCE_BYTES // 2)])
def test_a_resource_has_so_many_bytes_at_most(tenant, text):
    """Whatever its letters take."""
    answer = tenant.admin.put("/v1/catalog/record/a", json={"properties": {"note": text}})
    assert answer.status_code == 400
    assert f"more than {MAX_RESOURCE_BYTES} bytes" in answer.text


def test_a_page_of_several_prunes_nothing(tenant, put):
    """Otherwise the tools on the next page would be deleted."""
    put({"name": "a"})
    answer = tenant.admin.put("/v1/catalog", params={"prune": "true"}, json={"tools": [], "nextCursor": "2"})
    assert answer.status_code == 400
    assert "nextCursor" in answer.json()["error"]["message"]
    assert names(tenant) == ["a"]


def test_a_large_list_is_taken_and_a_larger_one_is_413(tenant):
    """A thousand tools of real size are about half a megabyte."""
    tools = [{"name": f"tool_{number}", "description": "x" * 500} for number in range(MAX_TOOLS)]
    assert tenant.admin.put("/v1/catalog", json={"tools": tools}).json()["tools"] == MAX_TOOLS
    one_more = tenant.admin.put("/v1/catalog/tool/more", json={})
    assert (one_more.status_code, one_more.json()["error"]["code"]) == (409, "LIMIT_REACHED")
    assert f"it may have {MAX_TOOLS}" in one_more.json()["error"]["message"]
    content = json.dumps({"tools": [{"name": f"{n}", "description": "x" * 60_000} for n in range(18)]})
    assert tenant.admin.put("/v1/catalog", content=content).status_code == 413


def test_all_tools_together_are_bounded_in_bytes(tenant, put):
    """Because one step of the store reads them all."""
    each = MAX_TOOL_BYTES - 200
    for start in range(0, MAX_CATALOG_BYTES // each, 15):
        tools = [{"name": f"{start + number}", "description": "x" * each} for number in range(15)]
        answer = put(*tools)
        if answer.status_code != 200:
            break
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "LIMIT_REACHED")
    assert "bytes" in answer.json()["error"]["message"]


def seal(tenant):
    async def act(client):
        while await Sealer(client, 512, 100).seal_next(tenant.id):
            pass

    tenant.in_store(act)


def test_tools_that_only_the_sealed_log_has_are_listed_too(tenant, put):
    """Whatever was decided about them. A tool that is also in the catalogue is listed once."""
    agent = tenant.new_agent()["id"]
    for tool in ("mail.send", "payment.refund", "mail.send"):
        tenant.authorize(agent, tool)
    seal(tenant)
    put(REFUND)
    seen = {each["name"]: each["catalogued"] for each in tenant.reader.get("/v1/catalog").json()}
    assert seen == {"mail.send": False, "payment.refund": True}
    answer = tenant.reader.get("/v1/catalog/tool/mail.send")
    assert answer.status_code == 404


def test_names_that_cannot_be_recorded_are_sealed_and_recorded_later(tenant):
    """A full store accepts no names, and only sealing makes room in it."""
    agent = tenant.new_agent()["id"]
    key = Keyspace(tenant.id).seen_tools

    async def act(client):
        sealer = Sealer(client, 512, 100)
        await client.call("SET", key, "of another type, so that nothing can be added")
        tenant.authorize(agent, "mail.send")
        first = await sealer.seal_next(tenant.id)
        await client.call("DEL", key)
        tenant.authorize(agent, "mail.read")
        return first, await sealer.seal_next(tenant.id)

    assert [sealed.number for sealed in tenant.in_store(act)] == [1, 2]
    assert names(tenant) == ["mail.read", "mail.send"]


def test_a_caller_that_invents_names_cannot_fill_the_store(tenant):
    """Its latest names stay."""

    async def act(client):
        await note_seen(client, tenant.id, {f"old {number}": "k" for number in range(MAX_SEEN)}, 1)
        await note_seen(client, tenant.id, {"new": "k"}, 2)

    tenant.in_store(act)
    found = names(tenant)
    assert len(found) == MAX_SEEN
    assert "new" in found


def test_names_that_one_key_invents_take_no_place_of_another_key_s(tenant):
    """However many they are, and although they are newer; a name that both ask for is listed once."""

    async def act(client):
        await note_seen(client, tenant.id, {"mail.send": "modest", "shared": "modest"}, 1)
        for start in range(0, 3 * MAX_SEEN, 500):
            invented = {f"invented.{number}": "greedy" for number in range(start, start + 500)}
            await note_seen(client, tenant.id, invented | {"shared": "greedy"}, 2 + start)

    tenant.in_store(act)
    found = names(tenant)
    assert {"mail.send", "shared"} <= set(found)
    assert len(found) == MAX_SEEN - 1
    assert [f"invented.{3 * MAX_SEEN - 1}" in found, "invented.0" in found] == [True, False]


def test_another_workspace_has_its_own(tenant, put, store, replica):
    put({"name": "ours"})
    other = Tenant(store.url, replica)
    try:
        assert names(other) == []
        assert other.reader.get("/v1/catalog/tool/ours").status_code == 404
    finally:
        other.close()
