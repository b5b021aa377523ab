"""Completion in shells: names come from the service if there is a key for it, and never from a store."""

import subprocess
import sys
from pathlib import Path

import pytest
from servers import clean_env

pytestmark = pytest.mark.slow
REMIT = Path(sys.executable).with_name("remit")


@pytest.fixture
def completed():
    """What a shell would offer after these words."""

    def complete(words, **env):
        asked = {
            "_REMIT_COMPLETE": "bash_complete",
            "COMP_WORDS": f"remit {words}",
            "COMP_CWORD": str(words.count(" ") + 1),
        }
        ran = subprocess.run([REMIT], env=clean_env() | asked | env, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")
        return [line.removeprefix("plain,") for line in ran.stdout.split()]

    return complete


def test_names_are_those_of_the_key_s_workspace(completed, replica, tenant, run_remit):
    """An agent's name and alias, wherever an agent is meant; a policy's name, and a key's."""
    env = {"REMIT_URL": replica.base_url, "REMIT_API_KEY": tenant.admin_key}
    for words in ("agents create Refund-bot --alias refunds", "agents create Other", "keys create --name reader"):
        assert run_remit(words.split(), clean_env() | env).returncode == 0
    for words in ("agents show re", "agents suspend re", "authorize re", "explain re", "policies show x --agent re"):
        assert completed(words, **env) == ["refunds"], words
    assert completed("agents show ", **env) == ["Other", "Refund-bot", "refunds"]
    assert completed("keys revoke rea", **env) == ["reader"]
    assert "no-such" not in completed("policies show ", **env)


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"REMIT_API_KEY": "svc_00000000000000000000000000000000"},
        {"REMIT_API_KEY": "x", "REMIT_URL": "http://127.0.0.1:1"},
    ],
    ids=["no key", "an unknown key", "no service"],
)
def test_without_an_answer_only_words_are_completed(completed, replica, env):
    env = {"REMIT_URL": replica.base_url, "REMIT_REDIS_URL": replica.env["REMIT_REDIS_URL"]} | env
    assert completed("agents show ", **env) == []
    assert completed("agents sh", **env) == ["show"]
    assert "--alias" in completed("agents create x --", **env)
