"""The guardrail in LiteLLM's gateway: whose call it is, under which name, and that nobody turns it off."""

import json

import litellm
import pytest
from cases import PATIENT, YES
from litellm.exceptions import GuardrailRaisedException
from litellm.proxy._experimental.mcp_server.mcp_server_manager import MCPServer, MCPServerManager
from litellm.proxy._types import UserAPIKeyAuth
from litellm.proxy.proxy_server import proxy_logging_obj
from service import answer

from remit_client import Remit
from remit_client.litellm import RemitGuardrail

KEY = "svc_" + "0" * 32
SERVER = MCPServer(server_id="d", name="desk", transport="stdio", command="true")


@pytest.fixture
def gateway(faulty, monkeypatch):
    """A call through the gateway's check; what Remit was asked."""

    async def call(guardrail=None, **key):
        service = faulty(answer(200, YES))
        monkeypatch.setattr(
            litellm, "callbacks", [RemitGuardrail(Remit(service.url, KEY, **PATIENT), **guardrail or {})]
        )
        await MCPServerManager().pre_call_tool_check(
            "pay", {"amount": 5}, "desk", UserAPIKeyAuth(**key), proxy_logging_obj, SERVER
        )
        return [json.loads(each.partition(b"\r\n\r\n")[2]) for each in service.asked]

    return call


async def test_the_key_is_the_agent_and_its_user_is_in_the_context(gateway):
    """The tool has the name of its server before its own."""
    [asked] = await gateway(key_alias="laptop", team_alias="desk team", user_id="ann")
    wanted = {"agent_id": "laptop", "tool_name": "desk.pay", "parameters": {"amount": 5}, "context": {"user": "ann"}}
    assert {name: asked[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("guardrail", "key", "agent"),
    [({}, {"team_alias": "desk"}, "desk"), ({"agent": "all"}, {"key_alias": "laptop"}, "all")],
)
async def test_a_key_without_an_alias_is_its_teams_and_one_agent_can_be_named_for_all(gateway, guardrail, key, agent):
    [asked] = await gateway(guardrail, **key)
    assert asked["agent_id"] == agent


async def test_a_call_of_nobody_does_not_pass(gateway):
    with pytest.raises(GuardrailRaisedException, match="neither the key nor its team has an alias"):
        await gateway(user_id="ann")


async def test_what_another_guardrail_has_changed_is_judged_and_passes(faulty):
    """LiteLLM runs the tool with `modified_arguments`, and without them with what the caller wrote."""
    service = faulty(answer(200, YES))
    guardrail = RemitGuardrail(Remit(service.url, KEY, **PATIENT))
    data = {"mcp_tool_name": "pay", "mcp_arguments": {"amount": 5}, "modified_arguments": {"amount": 6}}
    passed = await guardrail.async_pre_call_hook(UserAPIKeyAuth(key_alias="a"), None, data, "call_mcp_tool")
    judged = json.loads(service.asked[0].partition(b"\r\n\r\n")[2])["parameters"]
    assert judged == passed["modified_arguments"] == {"amount": 6}


@pytest.mark.parametrize("off", [{"disable_global_guardrails": True}, {"opted_out_global_guardrails": ["remit"]}])
async def test_nobody_turns_it_off(gateway, off):
    """Neither the configuration nor a key whose metadata leaves out the gateway's other guardrails."""
    guardrail = {"guardrail_name": "remit", "default_on": False, "event_hook": "pre_call"}
    assert len(await gateway(guardrail, key_alias="laptop", metadata=off, team_metadata=off)) == 1


def test_the_gateways_configuration_makes_it_with_its_options(tmp_path, monkeypatch):
    """As the page has it: a file beside the configuration, and extra fields of `litellm_params`."""
    from litellm.proxy.guardrails.guardrail_registry import InMemoryGuardrailHandler

    monkeypatch.setattr(litellm, "callbacks", [])
    monkeypatch.setenv("REMIT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("REMIT_API_KEY", KEY)
    (tmp_path / "remit_guardrail.py").write_text("from remit_client.litellm import RemitGuardrail\n")
    params = {"guardrail": "remit_guardrail.RemitGuardrail", "mode": "pre_mcp_call", "default_on": True}
    InMemoryGuardrailHandler().initialize_guardrail(
        {"guardrail_name": "remit", "litellm_params": params | {"agent": "all", "on_unavailable": "allow"}},
        config_file_path=str(tmp_path / "config.yaml"),
    )
    [made] = litellm.callbacks
    assert (made.agent_of(UserAPIKeyAuth()), made._options) == ("all", {"on_unavailable": "allow"})
