"""`remit_client.calls` covers what the service's document lists."""

import inspect
import re
import uuid

import pytest
from cases import PATIENT
from service import ADMIN_KEY

from remit_client import AsyncRemit, MalformedAnswer, Refused, Remit, Unavailable, calls
from remit_client.models import Page
from remit_client.streams import Events, Export, Replay
from remit_client.wire import Call, Settings, interpret

NOT_ASKED_BY_CLIENTS = {
    ("POST", "/v1/hooks/claude-code"),  # the coding agent's own format
    ("GET", "/livez"),  # for those who run the service, as the next two
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/docs/api"),
    ("GET", "/"),
    # Clients of the standard ask these.
    ("POST", "/access/v1/evaluation"),
    ("POST", "/access/v1/evaluations"),
    ("POST", "/access/v1/ext-authz/x"),
    ("POST", "/access/v1/requests"),
    ("GET", "/access/v1/requests/x"),
    ("POST", "/access/v1/requests/x/cancel"),
    ("POST", "/access/v1/search/subject"),
    ("POST", "/access/v1/search/resource"),
    ("POST", "/access/v1/search/action"),
    ("GET", "/.well-known/authzen-configuration"),
    ("GET", "/.well-known/authzen-configuration/x"),
}
BY_ANY_OTHER: set[tuple[str, str]] = {
    ("POST", "/v1/slack"),
    ("POST", "/v1/session"),
    ("GET", "/v1/sign-in"),
    ("GET", "/console/sign-in"),
    ("GET", "/console/callback"),
    ("POST", "/console/workspace"),
    ("POST", "/console/backchannel-logout"),
    ("DELETE", "/v1/session"),
    ("GET", "/v1/sessions"),
    ("DELETE", "/v1/sessions/x"),
    ("GET", "/v1/issuers"),
    ("GET", "/v1/issuers/x"),
    ("PUT", "/v1/issuers/x"),
    ("DELETE", "/v1/issuers/x"),
    ("GET", "/v1/agents/x/quotas"),
    ("GET", "/v1/approvals/summary"),
    ("POST", "/v1/policies/test"),
    ("POST", "/v1/policies/compare"),
    ("POST", "/v1/policies/propose"),
    ("GET", "/v1/policy-reviews"),
    ("GET", "/v1/policy-reviews/x"),
    ("POST", "/v1/policy-reviews/x/approve"),
    ("POST", "/v1/policy-reviews/x/deny"),
    ("POST", "/v1/policy-reviews/x/cancel"),
    ("GET", "/v1/agents/x/bounds"),
    ("GET", "/v1/agents/x/history"),
    ("GET", "/v1/audit-logs/archive"),
    ("POST", "/v1/audit-logs/accept-fork"),
    ("PATCH", "/v1/catalog"),
    ("GET", "/v1/catalog/x/x"),
    ("PUT", "/v1/catalog/x/x"),
    ("DELETE", "/v1/catalog/x/x"),
}
"""Endpoints that few scripts need: `calls.any_other` reaches them by method and path, and no function is written."""

SAMPLES = {
    "rules": [],
    "policies": [],
    "scopes": [],
    "events": [],
    "tools": [],
    "asked": [],
    "names": [],
    "version": 1,
    "seen": {},
    "method": "GET",
    "path": "/x",
}
OWNERS = [{}, {"agent": "x"}, {"group": "x"}]


def made(function, **given):
    """A call of the function, with a sample for every required argument."""
    needed = [
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is inspect.Parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    return function(**{name: SAMPLES.get(name, "x") for name in needed} | given)


def every_call():
    """One call of each function, or one for each kind of owner."""
    functions = [
        function
        for name, function in inspect.getmembers(calls, inspect.isfunction)
        if re.search(r"-> '?(Call|Stream)\[", str(inspect.signature(function))) and not name.startswith("_")
    ]
    for function in functions:
        taken = inspect.signature(function).parameters
        for owner in OWNERS if {"agent", "group"} <= taken.keys() else [{}]:
            yield function.__name__, made(function, **owner)


CALLS = dict.fromkeys((name, call.method, call.path) for name, call in every_call() if name != "any_other")


def test_every_endpoint_of_the_service_has_a_call(admin):
    """As its document lists them. An endpoint added to the service gets a function, or a line in `BY_ANY_OTHER`."""
    document = admin.send(calls.any_other("GET", "/openapi.json"))
    served = {
        (method.upper(), re.sub(r"{\w+}", "x", path))
        for path, operations in document["paths"].items()
        for method in operations
        if method in ("get", "post", "put", "patch", "delete")
    }
    called = {(method, path) for _, method, path in CALLS}
    assert served - called - NOT_ASKED_BY_CLIENTS == BY_ANY_OTHER
    assert called - served == set(), "a call of what nobody serves"


@pytest.fixture
def policy(admin, agent):
    return admin.send(calls.list_policies(agent))[0]


SENT = {
    "If-Match": "Call.if_version",
    "Change-Reason": "Call.because",
    "Idempotency-Key": "the client, where it may repeat a request",
    "Last-Event-ID": "after= of what is followed",
}


def test_any_other_endpoint_is_reached_by_its_path(admin, agent):
    """With its query and its body, by the service's own names."""
    found = admin.send(calls.any_other("GET", "/v1/agents", query={"limit": 1000, "status": "active"}))
    assert agent in [each["id"] for each in found]
    made = admin.send(calls.any_other("POST", "/v1/agents", {"name": "by any other name"}))
    assert made["status"] == "active"


def test_every_header_of_the_service_can_be_sent(admin):
    """All that its document lists for endpoints with a call."""
    document = admin.send(calls.any_other("GET", "/openapi.json"))
    taken = {
        parameter["name"]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if (method.upper(), re.sub(r"{\w+}", "x", path)) not in NOT_ASKED_BY_CLIENTS
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "header"
    }
    assert taken == SENT.keys()


def test_two_admins_do_not_undo_each_others_changes(admin, agent, policy, remit):
    """Anything that has a version is changed only if it is still the version that was read."""
    made = admin.send(calls.get_agent(agent))
    held = admin.send(calls.get_policies(agent))
    catalog = admin.send(calls.list_catalog())
    pending = admin.approval(remit.authorize(agent, "mail.send", {"to": "ann@example.com"}).approval.id)
    changes = [
        (calls.update_agent(agent, description="mine"), made.version),
        (calls.update_policy(policy.id, name="mine"), policy.version),
        (calls.put_policies([], agent), held["version"]),
        (calls.put_catalog([{"name": f"tool-{uuid.uuid4()}"}]), catalog.version),
        (calls.deny(pending.id), pending.version),
    ]
    for call, version in changes:
        with pytest.raises(Refused) as refused:
            admin.send(call.if_version("0"))
        assert refused.value.status in (409, 412)
        if call.path.endswith("/policies"):  # the policy has changed since
            version = admin.send(calls.get_policies(agent))["version"]  # noqa: PLW2901
        admin.send(call.if_version(version))
    with pytest.raises(Refused, match="APPROVAL"):
        admin.approve(pending.id, version=pending.version)


async def test_a_change_has_its_reason(admin, agent, service):
    """In any script, with either client."""
    admin.send(calls.update_agent(agent, description="one").because("ticket 17: müde"))
    async with AsyncRemit(service.url, ADMIN_KEY, **PATIENT) as remit:
        await remit.send(calls.update_agent(agent, description="two").because("チケット 18"))
    reasons = [change["reason"] for change in admin.send(calls.list_changes(resource_id=agent, limit=2))]
    assert reasons == ["チケット 18", "ticket 17: müde"]


def test_checkpoints_and_proofs_are_texts(admin, agent):
    """Exactly as sent, so that they can be verified; a proxy's page in their place is not taken for one."""
    decision = admin.authorize(agent, "file.read")
    for call in (calls.audit_checkpoint(), calls.changes_checkpoint(), calls.audit_proof(decision.id)):
        with pytest.raises(Refused) as refused:  # this service signs none
            admin.send(call)
        assert refused.value.code == "CHECKPOINT_NOT_FOUND"
        settings = Settings("http://r", "k", timeout=1, connect_timeout=1, retries=0, http_options=None)
        note = "a\n1\nx\n\n— a é\n"
        assert interpret(call, settings, 200, {"content-type": "text/plain; charset=utf-8"}, note.encode()) == note
        for kind, content in (("text/html", b"<p>"), ("application/json", b"1"), ("text/plain", b"\xff")):
            with pytest.raises(MalformedAnswer):
                interpret(call, settings, 200, {"content-type": kind}, content)
    with pytest.raises(MalformedAnswer):
        interpret(calls.audit_status(), settings, 200, {"content-type": "text/plain"}, b"{}")


@pytest.mark.parametrize("version", ['3"', "3, 4", "3\r\nX: y", "é"])
def test_only_a_version_is_accepted_as_a_version(version):
    with pytest.raises(ValueError, match="version"):
        calls.delete_policy("x").if_version(version)


def test_names_cannot_lead_to_another_endpoint():
    """Whatever an id contains, it stays one segment of the path."""
    for name in dict(every_call()).keys() - {"any_other"}:
        function = getattr(calls, name)
        ids = [
            one for one in inspect.signature(function).parameters if one.endswith("_id") or one in ("agent", "group")
        ]
        for hostile in ("../../v1/api-keys", "a/b", "..", "a?b=c", "a#b", "a%2fb") if ids else ():
            harmless, changed = (made(function, **{ids[0]: one}).path for one in ("x", hostile))
            assert changed.count("/") == harmless.count("/"), (name, hostile)
            assert not set("?#") & set(changed)
            assert ".." not in changed.split("/")


def test_policies_are_replaced_as_a_set_and_rolled_back(admin, agent, policy):
    held = admin.send(calls.get_policies(agent))
    entry = {"id": policy.id, "name": "renamed", "rules": policy.rules}
    admin.send(calls.put_policies([entry], agent, version=held["version"], prune=True))
    assert [one.name for one in admin.send(calls.list_policies(agent))] == ["renamed"]
    versions = admin.send(calls.list_policy_versions(policy.id))
    assert [one["version"] for one in versions] == [2, 1]
    assert admin.send(calls.roll_back_policy(policy.id, 1)).name == policy.name
    assert admin.send(calls.policy_divergence(policy.id))["total"] == 0


def test_a_draft_is_explained_and_replayed(admin, remit, agent, policy):
    """Nothing is taken or logged, and the report comes last."""
    remit.authorize(agent, "refund.create", {"amount": 120})
    assert admin.send(calls.explain(agent, "refund.create", {"amount": 900}))["result"] == "denied"
    draft = {"id": policy.id, "name": "closed", "rules": [{"type": "tool_denylist", "tools": ["*"]}]}
    *_, last = admin.stream(calls.replay([draft], agent))
    assert last["report"]["flipped"] == 1
    assert len(admin.send(calls.list_audit_logs(agent_id=agent))) == 1


def test_the_log_says_what_became_of_a_guarded_call(admin, remit, agent):
    """Executed and failed, each an entry that points to its decision."""

    @remit.guard(agent, "refund.create", report_outcome=True)
    def create_refund(amount: int) -> int:
        return 100 // amount

    create_refund(5)
    with pytest.raises(ZeroDivisionError):
        create_refund(0)
    entries = admin.send(calls.list_audit_logs(agent_id=agent))
    decisions = [entry.id for entry in entries if entry.result == "allowed"]
    reported = {entry.raw["decisionId"]: entry.raw["code"] for entry in entries if entry.raw.get("decisionId")}
    assert len(decisions) == 2
    assert reported == dict(zip(decisions, ("failed", "executed"), strict=True))


def test_a_guarded_call_reports_records_of_its_result(admin, service, agent):
    """Before the agent sees the result; what cannot be said of one is only logged, and never loses it."""
    limit = {"of": "order:{parameters.order}", "from": ["order.read"], "fields": {"status": {"enum": ["delivered"]}}}
    rule = {"type": "parameter_constraint", "tools": ["refund.create"], "record": limit}
    admin.send(calls.create_policy(agent, "reads", [{"type": "tool_grant", "tools": ["order.read"]}]))
    admin.send(calls.create_policy(agent, "delivered", [rule], kind="guardrail"))
    key = admin.send(calls.create_api_key("runtime", ["authorize", "record"])).key
    said = []

    def records(tool, parameters, result):
        said.append((tool, parameters, result))
        return {f"order:{parameters['order']}": {"status": result["status"]}}

    context = {"session": "s"}
    with Remit(service.url, key, **PATIENT) as runtime:

        @runtime.guard(agent, "order.read", context=context, records=records)
        def read_order(order: str) -> dict[str, str]:
            return {"status": "delivered"} if order == "A" else {}

        assert not runtime.authorize(agent, "refund.create", {"order": "A", "amount": 5}, context=context).allowed
        assert read_order("A") == {"status": "delivered"}
        assert read_order("B") == {}
        assert runtime.authorize(agent, "refund.create", {"order": "A", "amount": 5}, context=context).allowed
        assert not runtime.authorize(agent, "refund.create", {"order": "B", "amount": 5}, context=context).allowed
    assert said[0] == ("order.read", {"order": "A"}, {"status": "delivered"})


def test_policies_have_one_owner():
    with pytest.raises(ValueError, match="one of them"):
        calls.get_policies("agent", "group")


def test_a_page_names_the_next_one(admin, remit, agent):
    for amount in (1, 2, 3):
        remit.authorize(agent, "refund.create", {"amount": amount})
    first = admin.send(calls.list_audit_logs(agent_id=agent, limit=2))
    second = admin.send(calls.list_audit_logs(agent_id=agent, limit=2, cursor=first.next_cursor))
    assert [entry.parameters["amount"] for entry in [*first, *second]] == [3, 2, 1]
    assert (isinstance(second, Page), second.next_cursor) == (True, None)
    assert admin.send(calls.get_audit_entry(second[0].id)) == second[0]


def test_an_export_is_read_to_its_end(admin, remit, agent):
    asked = [remit.authorize(agent, "refund.create", {"amount": amount}).id for amount in (1, 2)]
    assert [entry["id"] for entry in admin.stream(calls.export_audit_logs(agent_id=agent))] == asked


async def test_the_log_is_followed_as_it_is_written(admin, async_remit, agent):
    """From now on, or after an event without a gap."""
    first = await async_remit.authorize(agent, "refund.create", {"amount": 1})
    [newest] = admin.send(calls.list_audit_logs(agent_id=agent))
    second = await async_remit.authorize(agent, "refund.create", {"amount": 2})
    following = async_remit.stream(calls.follow_audit_logs(after="0", agent_id=agent))
    seen = [(await anext(following)).data["id"] for _ in range(2)]
    await following.aclose()
    assert (seen, newest.id) == ([first.id, second.id], first.id)


def test_approvals_are_followed(admin, remit, agent):
    pending = remit.authorize(agent, "mail.send", {"to": "ann@example.com"}).approval.id
    admin.approve(pending)
    following = admin.stream(calls.follow_approvals(after="0-0"))
    seen = [next(event.name for event in following if event.data["id"] == pending) for _ in range(2)]
    assert seen == ["pending", "approved"]


def test_a_stream_that_is_refused_says_why(service, agent):
    with Remit(service.url, "svc_" + "0" * 32) as stranger, pytest.raises(Exception, match="REMIT_API_KEY"):
        list(stranger.stream(calls.export_audit_logs(agent_id=agent)))


class TestLines:
    """How the readers parse lines."""

    def test_an_export_without_its_last_record_is_not_whole(self):
        export = Export()
        assert export.feed('{"id": "1"}') == [{"id": "1"}]
        with pytest.raises(Unavailable, match="entries are missing"):
            export.end()
        assert export.feed('{"end": {"entries": 1}}') == []
        export.end()

    def test_a_replay_without_its_report_has_no_result(self):
        replay = Replay()
        assert replay.feed('{"progress": {}}') == [{"progress": {}}]
        with pytest.raises(Unavailable, match="before its report"):
            replay.end()
        with pytest.raises(Unavailable, match="too many"):
            replay.feed('{"error": "too many"}')
        replay.feed('{"report": {}}')
        replay.end()

    def test_events_have_ids_names_and_data_of_several_lines(self):
        events = Events()
        lines = [": still here", "id: 7", "event: approved", 'data: {"a":', "data: 1}", "", "id: 8", "", "data:[]", ""]
        found = [event for line in lines for event in events.feed(line)]
        assert [(event.id, event.name, event.data) for event in found] == [
            ("7", "approved", {"a": 1}),
            (None, None, []),
        ]


def test_webhooks_are_created_used_and_deleted(admin):
    """Every operation on a webhook, through the service."""
    hook = admin.send(calls.create_webhook(f"https://hooks.example.com/{uuid.uuid4()}", ["decision.denied"]))
    assert hook["secret"].startswith("whsec_")
    assert admin.send(calls.get_webhook(hook["id"])).get("secret") is None
    assert hook["id"] in [one["id"] for one in admin.send(calls.list_webhooks())]
    assert admin.send(calls.update_webhook(hook["id"], enabled=False))["enabled"] is False
    rotated = admin.send(calls.rotate_webhook_secret(hook["id"], overlap_seconds=60))
    assert rotated["secret"] != hook["secret"]
    assert admin.send(calls.list_unsent_events(hook["id"])) == []
    assert admin.send(calls.list_webhook_deliveries(hook["id"])) == []
    assert admin.send(calls.retry_webhook_events(hook["id"])) == {"events": 0}
    admin.send(calls.delete_webhook(hook["id"]))


def test_a_call_is_immutable():
    """Nobody can change a call that somebody else uses."""
    assert isinstance(calls.ready(), Call)
    with pytest.raises(AttributeError):
        calls.ready().path = "/"


def test_what_an_agent_may_call_is_told_by_the_service(admin, remit, agent):
    """By tool, with the statuses that the proxy and the adapters know."""
    known = [{"name": name} for name in ("refund.create", "refund.delete_all")]
    assert admin.send(calls.put_catalog(known))["added"] == ["refund.create", "refund.delete_all"]
    never = {"type": "tool_denylist", "tools": ["refund.delete_all"]}
    admin.send(calls.create_policy(agent, "never", [never], kind="guardrail"))
    found = remit.send(calls.list_agent_tools(agent))
    assert found["refund.delete_all"] == "denied"
    assert found["refund.create"] in ("allowed", "conditional")
    for name in ("refund.create", "refund.delete_all"):
        admin.send(calls.delete_catalog_tool(name))
