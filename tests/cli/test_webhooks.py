"""`remit webhooks` for scripts: what --json prints is what the API answers."""

import json

import pytest
from approval_steps import SECRET
from receivers import Receiver
from servers import clean_env

pytestmark = pytest.mark.slow


@pytest.fixture
def receiver():
    listening = Receiver()
    yield listening
    listening.close()


@pytest.fixture
def remit(tenant, run_remit):
    """Runs `remit webhooks` in the tenant's workspace."""

    def run(*words):
        env = clean_env() | {"REMIT_REDIS_URL": tenant.store_url, "REMIT_SECRET": SECRET}
        env |= {"REMIT_WEBHOOK_HTTP": "true", "REMIT_WEBHOOK_NETWORKS": "127.0.0.0/8"}
        return run_remit(["webhooks", *words, "-w", tenant.id], env)

    return run


def test_a_webhook_lives_from_its_creation_to_its_end(remit, tenant, receiver):
    """Made, listed, tested, given another secret, deleted."""
    made = json.loads(remit("create", receiver.url, "--event", "policy.changed", "--json").stdout)
    shown = tenant.admin.get(f"/v1/webhooks/{made['id']}").json()
    assert {name: value for name, value in made.items() if name != "secret"} == shown
    assert json.loads(remit("list", "--json").stdout) == [shown]
    assert json.loads(remit("test", made["id"], "--json").stdout)["delivered"] is True
    assert receiver.events(made["secret"])[0][1]["type"] == "webhook.test"
    assert json.loads(remit("events", made["id"], "--json").stdout) == []
    assert json.loads(remit("retry", made["id"], "--json").stdout) == {"events": 0}
    assert json.loads(remit("rotate", made["id"], "--json").stdout)["secret"] != made["secret"]
    assert json.loads(remit("delete", made["id"], "--json").stdout) == {"deleted": made["id"]}
    assert tenant.admin.get("/v1/webhooks").json() == []


NARROWED = ["--tool", "refund.*", "--code", "quota_full", "--denied-by", "budget", "--denied-sample", "0.5"]


def test_only_the_given_fields_of_a_webhook_change(remit, tenant, receiver):
    """Each field alone; and what the command says is what the API answers."""
    made = json.loads(remit("create", receiver.url, "--event", "policy.changed", "--json").stdout)

    def shown():
        return tenant.admin.get(f"/v1/webhooks/{made['id']}").json()

    before = shown()
    changes = {
        "enabled": (["--off"], False),
        "format": (["--format", "slack"], "slack"),
        "events": (["--event", "decision.denied"], ["decision.denied"]),
        "only": (NARROWED, {"tools": ["refund.*"], "codes": ["quota_full"], "ruleTypes": ["budget"], "sample": 0.5}),
        "url": (["--destination", receiver.url + "/other"], receiver.url + "/other"),
    }
    for name, (words, value) in changes.items():
        told = json.loads(remit("update", made["id"], *words, "--json").stdout)
        assert told == shown()
        assert {field for field in told if told[field] != before[field]} - {"updatedAt", "version"} == {name}
        assert told[name] == value
        before = told
    assert remit("update", made["id"], "--on").stdout == f"changed {made['id']}: on, {receiver.url}/other\n"
    assert json.loads(remit("update", made["id"], "--no-filter", "--json").stdout)["only"] is None


def test_an_empty_or_impossible_update_is_a_misuse(remit, receiver):
    """Exit code 2, and the webhook stays as it is."""
    made = json.loads(remit("create", receiver.url, "--event", "policy.changed", "--json").stdout)
    nothing = remit("update", made["id"])
    assert (nothing.returncode, "Nothing to change" in nothing.stderr) == (2, True)
    assert "not a public address" in remit("update", made["id"], "--destination", "https://10.0.0.1/").stderr
    both = remit("update", made["id"], "--no-filter", "--denied-by", "budget")
    assert (both.returncode, "--no-filter takes no option" in both.stderr) == (2, True)
    assert json.loads(remit("list", "--json").stdout)[0]["version"] == 1


def test_an_invalid_request_is_answered_with_a_sentence(remit, receiver):
    """Exit code 1 where it failed, 2 where it was misused."""
    made = json.loads(remit("create", receiver.url, "--event", "policy.changed", "--json").stdout)
    receiver.answers = [500]
    failed = remit("test", made["id"])
    assert (failed.returncode, failed.stderr) == (1, "Error: not delivered: the receiver answered 500\n")
    inside = remit("create", "https://10.0.0.1/", "--event", "policy.changed")
    assert inside.returncode == 2
    assert "not a public address" in inside.stderr
    assert remit("create", receiver.url, "--event", "policy.changed", "--secret", "x").returncode == 2
