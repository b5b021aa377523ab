"""The clients against a real service."""

import asyncio
import logging
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from remit_client import AsyncRemit, Denied, Refused, Remit, Unavailable, calls
from remit_client.errors import ApprovalPending


def test_decisions_are_typed(remit, agent):
    decision = remit.authorize(agent, "refund.create", {"amount": 120})
    assert decision.allowed
    assert decision.result == "allowed"
    assert decision.rule.type == "parameter_constraint"
    assert decision.raw["id"] == decision.id


@pytest.mark.parametrize("text", ["é" * (1 << 19), "\U0001f600", "\u2028", 'a"\\\n\0', "\x7f"])
def test_the_log_has_exactly_what_was_asked(remit, agent, admin, text):
    """With any script of characters, in no more bytes than necessary."""
    decision = remit.authorize(agent, "refund.create", {"amount": 1, "note": text})
    noted = admin.send(calls.get_audit_entry(decision.id)).parameters["note"]
    assert noted == text or noted["length"] == len(text)


def test_half_a_surrogate_pair_is_refused_by_the_service(remit, agent):
    """It cannot be encoded as UTF-8, so it is sent as an escape, and the service decides about it."""
    with pytest.raises(Refused, match="VALIDATION_ERROR"):
        remit.authorize(agent, "refund.create", {"amount": 1, "note": "\ud83d"})


async def test_both_clients_ask_the_same(async_remit, remit, agent):
    asked = {"amount": 900}
    one, other = (
        remit.authorize(agent, "refund.create", asked),
        await async_remit.authorize(agent, "refund.create", asked),
    )
    assert (one.result, one.reason, one.rule) == (other.result, other.reason, other.rule)
    assert one.id != other.id


async def test_a_plan_is_allowed_as_a_whole_or_not_at_all(async_remit, remit, agent):
    """By both clients, in the order of its calls; a call that cannot be decided is denied."""
    good, bad = (calls.authorize(agent, "refund.create", {"amount": amount}) for amount in (120, 900))
    assert [each.allowed for each in remit.authorize_many([good, bad, good])] == [True, False, True]
    refused = await async_remit.authorize_many([good, bad], "all_or_nothing")
    assert [each.code for each in refused] == ["batch_refused", "parameter_invalid"]
    assert [each.allowed for each in remit.authorize_many([good, good], "all_or_nothing")] == [True, True]
    unknown = remit.authorize_many([calls.authorize("nobody", "t"), good])
    assert [(each.allowed, each.code) for each in unknown] == [(False, "AGENT_NOT_FOUND"), (True, "allowed")]


def test_a_url_can_name_a_unix_socket(tmp_path):
    """With nothing listening there, the client is told so."""
    with pytest.raises(Unavailable, match="unix://"), Remit(f"unix://{tmp_path}/no.sock", "svc_" + "0" * 32) as remit:
        remit.authorize("a", "t")
    with pytest.raises(ValueError, match="unix:///path/to/socket"):
        Remit("unix://host/no.sock", "svc_" + "0" * 32)


def test_a_decorated_tool_runs_when_it_is_allowed(remit, agent, admin):
    @remit.guard(agent, "refund.create")
    def create_refund(order: str, amount: float = 100, **more: object) -> str:
        """Pay it back."""
        return f"{amount} for {order}"

    assert create_refund("A1") == "100 for A1"
    with pytest.raises(Denied, match="above the maximum 500") as denied:
        create_refund("A2", amount=900, note="hurry")
    entry = admin.send(calls.list_audit_logs(agent_id=agent, result="denied"))[0]
    assert entry.id == denied.value.decision.id
    assert entry.parameters == {"order": "A2", "amount": 900, "note": "hurry"}, (
        "defaults and keywords are parameters, too"
    )
    assert create_refund.__doc__ == "Pay it back."


async def test_a_decorated_async_tool_runs_when_it_is_allowed(async_remit, agent):
    @async_remit.guard(agent, "refund.create")
    async def create_refund(amount: float) -> float:
        return amount

    assert await create_refund(100) == 100
    with pytest.raises(Denied):
        await create_refund(amount=900)


def test_a_method_is_guarded_without_self(remit, agent, admin):
    class Desk:
        @remit.guard(agent, "refund.create", {"currency": "EUR"})
        def refund(self, amount):
            return amount

    assert Desk().refund(5) == 5
    entry = admin.send(calls.list_audit_logs(agent_id=agent))[0]
    assert entry.parameters == {"amount": 5, "currency": "EUR"}


def test_the_context_manager_hands_over_the_decision(remit, agent):
    with remit.guard(agent, "refund.create", {"amount": 5}) as decision:
        assert decision.allowed
    with pytest.raises(ApprovalPending), remit.guard(agent, "mail.send", {"to": "a@b.c"}):
        raise AssertionError


def test_a_guard_that_would_never_be_awaited_is_refused(remit, async_remit_of):
    async def asynchronous(): ...

    async def generator():
        yield

    with pytest.raises(TypeError, match="guard it with AsyncRemit"):
        remit.guard("a", "t")(asynchronous)
    with pytest.raises(TypeError, match="guard it with Remit"):
        async_remit_of.guard("a", "t")(lambda: None)
    with pytest.raises(TypeError, match="generator"):
        async_remit_of.guard("a", "t")(generator)


@pytest.fixture
def async_remit_of(service, asking_key):
    return AsyncRemit(service.url, asking_key)


def test_an_unknown_agent_and_a_bad_field_are_named(remit):
    with pytest.raises(Refused, match="AGENT_NOT_FOUND") as refused:
        remit.authorize("00000000-0000-4000-8000-000000000000", "tool")
    assert refused.value.status == 404
    with pytest.raises(Refused, match="VALIDATION_ERROR") as refused:
        remit.authorize("00000000-0000-4000-8000-000000000000", "too\u0000l")
    assert refused.value.details


def test_agents_policies_and_keys_are_managed(admin):
    made = admin.send(calls.create_agent("x", description="y"))
    assert admin.send(calls.get_agent(made.id)) == made
    assert made.id in {one.id for one in admin.send(calls.list_agents())}
    assert admin.send(calls.update_agent(made.id, name="z")).name == "z"
    policy = admin.send(calls.create_policy(made.id, "p", [{"type": "tool_allowlist", "tools": ["a"]}], priority=3))
    assert admin.send(calls.get_policy(policy.id)).rules == policy.rules
    assert [one.id for one in admin.send(calls.list_policies(made.id))] == [policy.id]
    assert admin.send(calls.update_policy(policy.id, enabled=False)).enabled is False
    admin.send(calls.delete_policy(policy.id))
    key = admin.send(calls.create_api_key("k", ["read"]))
    assert key.key.startswith("svc_")
    assert key.key not in repr(key)
    assert key.key not in str(key.raw)
    assert key.id in {one.id for one in admin.send(calls.list_api_keys())}
    admin.send(calls.revoke_api_key(key.id))
    admin.send(calls.delete_agent(made.id))
    with pytest.raises(Refused, match="404 AGENT_NOT_FOUND"):
        admin.send(calls.get_agent(made.id))
    assert admin.send(calls.list_changes(limit=1))
    assert admin.send(calls.verify_audit_logs())


def test_names_cannot_lead_elsewhere(admin):
    """A caller's name is one segment of the path, whatever is in it."""
    for name in ("../policies", "a/../../livez", "..", ".", "a?b", "a#b", "%2e%2e"):
        with pytest.raises(Refused, match="404 "):
            admin.send(calls.get_agent(name))


def test_settings_come_from_the_environment(monkeypatch, service, asking_key, agent):
    monkeypatch.setenv("REMIT_URL", service.url)
    monkeypatch.setenv("REMIT_API_KEY", asking_key)
    with Remit(timeout=20) as remit:
        assert remit.authorize(agent, "refund.create", {"amount": 1}).allowed
    assert repr(remit) == f"Remit({service.url})"


@pytest.mark.parametrize(
    ("url", "key", "says"),
    [
        (None, "svc_x", "REMIT_URL"),
        ("http://h", None, "REMIT_API_KEY"),
        ("h:8080", "svc_x", "http://host:port"),
        ("http://user:geheim@h", "svc_x", "not hold a user"),
        ("http://h", "svc_geheim\n", "not shown"),
        ("http://h", "svc_geheim€", "not shown"),
    ],
)
def test_settings_that_cannot_work_are_refused_without_showing_secrets(url, key, says, monkeypatch):
    monkeypatch.delenv("REMIT_URL", raising=False)
    monkeypatch.delenv("REMIT_API_KEY", raising=False)
    with pytest.raises(ValueError, match=says) as raised:
        Remit(url, key)
    assert "geheim" not in str(raised.value)


async def test_many_tasks_share_a_client(async_remit, agent):
    decisions = await asyncio.gather(
        *(async_remit.authorize(agent, "refund.create", {"amount": number * 10}) for number in range(100))
    )
    assert [one.allowed for one in decisions] == [number <= 50 for number in range(100)]


def test_the_sync_client_is_generated_from_the_async_one():
    script = Path(__file__).parents[1] / "unasync.py"
    ran = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("options", [None, {"http2": False}], ids=["sockets", "httpx"])
def test_no_log_holds_the_key(options, service, asking_key, agent, caplog):
    """Even at the most verbose level of httpx and its parts, for answers and failures alike."""
    caplog.set_level(logging.DEBUG)
    with Remit(service.url, asking_key, http_options=options, timeout=20) as remit:
        remit.authorize(agent, "refund.create", {"amount": 1})
        asyncio.run(AsyncRemit.of(remit).authorize(agent, "refund.create", {"amount": 1}))
    with Remit("http://127.0.0.1:1", asking_key, http_options=options) as remit, pytest.raises(Unavailable) as raised:
        remit.authorize(agent, "refund.create")
    assert "POST" in caplog.text or options is None, "there is something to read"
    assert asking_key not in caplog.text
    assert asking_key not in "".join(traceback.format_exception(raised.value))
