"""Signing in with a real identity provider: the browser's flow, groups, signing out elsewhere, tokens of programs."""

import json
import re
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from command_line import run_remit
from forked import Forked
from servers import clean_env, free_port
from tenants import in_store

from app.model.api_keys import digest_of
from app.model.times import parse_time_ms
from app.store.keyspace import waiting_sign_in
from tests.identity.parties import Browser, FixedReplica, IdentityProvider, settings_for

pytestmark = [pytest.mark.slow, pytest.mark.stores]


def test_a_person_signs_in_and_has_the_scopes_of_their_groups(remit, idp, browser):
    """In the workspace `default`, at the page they wanted; the trail says who signed in."""
    url = browser.sign_in(
        remit, "ann", to="/console/approvals?status=pending", until=lambda url: "status=pending" in url
    )
    assert url == f"{remit.base_url}/console/approvals?status=pending"
    assert set(browser.jar[f"127.0.0.1:{idp.remit_port}"]) == {"__Host-remit"}
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


def test_every_replica_gives_a_session_what_its_own_settings_give(remit, idp, browser, replica, store):
    """From its first request on: what it takes away needs no other replica, and nothing that is done at its start."""
    browser.sign_in(remit, "bob", until=lambda url: url.endswith("/console"))
    token = browser.jar[f"127.0.0.1:{idp.remit_port}"]["__Host-remit"]

    def ask(asked, path="/v1/session", **body):
        with asked.client(token) as client:
            return client.post(path, json=body) if body else client.get(path)

    assert ask(remit).json()["scopes"] == ["admin"]
    changed = settings_for(idp) | {"REMIT_OIDC_SCOPES": "remit-admins=view", "REMIT_PORT": str(free_port())}
    with_less = FixedReplica(store.url, **changed)
    try:
        left = ask(with_less)
        assert left.json()["scopes"] == ["view"], left.text
        call = {"agent_id": str(uuid.uuid4()), "tool_name": "file.read"}
        assert ask(with_less, "/v1/authorize", **call).status_code == 403
        assert ask(remit, "/v1/authorize", **call).status_code == 404
    finally:
        with_less.stop()
    for path, body in (("/v1/session", {}), ("/v1/authorize", call)):
        refused = ask(replica, path, **body)  # whose settings name no provider
        assert (refused.status_code, "settings of this service" in refused.text) == (401, True)


def sign_out_at(idp, browser):
    """End the browser's session at the provider, which tells the service before it answers."""
    page = browser.send("GET", f"{idp.issuer}/session/end")
    fields = {"xsrf": page.text.partition('name="xsrf" value="')[2].partition('"')[0], "logout": "yes"}
    ended = browser.send("POST", f"{idp.issuer}/session/end/confirm", data=fields)
    assert ended.status_code in (302, 303)


def test_signing_out_at_the_provider_ends_the_sessions(remit, idp, browser, eventually):
    """The provider says so itself, by its back channel; every later request is 401."""
    browser.sign_in(remit, "bob", until=lambda url: url.endswith("/console"))
    assert browser.session(remit).json()["scopes"] == ["admin"]
    sign_out_at(idp, browser)
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
        for same in (token, token[:-1] + chr(ord(token[-1]) ^ 1)):  # whose last bits may stand for nothing
            again = program.post("/v1/session", json=body | {"id_token": same})
            assert (again.status_code, "token" in again.text) == (401, True)
        assert program.get("/v1/sign-in").json() == {
            "provider": {"name": "Example SSO", "issuer": idp.issuer, "cliClientId": "remit-cli"},
            "only": False,
        }


def log_in(remit, tmp_path, *options, **env):
    """`remit login` as it runs, with the environment of the commands after it."""
    env = clean_env() | {"XDG_CONFIG_HOME": str(tmp_path), "REMIT_URL": remit.base_url, **env}
    command = [sys.executable, "-m", "app.cli", "login", *options]
    return Forked(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE), env


def test_commands_are_made_as_the_person_who_logged_in(remit, idp, browser, tmp_path):
    """With the device flow; the session is in a file that only its owner may read, and is gone after the logout."""
    login, env = log_in(remit, tmp_path)
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


@pytest.mark.parametrize(("options", "said"), [([], "default, payments; give --workspace"), (["payments"], "policies")])
def test_a_command_names_the_workspace_of_somebody_with_several(remit, browser, payments, tmp_path, options, said):
    """In a terminal it asks; elsewhere it says which there are."""
    login, _ = log_in(remit, tmp_path, *[each for name in options for each in ("--workspace", name)])
    asked = login.stderr.readline().decode() + login.stderr.readline().decode()
    browser.login = "pat"
    browser.follow(browser.send("GET", re.search(r"or open (\S+)", asked)[1]))
    with login.stdout, login.stderr:
        assert said in login.stdout.read().decode() + login.stderr.read().decode()
    assert login.wait(30) == (0 if options else 1)


@pytest.fixture(scope="module")
def without_device_flow(installed, store):
    """A service whose provider has only the flow of browsers."""
    idp = IdentityProvider(installed, free_port(), device="")
    running = FixedReplica(store.url, **settings_for(idp))
    yield running
    running.stop()
    idp.stop()


def test_without_the_device_flow_a_browser_on_this_machine_signs_in(without_device_flow, browser, tmp_path):
    """RFC 8252: PKCE, a port of 127.0.0.1, and one answer, of this request; whatever else arrives changes nothing."""
    login, env = log_in(without_device_flow, tmp_path, BROWSER="true")
    url = re.search(r"Open (\S+)", login.stderr.readline().decode())[1]
    asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    here = asked["redirect_uri"]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d{4,5}/callback", here)
    assert (asked["code_challenge_method"], asked["client_id"]) == ("S256", "remit-cli")
    state, host = {"state": asked["state"], "code": "stolen"}, {"Host": "evil.example"}
    with httpx.Client(timeout=20) as stranger:
        refused = [
            stranger.get(here),
            stranger.get(here, params={"code": "x", "state": "x"}),
            stranger.get(here, params=state | {"state": "é"}),
            stranger.get(here, params=state, headers=host),
            stranger.get(f"{here}x", params=state),
            stranger.get(f"{here}?state={asked['state']}&state={asked['state']}&code=x"),
            stranger.post(here, params=state),
        ]
        assert {each.status_code for each in refused} == {400, 501}
        assert not any("location" in each.headers or "evil" in each.text for each in refused)
    browser.login = "ann"
    page = browser.follow(browser.send("GET", url))
    assert (page.status_code, "location" in page.headers) == (200, False)
    assert "form-action 'none'" in page.headers["content-security-policy"]
    with login.stdout, login.stderr:
        said = login.stdout.read().decode()
        assert said.startswith("signed in as ann <b>of</b> Example (approve, view) until "), login.stderr.read()
    assert login.wait(30) == 0
    assert "session with approve, view" in run_remit(["whoami"], env).stdout
    with pytest.raises(httpx.ConnectError):
        httpx.get(here, params=state)


def choice(remit, browser, to="/console"):
    """The form on which somebody with two workspaces chooses: its page, and its code."""
    page = browser.send("GET", browser.sign_in(remit, "pat", to, until=lambda url: "/console/callback?" in url))
    return page, re.search(r'name="code" value="([0-9a-f]{32})"', page.text)[1]


def test_a_choice_of_a_workspace_works_once_in_its_browser_from_its_page(remit, idp, browser, payments):
    """As the answer of the provider does: nobody else chooses, and nobody chooses what their groups do not have."""
    url, same = f"{remit.base_url}/console/workspace", {"Sec-Fetch-Site": "same-origin"}
    page, code = choice(remit, browser, "/console/agents")
    assert (page.status_code, "form-action 'self'" in page.headers["content-security-policy"]) == (200, True)
    assert re.findall(r'name="workspace" value="(\w+)"', page.text) == ["default", payments]
    assert "<script" not in page.text
    form = {"code": code, "workspace": payments}
    host = f"127.0.0.1:{idp.remit_port}"
    flow = dict(browser.jar[host])
    for headers in ({}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}, {"Origin": "null"}):
        foreign = browser.send("POST", url, data=form, headers=headers)
        assert (foreign.status_code, "set-cookie" in foreign.headers) == (403, False)
    with httpx.Client(headers=same) as other:
        assert other.post(url, data=form).status_code == 401
        redeemed = other.post(f"{remit.base_url}/v1/session", json={"code": code, "transport": "bearer"})
        assert redeemed.status_code == 401
    for wrong in ({"code": "0" * 32}, {"code": ["a", "b"]}, {"workspace": [payments, "default"]}, {"code": "x" * 5000}):
        assert browser.send("POST", url, data=form | wrong, headers=same).status_code in (400, 401, 413)
    made = browser.send("POST", url, data=form, headers={"Origin": remit.base_url})
    assert (made.status_code, made.headers["location"]) == (303, "/console/agents")
    assert browser.session(remit).json()["workspace"]["name"] == payments
    browser.jar[host] = flow
    assert browser.send("POST", url, data=form, headers=same).status_code == 401
    _, code = choice(remit, browser)
    strange = browser.send("POST", url, data={"code": code, "workspace": "another"}, headers=same)
    assert (strange.status_code, "No group of yours has access there" in strange.text) == (403, True)


def test_a_choice_of_a_workspace_ends_with_its_provider(remit, browser, payments, store):
    """A page left open over a start with another provider does not sign in as a person of the new one."""
    _, code = choice(remit, browser)

    async def age(client):
        key = waiting_sign_in(digest_of(code))
        waiting = json.loads(await client.call("GET", key))
        waiting["claims"]["iss"] = "https://former.example.com"
        await client.call("SET", key, json.dumps(waiting), "KEEPTTL")

    in_store(store.url, age)
    form = {"code": code, "workspace": payments}
    same = {"Sec-Fetch-Site": "same-origin"}
    refused = browser.send("POST", f"{remit.base_url}/console/workspace", data=form, headers=same)
    assert (refused.status_code, "iss is not" in refused.text) == (401, True)
    assert browser.session(remit).status_code == 401


def test_a_choice_of_a_workspace_ends_with_a_logout_at_the_provider(remit, idp, browser, payments, eventually):
    """A page left open does not sign in again afterwards; a new sign-in does, and another session of the provider."""
    other = Browser()

    def chosen(by, code):
        same = {"Sec-Fetch-Site": "same-origin"}
        return by.send(
            "POST", f"{remit.base_url}/console/workspace", data={"code": code, "workspace": payments}, headers=same
        )

    assert chosen(browser, choice(remit, browser)[1]).status_code == 303
    (_, code), (_, others) = choice(remit, browser), choice(remit, other)
    sign_out_at(idp, browser)
    eventually(lambda: browser.session(remit).status_code == 401)
    refused = chosen(browser, code)
    assert (refused.status_code, "signed out at the identity provider" in refused.text) == (401, True)
    assert chosen(other, others).status_code == 303
    assert chosen(browser, choice(remit, browser)[1]).status_code == 303
    other.close()


def test_a_token_that_an_address_shows_signs_nobody_in(remit, idp, browser, store):
    """The ID token with which a browser signs out, also where programs and browsers are one client."""
    browser.sign_in(remit, "bob", until=lambda url: url.endswith("/console"))
    ended = browser.send("DELETE", f"{remit.base_url}/v1/session", headers={"Sec-Fetch-Site": "same-origin"})
    token = parse_qs(urlsplit(ended.json()["providerUrl"]).query)["id_token_hint"][0]
    settings = settings_for(idp) | {"REMIT_PORT": str(free_port()), "REMIT_OIDC_CLI_CLIENT_ID": "remit"}
    one_client = FixedReplica(store.url, **settings)
    answer = httpx.post(f"{one_client.base_url}/v1/session", json={"id_token": token, "transport": "bearer"})
    one_client.stop()
    assert (answer.status_code, "was used before" in answer.text) == (401, True)


def test_a_cookie_of_a_subdomain_is_not_taken_for_the_services(remit, browser):
    """Its name would not begin with `__Host-` to a browser, which then lets any subdomain set it."""
    browser.sign_in(remit, "ann", until=lambda url: url.endswith("/console"))
    [token] = browser.jar[urlsplit(remit.base_url).netloc].values()
    for white in (b"\xa0", b"\x85", b"\x0b"):
        tossed = [(b"Cookie", white + b"__Host-remit=" + token.encode())]
        with suppress(httpx.HTTPError):  # or it is no header at all
            assert httpx.get(f"{remit.base_url}/v1/session", headers=tossed).status_code in (400, 401)


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
    first_tab = browser.sign_in(remit, "ann", until=lambda url: "/console/callback?" in url)
    third = browser.sign_in(remit, "ann", until=lambda url: "/console/callback?" in url)
    flow = dict(browser.jar[f"127.0.0.1:{idp.remit_port}"])
    for other in (first_tab, third.replace("state=", "state=x")):
        wrong = browser.send("GET", other)
        assert (wrong.status_code, "state is not" in wrong.text) == (401, True)
    assert browser.send("GET", third).status_code == 303  # which the others did not end
    browser.jar[f"127.0.0.1:{idp.remit_port}"] = flow
    replayed = browser.send("GET", third)
    assert (replayed.status_code, "__Host-remit=ses" in replayed.headers.get("set-cookie", "")) == (401, False)


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
