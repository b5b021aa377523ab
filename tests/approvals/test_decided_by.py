"""Approvals, log, trail, messages and commands name who decided or changed something, and how they came in."""

import json

import pytest
from approval_steps import ask
from approvals_races import pat
from command_line import run_remit
from servers import clean_env

from app.model.actors import Via
from app.webhooks.slack import slack_message


@pytest.fixture
def in_session(session_of):
    """The headers of a new session in which Pat, who has signed in with the identity provider, uses a program."""
    return session_of(Via.CLI)


def test_an_approval_and_its_entry_name_the_person_who_decided(tenant, agent_id, in_session):
    """By the identity that is the same at every sign-in; so do the message for Slack and the command line."""
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    path = f"/v1/approvals/{approval_id}"
    answer = tenant.admin.post(f"{path}/approve", json={}, headers=in_session)
    assert answer.status_code == 200, answer.text
    [said] = answer.json()["approvals"]
    assert said["by"] == {"keyId": said["by"]["keyId"], "name": "pat", "via": "cli", "person": pat().person}
    assert answer.json()["requestedBy"]["via"] == "key"
    entry = tenant.log()[0]
    assert (entry["code"], entry["decidedBy"]) == ("approval_approved", said["by"])
    message = slack_message("approval.decided", {"entry": entry, "approval": answer.json()})
    assert '"pat (cli)"' in json.dumps(message)
    env = clean_env() | {"REMIT_URL": str(tenant.admin.base_url), "REMIT_API_KEY": tenant.admin_key}
    assert "approved by pat (cli)" in run_remit(["approvals", "show", approval_id], env).stdout
    exported = tenant.admin.get("/v1/audit-logs/export", params={"format": "csv"}).text
    assert exported.splitlines()[0].endswith(",decidedBy,trippedBy,subject,records,filling")
    assert '""person""' in exported


def test_with_a_key_there_is_no_person(tenant, agent_id, person):
    """The approval says that it was a key."""
    approval_id = ask(tenant, agent_id)["approval"]["id"]
    [said] = person.post(f"/v1/approvals/{approval_id}/deny", json={}).json()["approvals"]
    assert (said["by"]["via"], "person" in said["by"]) == ("key", False)
    assert tenant.log()[0]["decidedBy"] == said["by"]


def test_the_trail_names_the_person_who_changed_something(tenant, in_session):
    """In whichever session; changes made with a key or from the command line name none."""
    made = tenant.admin.post("/v1/agents", json={"name": "by pat"}, headers=in_session).json()
    tenant.admin.post("/v1/api-keys", json={"name": "by pat", "scopes": ["read"]}, headers=in_session)
    tenant.new_agent()
    key, agent, sign_in = tenant.admin.get("/v1/changes", params={"person": pat().person}).json()
    assert [each["resourceType"] for each in (key, agent, sign_in)] == ["api_key", "agent", "session"]
    assert (agent["resourceId"], agent["actorName"], agent["via"]) == (made["id"], "pat", "cli")
    assert (agent["person"], sign_in["actorId"], "via" in sign_in) == (pat().person, pat().person, False)
    assert not {"via", "person"} & set(tenant.admin.get("/v1/changes").json()[0])
    env = clean_env() | {"REMIT_URL": str(tenant.admin.base_url), "REMIT_API_KEY": tenant.admin_key}
    assert "pat (cli)" in run_remit(["changes", "--person", pat().person], env).stdout
