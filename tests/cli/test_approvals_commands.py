"""`remit approvals`: a person sees a call on a terminal and decides it, there or with a single command."""

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest
from approval_steps import ALLOW, ASK, SECRET, ask
from servers import Replica, clean_env
from tenants import tenant_on

pytestmark = pytest.mark.slow
QUESTION = "Allow this call? [y/n/note/s]"


@pytest.fixture(scope="module")
def asking_replica(store):
    """A replica that can bind approvals to calls."""
    running = Replica(store.url, REMIT_SECRET=SECRET)
    yield running
    running.stop()


tenant = tenant_on("asking_replica")


@pytest.fixture
def agent_id(tenant):
    agent = tenant.new_agent()
    tenant.new_policy(agent["id"], ALLOW, ASK)
    return agent["id"]


class Terminal:
    """A command on a pseudo-terminal: what it prints, and what a person types."""

    def __init__(self, *words, **env):
        self._screen, inside = pty.openpty()
        command = [sys.executable, "-m", "app.cli", *words]
        self.process = subprocess.Popen(
            command, env=clean_env() | {"TERM": "xterm", **env}, stdin=inside, stdout=inside, stderr=inside,
            start_new_session=True,
        )  # fmt: skip
        os.close(inside)
        self._read = ""

    def until(self, text):
        """The output since the last call, up to and including the text."""
        deadline = time.monotonic() + 30
        while text not in self._read:
            ready, _, _ = select.select([self._screen], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{text!r} was not printed, but: {self._read}"
            self._read += os.read(self._screen, 4096).decode()
        printed, _, self._read = self._read.partition(text)
        return (printed + text).replace("\r\n", "\n")

    def type(self, line):
        os.write(self._screen, f"{line}\n".encode())

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait(60)
        os.close(self._screen)


@pytest.fixture
def terminal(tenant, asking_replica):
    """A person watches with a key of their own."""
    key = tenant.new_key(["approve", "read"], name="ann")["key"]
    watching = Terminal("approvals", "watch", REMIT_URL=asking_replica.base_url, REMIT_API_KEY=key)
    watching.until("listening; Ctrl-C ends it")
    yield watching
    watching.close()


def test_a_request_is_shown_with_its_call_and_answered_with_a_note(tenant, agent_id, terminal):
    """At once; y, n and a note do what they say."""
    asked = ask(tenant, agent_id, 900, context={"user": "mia"})["approval"]["id"]
    shown = terminal.until(QUESTION)
    for line in (
        f"approval  {asked}",
        f"agent     an agent · {agent_id}",
        "tool      refund.create",
        "parameters:\n  amount = 900",
        'context:\n  user (bound) = "mia"',
    ):
        assert line in shown
    terminal.type("note")
    terminal.until("Note: ")
    terminal.type("he called me")
    terminal.until(QUESTION)
    terminal.type("y")
    terminal.until(f"approval {asked} is approved")
    said = tenant.reader.get(f"/v1/approvals/{asked}").json()["approvals"]
    assert [(each["verdict"], each["note"]) for each in said] == [("approved", "he called me")]
    assert ask(tenant, agent_id, 900, context={"user": "mia"})["result"] == "allowed"

    denied = ask(tenant, agent_id, 901)["approval"]["id"]
    terminal.until(QUESTION)
    terminal.type("n")
    terminal.until(f"approval {denied} is denied")


def test_older_requests_are_shown_first_and_can_be_skipped(tenant, agent_id, asking_replica):
    """Oldest first; s leaves a request undecided."""
    asked = [ask(tenant, agent_id, amount)["approval"]["id"] for amount in (1, 2)]
    key = tenant.new_key(["approve", "read"], name="ann")["key"]
    terminal = Terminal("approvals", "watch", REMIT_URL=asking_replica.base_url, REMIT_API_KEY=key)
    try:
        for approval_id in asked:
            assert approval_id in terminal.until(QUESTION)
            terminal.type("s")
        terminal.until("listening; Ctrl-C ends it")
        assert {tenant.reader.get(f"/v1/approvals/{each}").json()["status"] for each in asked} == {"pending"}
    finally:
        terminal.close()


def test_what_the_agent_says_is_printed_apart_from_the_call(tenant, terminal):
    """Under a title that says what it is, so that nobody takes it for what they approve."""
    agent = tenant.new_agent()["id"]
    tenant.new_policy(agent, {**ASK, "tools": ["Bash"], "approval": {"descriptive": ["description"]}})
    asked = tenant.authorize(agent, "Bash", parameters={"command": "ls", "description": "a\nb"})["approval"]["id"]
    shown = terminal.until(QUESTION)
    assert 'parameters:\n  command = "ls"\ncontext:' in shown
    assert 'the agent says (not part of what you approve):\n  description = "a\\nb"' in shown
    terminal.type("n")
    terminal.until(f"approval {asked} is denied")


def test_arguments_can_neither_colour_nor_forge_what_is_shown(tenant, agent_id, terminal):
    """Characters that would move the cursor, begin a line or be invisible appear as codes."""
    evil = "x\n  status    approved\x1b[2J\u202e"
    asked = tenant.authorize(agent_id, "refund.create", parameters={"reason": evil})["approval"]["id"]
    shown = terminal.until(QUESTION)
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "\n  status    approved" not in shown
    assert "\\u{202e}" in shown
    terminal.type("n")
    terminal.until(f"approval {asked} is denied")


@pytest.mark.parametrize(
    ("verb", "becomes"), [("approve", "approved"), ("deny", "denied"), ("cancel", "cancelled")], ids=lambda each: each
)
def test_a_verdict_is_printed_for_people_and_for_scripts(tenant, asking_replica, run_remit, verb, becomes):
    """A second verdict is an error with its own exit code."""
    agent = tenant.new_agent()
    tenant.new_policy(agent["id"], ALLOW, ASK)
    key = tenant.read_key if verb == "cancel" else tenant.new_key(["approve"], name="ann")["key"]

    def remit(approval_id, *words):
        env = clean_env() | {"REMIT_URL": asking_replica.base_url, "REMIT_API_KEY": key}
        return run_remit(["approvals", verb, approval_id, *words], env)

    first, second = (ask(tenant, agent["id"], amount)["approval"]["id"] for amount in (1, 2))
    assert remit(first, "--note", "seen").stdout == f"approval {first} is {becomes}\n"
    assert remit(first).returncode == 1
    assert json.loads(remit(second, "--json").stdout) == tenant.admin.get(f"/v1/approvals/{second}").json()


def test_a_program_that_watches_gets_lines_of_json_and_is_asked_nothing(tenant, agent_id, asking_replica):
    """What is open first, then each change; Ctrl-C is no failure."""
    key = tenant.new_key(["approve"], name="ann")["key"]
    first = ask(tenant, agent_id, 1)["approval"]["id"]
    env = {"REMIT_URL": asking_replica.base_url, "REMIT_API_KEY": key}
    watching = Terminal("approvals", "watch", "--json", **env)
    try:
        assert json.loads(watching.until("\n"))["id"] == first
        second = ask(tenant, agent_id, 2)["approval"]["id"]
        found = json.loads(watching.until("\n"))
        assert (found["id"], found["status"], found["parameters"]) == (second, "pending", {"amount": 2})
        with asking_replica.client(key) as person:
            person.post(f"/v1/approvals/{first}/deny", json={})
        assert json.loads(watching.until("\n"))["status"] == "denied"
        watching.process.send_signal(signal.SIGINT)
        assert watching.process.wait(60) == 0
    finally:
        watching.close()


def test_a_stream_that_the_service_ends_is_no_end_of_the_watch_without_a_word(tenant, store):
    """A person who thinks that nothing is waiting would leave."""
    stopping = Replica(store.url, REMIT_SECRET=SECRET)
    key = tenant.new_key(["approve"], name="ann")["key"]
    watching = Terminal("approvals", "watch", REMIT_URL=stopping.base_url, REMIT_API_KEY=key)
    try:
        watching.until("listening; Ctrl-C ends it")
        stopping.stop()
        watching.until("Error: The service has ended the stream; start this again, and it shows what is open")
        assert watching.process.wait(60) == 1
    finally:
        watching.close()


def test_what_was_approved_is_withdrawn_by_another_person(tenant, asking_replica, run_remit):
    """With their own key, while nobody has used it."""
    agent = tenant.new_agent()
    tenant.new_policy(agent["id"], ALLOW, ASK)
    approval_id = ask(tenant, agent["id"])["approval"]["id"]

    def remit(verb, key):
        env = clean_env() | {"REMIT_URL": asking_replica.base_url, "REMIT_API_KEY": key}
        return run_remit(["approvals", verb, approval_id], env)

    ann, bob = (tenant.new_key(["approve"], name=name)["key"] for name in ("ann", "bob"))
    assert remit("approve", ann).stdout == f"approval {approval_id} is approved\n"
    assert remit("cancel", bob).stdout == f"approval {approval_id} is cancelled\n"
    assert ask(tenant, agent["id"])["result"] == "escalated"
