"""The console's sign-in in a real browser, with a real provider on another site."""

from urllib.parse import parse_qs, urlsplit

import pytest
from servers import free_port

from tests.console.browsing import PATIENCE_MS, until
from tests.identity.parties import FixedReplica, IdentityProvider, settings_for

pytestmark = [pytest.mark.slow, pytest.mark.stores]
STAYS_OUT = "Your session has ended"


class Person:
    """A page in a browser of its own, at the service or at the provider; it keeps every address that it was at."""

    def __init__(self, browsing, remit, idp):
        self.remit, self.idp = remit, idp
        self.visitor = browsing.visit(remit.base_url)
        self.page, self.been = self.visitor.page, []
        self.page.on("request", lambda request: self.been.append(request.url))

    def sign_in(self, login, at="/console"):
        """Sign in from this screen, up to the page that comes back."""
        self.page.goto(self.remit.base_url + at)
        self.page.get_by_role("link", name="Sign in with Example SSO").click()
        self.at_the_provider(login)

    def at_the_provider(self, login):
        self.page.get_by_placeholder("Enter any login").fill(login)
        self.page.get_by_placeholder("and password").fill("x")
        self.page.get_by_role("button", name="Sign-in").click()
        if "interaction" in self.page.url:
            self.page.get_by_role("button", name="Continue").click()

    def is_in(self):
        self.page.get_by_role("navigation", name="Screens").wait_for(timeout=PATIENCE_MS)

    def forbidden(self):
        """What a page of the service asked for and its policy refused."""
        return [each for each in self.visitor.faults if "Content Security Policy" in each]

    def asked(self, path):
        """The queries with which an address was asked for."""
        return [parse_qs(urlsplit(url).query) for url in self.been if urlsplit(url).path == path]


@pytest.fixture
def person(browsing, remit, idp):
    made = Person(browsing, remit, idp)
    yield made
    made.visitor.close()


def test_the_button_leads_to_the_provider_and_back_to_the_page_that_was_asked_for(person, remit):
    """Code, PKCE, nonce, state and iss; nothing of it stays in the address, and no script can read the session."""
    asked_for = "/console/decisions?tool_name=file.*&result=denied"
    person.sign_in("ann", asked_for)
    person.is_in()
    assert person.page.url == remit.base_url + asked_for
    [sent] = [each for each in person.asked("/auth") if "client_id" in each]
    assert (sent["response_type"], sent["code_challenge_method"]) == (["code"], ["S256"])
    assert {len(sent[name][0]) for name in ("state", "nonce", "code_challenge")} == {43}
    assert "offline_access" not in sent["scope"][0]
    [back] = person.asked("/console/callback")
    assert (back["state"], back["iss"], set(back)) == (sent["state"], [person.idp.issuer], {"state", "iss", "code"})
    assert person.page.evaluate("document.cookie") == ""
    assert {each["name"] for each in person.page.context.cookies(remit.base_url)} == {"__Host-remit"}
    assert person.forbidden() == []


def test_signing_out_signs_out_at_the_provider_too(person, remit, idp):
    """With the ID token of the sign-in, the provider knows whom; the next sign-in asks for credentials again."""
    person.sign_in("bob")
    person.is_in()
    person.page.locator(".account summary").click()
    person.page.get_by_role("button", name="Sign out").click()
    person.page.get_by_role("button", name="Yes, sign me out").click()
    person.page.get_by_role("heading", name="Sign in to Remit").wait_for()
    [asked] = person.asked("/session/end")
    assert (asked["client_id"], asked["post_logout_redirect_uri"]) == (["remit"], [f"{remit.base_url}/console"])
    assert asked["id_token_hint"][0].count(".") == 2
    person.page.get_by_role("link", name="Sign in with Example SSO").click()
    person.page.get_by_placeholder("Enter any login").wait_for()


def test_signing_out_at_the_provider_closes_an_open_console(person, idp):
    """The provider says so itself; the page that is open asks for a new sign-in, without having been touched."""
    person.sign_in("bob", "/console/approvals")
    person.is_in()
    elsewhere = person.visitor.new_page()
    elsewhere.goto(f"{idp.issuer}/session/end")
    elsewhere.get_by_role("button", name="Yes, sign me out").click()
    person.page.get_by_role("heading", name=STAYS_OUT).wait_for(timeout=PATIENCE_MS)
    back = urlsplit(person.page.get_by_role("link", name="Sign in with Example SSO").get_attribute("href"))
    assert parse_qs(back.query) == {"to": ["/console/approvals"], "workspace": ["default"]}


def test_somebody_with_several_workspaces_chooses_one(person, remit, payments):
    """On a page without a script; the session is of that one, and the console goes on where they wanted."""
    person.sign_in("pat", "/console/policies")
    person.page.get_by_role("heading", name="Choose a workspace").wait_for()
    assert person.page.locator("script").count() == 0
    person.page.get_by_role("button", name=payments).click()
    person.is_in()
    assert person.page.url == f"{remit.base_url}/console/policies"
    me = person.page.evaluate("fetch('/v1/session').then((answer) => answer.json())")
    assert (me["workspace"]["name"], me["scopes"], me["person"]["groups"]) == (
        payments,
        ["policies", "view"],
        ["payments-ops", "remit-approvers"],
    )
    assert person.forbidden() == []


@pytest.fixture(scope="module")
def strict(installed, store):
    """A service whose people sign in with the provider only, and sign out here only."""
    idp = IdentityProvider(installed, free_port())
    running = FixedReplica(store.url, **settings_for(idp), REMIT_OIDC_ONLY="true", REMIT_OIDC_END_SESSION="false")
    running.idp = idp
    yield running
    running.stop()
    idp.stop()


def test_where_people_sign_in_with_the_provider_only_there_is_no_form_for_keys(browsing, strict):
    """Nor does the service take one from a browser; programs use theirs, and signing out stays here."""
    person = Person(browsing, strict, strict.idp)
    person.sign_in("bob")
    person.is_in()
    assert "id_token" not in str(person.page.context.cookies())
    person.page.locator(".account summary").click()
    person.page.get_by_role("button", name="Sign out").click()
    person.page.get_by_role("heading", name="Sign in to Remit").wait_for()
    assert person.asked("/session/end") == []
    person.page.get_by_role("link", name="Sign in with Example SSO").wait_for()
    assert person.page.get_by_label("API key").count() == 0
    assert person.page.get_by_text("Use an API key").count() == 0
    person.visitor.close()
    with strict.client() as program:
        key = program.headers["authorization"].removeprefix("Bearer ")
        assert program.get("/v1/agents").status_code == 200
        body = {"key": key, "transport": "bearer"}
        assert program.post("/v1/session", json=body, headers={"Authorization": ""}).status_code == 201
        same = {"Sec-Fetch-Site": "same-origin", "Authorization": ""}
        refused = program.post("/v1/session", json={"key": key}, headers=same)
        assert (refused.status_code, "REMIT_OIDC_ONLY" in refused.text) == (400, True)
        assert "set-cookie" not in refused.headers


def test_with_a_provider_the_form_for_keys_opens_at_a_click(person):
    """Keys go on working where the setting does not forbid them."""
    person.page.goto(f"{person.remit.base_url}/console")
    person.page.get_by_text("Use an API key").click()
    with person.remit.client() as admin:
        person.page.get_by_label("API key").fill(admin.headers["authorization"].removeprefix("Bearer "))
    person.page.get_by_role("button", name="Sign in").click()
    person.is_in()
    until(person.page, "!document.querySelector('.sign-in')")
