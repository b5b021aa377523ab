"""Signing in with a real identity provider: the browser's flow, groups, signing out elsewhere, tokens of programs."""

import re
import subprocess
import sys
import time
import uuid

import httpx
import pytest
from command_line import run_remit
from forked import Forked
from servers import clean_env

from app.model.times import parse_time_ms

pytestmark = [pytest.mark.slow, pytest.mark.stores]
SAME = {"Sec-Fetch-Site": "same-origin"}


def test_a_person_signs_in_and_has_the_scopes_of_their_groups(remit, idp, browser):
    """In the workspace `default`, at the page they wanted; the trail says who signed in."""
    url = browser.sign_in(
        remit, "ann", to="/console/approvals?status=pending", until=lambda url: "status=pending" in url
    )
    assert url == f"{remit.base_url}/console/approvals?status=pending"
    assert set(browser.jar[f"127.0.0.1:{idp.remit_port}"]) == {"__Host-remit", "__Host-remit-flow"}
    me = browser.session(remit).json()
    assert (me["scopes"], me["via"], me["workspace"]["name"]) == (["approve", "view"], "console", "default")
    person = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{idp.issuer} ann"))
    assert me["person"] == {"id": person, "groups": ["remit-approvers", "staff"]}
    assert me["name"] == "ann <b>of</b> Example"
    with remit.client() as admin:
        [first, *_] = admin.get("/v1/changes", params={"actor_id": person}).json()
        assert (first["kind"], first["resourceType"], first["actorName"]) == ("created", "session", me["name"])
        assert first["after"]["groups"] == ["remit-approvers", "staff"]


def test_whoever_signs_in_afresh_shows_credentials_again(remit, browser):
    """With max_age; the session says when that was. Without it, the provider may remember them for long."""
    browser.sign_in(remit, "ann", until=lambda url: url.endswith("/console"))
    assert "authenticatedAt" not in browser.session(remit).json()["person"]
    answer = browser.send("GET", f"{remit.base_url}/console/sign-in?to=/console&max_age=0")
    assert "max_age=0" in answer.headers["location"]
    asked_again = browser.follow(answer, until=lambda url: "/interaction/" in url)
    assert "/interaction/" in asked_again
    browser.follow(browser.send("GET", asked_again), until=lambda url: url.endswith("/console"))
    seen_s = parse_time_ms(browser.session(remit).json()["person"]["authenticatedAt"]) / 1000
    assert abs(seen_s - time.time()) < 60
    for age in ("-1", "28801x", "99999", "1e3", "٣"):
        assert browser.send("GET", f"{remit.base_url}/console/sign-in", params={"max_age": age}).status_code == 400


def test_somebody_without_a_group_is_told_which_groups_were_seen(remit, browser):
    """And has no session; what the provider says is text."""
    page = browser.sign_in(remit, "eve")
    assert page.status_code == 403
    assert "No group of yours has access here; your groups: strangers" in page.text
    assert browser.session(remit).status_code == 401


def test_signing_out_at_the_provider_ends_the_sessions(remit, idp, browser, eventually):
    """The provider says so itself, by its back channel; every later request is 401."""
    browser.sign_in(remit, "bob", until=lambda url: url.endswith("/console"))
    assert browser.session(remit).json()["scopes"] == ["admin"]
    page = browser.send("GET", f"{idp.issuer}/session/end")
    fields = {"xsrf": page.text.partition('name="xsrf" value="')[2].partition('"')[0], "logout": "yes"}
    ended = browser.send("POST", f"{idp.issuer}/session/end/confirm", data=fields)
    assert ended.status_code in (302, 303)
    eventually(lambda: browser.session(remit).status_code == 401)
    with remit.client() as admin:
        last = admin.get("/v1/changes", params={"resource_type": "session"}).json()[0]
        assert (last["kind"], last["reason"]) == ("deleted", "signed out at the identity provider")


def test_a_program_signs_in_with_the_device_flow(remit, idp, browser):
    """The ID token goes to the service once; only for its own client, and only while it is fresh."""
    with httpx.Client(base_url=idp.issuer) as device:
        asked = device.post("/device/auth", data={"client_id": "remit-cli", "scope": "openid profile groups"}).json()
        browser.login = "ann"
        page = browser.send("GET", asked["verification_uri_complete"])
        browser.follow(page)
        form = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": asked["device_code"]}
        answer = device.post("/token", data=form | {"client_id": "remit-cli"})
        token = answer.json()["id_token"]
    body = {"id_token": token, "transport": "bearer"}
    with httpx.Client(base_url=remit.base_url) as program:
        made = program.post("/v1/session", json=body)
        assert made.status_code == 201, made.text
        assert (made.json()["via"], made.json()["scopes"]) == ("cli", ["approve", "view"])
        me = program.get("/v1/session", headers={"Authorization": f"Bearer {made.json()['token']}"}).json()
        assert me["person"]["groups"] == ["remit-approvers", "staff"]
        elsewhere = program.post("/v1/session", json=body | {"workspace": "payments"})
        assert elsewhere.json()["error"]["code"] == "NO_ACCESS"
        assert program.get("/v1/sign-in").json() == {
            "provider": {"name": "Example SSO", "issuer": idp.issuer, "cliClientId": "remit-cli"}
        }


def test_commands_are_made_as_the_person_who_logged_in(remit, idp, browser, tmp_path):
    """With the device flow; the session is in a file that only its owner may read, and is gone after the logout."""
    env = clean_env() | {"XDG_CONFIG_HOME": str(tmp_path), "REMIT_URL": remit.base_url}
    login = Forked([sys.executable, "-m", "app.cli", "login"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    asked = login.stderr.readline().decode() + login.stderr.readline().decode()
    browser.login = "ann"
    browser.follow(browser.send("GET", re.search(r"or open (\S+)", asked)[1]))
    with login.stdout, login.stderr:
        assert login.stdout.read().decode().startswith("signed in as ann <b>of</b> Example (approve, view) until ")
    assert login.wait(30) == 0
    assert (tmp_path / "remit/session").stat().st_mode & 0o777 == 0o600
    assert "session with approve, view; ends 20" in run_remit(["whoami"], env).stdout
    assert run_remit(["approvals", "list", "--json"], env).returncode == 0
    elsewhere = run_remit(["whoami", "--url", "http://127.0.0.1:1"], env)
    assert (elsewhere.returncode, "nobody has signed in" in elsewhere.stderr) == (2, True)
    assert run_remit(["logout"], env).stdout == f"signed out of {remit.base_url}\n"
    assert not (tmp_path / "remit/session").exists()
    again = run_remit(["logout"], env)
    assert (again.returncode, "Nobody is signed in" in again.stderr) == (1, True)


@pytest.mark.parametrize(
    "to",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/docs",
        "/console/..//evil",
        "/console/%0d%0aSet-Cookie:x",
    ],
)
def test_nobody_is_led_elsewhere_after_signing_in(remit, browser, to):
    """Only to paths of the console (RFC 9700, 4.11)."""
    answer = browser.send("GET", f"{remit.base_url}/console/sign-in", params={"to": to})
    if answer.status_code == 302:
        browser.login = "bob"
        url = browser.follow(answer, until=lambda url: url.startswith(remit.base_url) and "/callback" not in url)
        assert url.startswith(f"{remit.base_url}/console")
    else:
        assert answer.status_code == 400


def test_an_answer_works_in_the_browser_that_asked_and_once(remit, idp, browser):
    """A code that an attacker got for himself, or saw, signs nobody in (RFC 9700, 4.4, 4.5, 4.7)."""
    url = browser.sign_in(remit, "ann", until=lambda url: "/console/callback?" in url)
    with httpx.Client() as other:
        stranger = other.get(url)
        assert (stranger.status_code, "This browser has not begun to sign in" in stranger.text) == (401, True)
        assert "__Host-remit=ses" not in stranger.headers.get("set-cookie", "")
    mixed = browser.send("GET", url.replace("iss=", "iss=https%3A%2F%2Fevil.example&x="))
    assert (mixed.status_code, "iss is not" in mixed.text) == (401, True)
    again = browser.sign_in(remit, "ann", until=lambda url: "/console/callback?" in url)
    wrong = browser.send("GET", again.replace("state=", "state=x"))
    assert (wrong.status_code, "state is not" in wrong.text) == (401, True)
    third = browser.sign_in(remit, "ann", until=lambda url: "/console/callback?" in url)
    flow = dict(browser.jar[f"127.0.0.1:{idp.remit_port}"])
    assert browser.send("GET", third).status_code == 302
    browser.jar[f"127.0.0.1:{idp.remit_port}"] = flow
    replayed = browser.send("GET", third)
    assert (replayed.status_code, "__Host-remit=ses" in replayed.headers.get("set-cookie", "")) == (503, False)


def test_no_answer_of_the_provider_signs_in_twice_given_fields(remit, browser):
    """Two programs would read two values."""
    browser.sign_in(remit, "ann", until=lambda url: "/console/callback?" in url)
    for query in ("code=a&code=b&state=x", "state=a&state=b", "error=%3Cscript%3E&state=x"):
        answer = browser.send("GET", f"{remit.base_url}/console/callback?{query}")
        assert answer.status_code in (400, 401)
        assert "<script" not in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_session_lives_on_while_the_provider_is_down(remit, idp, browser):
    """Nobody new can sign in, and is told so; those who are in notice nothing."""
    browser.sign_in(remit, "ann", until=lambda url: url.endswith("/console"))
    url = browser.sign_in(remit, "ann", until=lambda url: "/console/callback?" in url)
    idp.stop()
    try:
        assert browser.session(remit).status_code == 200
        page = browser.send("GET", url)
        assert (page.status_code, "The identity provider gave no answer" in page.text) == (503, True)
        assert browser.session(remit).status_code == 200
    finally:
        idp.start()
