"""`remit login` against a provider that answers whatever the test wants, by a clock that the test moves."""

import sys

import click
import pytest
from click.testing import CliRunner

from app.cli import login, loopback

ISSUER = "http://127.0.0.1:1"
METADATA = {
    "issuer": ISSUER,
    "device_authorization_endpoint": f"{ISSUER}/device",
    "authorization_endpoint": f"{ISSUER}/auth",
    "token_endpoint": f"{ISSUER}/token",
}
PENDING, SLOW_DOWN = {"error": "authorization_pending"}, {"error": "slow_down"}


class Clock:
    """Stands for `time` in what logs in: it passes only while somebody waits. waits: how long each time."""

    def __init__(self):
        self.now_s, self.waits = 1_000.0, []

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        self.waits.append(seconds)
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    for module in (login, loopback):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def device(monkeypatch, clock):
    """Runs the device flow against these answers, of which the last one is given again and again."""

    def run(*answers, **asked):
        left = list(answers)

        def ask(url, form=None, *, refusals=False):
            if url.endswith("/device"):
                return {"device_code": "d", "user_code": "U-1", "verification_uri": f"{ISSUER}/verify", **asked}
            return left.pop(0) if len(left) > 1 else left[0]

        monkeypatch.setattr(login, "_ask", ask)
        return login._id_token(METADATA, "remit-cli", {})

    return run


@pytest.mark.parametrize(("expires", "lasts_s"), [({}, 600), ({"expires_in": 120}, 120), ({"expires_in": 9_999}, 600)])
def test_a_code_that_nobody_enters_ends_after_ten_minutes_or_when_the_provider_says(device, clock, expires, lasts_s):
    """Whichever is earlier; asked every five seconds, as RFC 8628 has it where no interval is given."""
    with pytest.raises(click.ClickException, match="Nobody entered the code in time"):
        device(PENDING, **expires)
    assert clock.waits == [5] * (lasts_s // 5)


def test_a_provider_that_asks_for_patience_gets_it(device, clock):
    """RFC 8628, 3.5: five seconds more from then on."""
    assert device(PENDING, SLOW_DOWN, PENDING, {"id_token": "t"}, interval=2) == "t"
    assert clock.waits == [2, 2, 7, 7]


@pytest.mark.parametrize("error", ["access_denied", "expired_token", "invalid_client"])
def test_another_refusal_ends_the_login(device, error):
    with pytest.raises(click.ClickException, match=f"The identity provider refused: '{error}'"):
        device(PENDING, {"error": error})


def test_a_browser_that_does_not_come_back_ends_the_login_after_ten_minutes(monkeypatch, clock, capsys):
    """Requests that are not the answer do not prolong it."""
    monkeypatch.setattr(sys, "platform", "linux")
    for name in loopback._DISPLAYS:
        monkeypatch.delenv(name, raising=False)

    def pass_time(listener):
        clock.sleep(min(listener.timeout, 70))

    monkeypatch.setattr(loopback._Listener, "handle_request", pass_time)
    with pytest.raises(click.ClickException, match="Nobody signed in in time"):
        loopback.sign_in(METADATA, "remit-cli", {}, None)
    assert sum(clock.waits) == loopback.PATIENCE_S
    assert f"Open {ISSUER}/auth?" in capsys.readouterr().err


def refused(names):
    return login.Refused(409, "SEVERAL_WORKSPACES", "several", [{"message": each} for each in names])


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_is_asked_which_workspace_and_a_program_is_told(monkeypatch, is_terminal):
    """What is no workspace of theirs is asked again, and never sent."""
    sent, typed = [], iter(["elsewhere", "payments"])

    class Api:
        def call(self, method, path, body):
            sent.append(body.get("workspace"))
            if "workspace" not in body:
                raise refused(["default", "payments"])
            return {"name": "pat"}

    monkeypatch.setattr(login, "over_http", lambda *_: Api())
    monkeypatch.setattr(sys, "stdin", type("Input", (), {"isatty": lambda _: is_terminal})())
    monkeypatch.setattr(click.termui, "visible_prompt_func", lambda _: next(typed))
    if is_terminal:
        assert login._session("http://127.0.0.1:1", "t", None) == {"name": "pat"}
        assert sent == [None, "payments"]
    else:
        with pytest.raises(login.Refused):
            login._session("http://127.0.0.1:1", "t", None)
        assert sent == [None]


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs `remit login` at a URL. given: where the ID token went."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    class Api:
        def call(self, *_):
            return {"provider": {"issuer": ISSUER, "cliClientId": "remit-cli"}}

    def session(url, *_):
        run.given.append(url)
        return {"name": "pat", "scopes": ["view"], "token": "ses_1", "until": "then", "idleUntil": "soon"}

    monkeypatch.setattr(login, "over_http", lambda *_: Api())
    monkeypatch.setattr(login, "_ask", lambda *_: METADATA)
    monkeypatch.setattr(login, "_id_token", lambda *_: "an ID token")
    monkeypatch.setattr(login, "_session", session)

    def run(url, *options):
        return CliRunner().invoke(login.log_in, ["--url", url, *options])

    run.given = []
    return run


def test_an_address_that_asks_for_another_service_s_token_gets_none(run):
    """A token is valid wherever its client is: who follows a link to a strange address hands over their own service."""
    ours, strange = "https://remit.example.com", "https://remit.example.net"
    assert run(ours).exit_code == run(ours).exit_code == 0
    refused = run(strange)
    assert refused.exit_code == 1
    assert "valid at https://remit.example.com, too" in refused.output
    assert run.given == [ours, ours]
    assert run(strange, "--new-address").exit_code == 0
    assert run(ours).exit_code == 1
    assert run.given == [ours, ours, strange]


def test_a_file_that_cannot_be_read_forgets_whom_tokens_were_given(run, tmp_path):
    """It is written anew, for its owner only."""
    assert run("https://a.example.com").exit_code == 0
    file = tmp_path / "remit/providers"
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("[1")
    assert run("https://b.example.com").exit_code == 0
    assert run("https://a.example.com").exit_code == 1
