"""Warnings about issuers: each kind once, beside its cure, which is silent."""

import re
from pathlib import Path

import msgspec
import pytest

from app.model.issuers import IssuerFields
from app.policy_tools.lint.issuers import IssuerCode, lint_issuer

PAGE = Path(__file__).parents[2] / "docs/workloads.md"
GITHUB, GITLAB = "https://token.actions.githubusercontent.com", "https://gitlab.com"
ACCOUNT = "system:serviceaccount:payments:refund-bot"


def warned(*matches, issuer="https://cluster.example.com", audience="remit", scopes=("view",), **keys):
    """The codes and places of the warnings about an issuer with a rule for each match."""
    rules = [{"match": match, "scopes": [*scopes]} for match in matches or ({"sub": ACCOUNT},)]
    given = {"issuer": issuer, "audience": audience, "algorithms": ["RS256"], "rules": rules}
    keys = keys or {"jwks": {"keys": [{"kty": "RSA"}]}}
    return [(each.code, each.path) for each in lint_issuer(msgspec.convert({**given, **keys}, IssuerFields))]


SUB, FIRST = "$.rules[0].match.sub", "$.rules[0].match"
KINDS = {
    "an account without a name": ({"sub": "system:serviceaccount:payments"}, {"sub": ACCOUNT}, "never_matches", SUB),
    "a group": ({"sub": "system:serviceaccounts:payments"}, {"sub": ACCOUNT}, "never_matches", SUB),
    "a part too many": ({"sub": f"{ACCOUNT}:x"}, {"sub": ACCOUNT}, "never_matches", SUB),
    "an empty namespace": ({"sub": "system:serviceaccount::x"}, {"sub": ACCOUNT}, "never_matches", SUB),
    "another audience": ({"sub": "a", "aud": "x"}, {"sub": "a", "aud": "remit"}, "never_matches", f"{FIRST}.aud"),
    "another issuer": ({"sub": "a", "iss": "x"}, {"sub": "a"}, "never_matches", f"{FIRST}.iss"),
    "a number": ({"sub": "a", "exp": "1"}, {"sub": "a"}, "never_matches", f"{FIRST}.exp"),
    "an object": ({"kubernetes.io": "x"}, {"sub": "a"}, "never_matches", f"{FIRST}.kubernetes.io"),
    "a claim of people": ({"sub": "a", "nonce": "x"}, {"sub": "a"}, "never_matches", f"{FIRST}.nonce"),
    "all accounts": (
        {"sub": "system:serviceaccount:*"},
        {"sub": "system:serviceaccount:payments:*"},
        "too_wide",
        SUB,
    ),
    "all of a cluster": ({"sub": "system:*"}, {"sub": "system:serviceaccount:payments:*"}, "too_wide", SUB),
    "all repositories": ({"sub": "repo:example/*"}, {"sub": "repo:example/app:*"}, "too_wide", SUB),
    "all owners": ({"sub": "repo:*"}, {"sub": "repo:example/app:*"}, "too_wide", SUB),
    "all of an owner": (
        {"repository": "example/*"},
        {"repository": "example/*", "sub": "repo:example/app:*"},
        "too_wide",
        f"{FIRST}.repository",
    ),
    "all projects": ({"sub": "project_path:team/*"}, {"sub": "project_path:team/app:*"}, "too_wide", SUB),
    "a trust domain": ({"sub": "spiffe://example.org/*"}, {"sub": "spiffe://example.org/ns/*"}, "too_wide", SUB),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_that_is_not_meant_is_warned_of_and_its_cure_is_not(kind):
    """Each with its place."""
    match, cure, code, path = KINDS[kind]
    assert warned(match) == [(code, path)]
    assert warned(cure) == []
    if code == "too_wide":  # a rule that refuses may be as wide as it likes
        assert warned(match, scopes=()) == []


@pytest.mark.parametrize("issuer", [GITHUB, GITLAB])
def test_a_rule_for_everybody_of_a_shared_platform_is_warned_of(issuer):
    """An issuer of one's own signs only for one's own."""
    match = {"ref": "refs/heads/main"}
    assert warned(match, issuer=issuer) == [("matches_anybody", FIRST)]
    assert warned(match) == []
    assert warned(match | {"repository": "example/app"}, issuer=issuer) == []
    assert warned({"repository_owner": "example"}, issuer=issuer) == [("too_wide", f"{FIRST}.repository_owner")]


@pytest.mark.parametrize(
    ("earlier", "later", "is_warned"),
    [
        ({"sub": "a"}, {"sub": "a"}, True),
        ({"sub": "a:*"}, {"sub": "a:b"}, True),
        ({"sub": "a:*"}, {"sub": "a:b:*"}, True),
        ({"sub": "a:*"}, {"sub": "a:*", "ref": "x"}, True),
        ({"sub": "a:b"}, {"sub": "a:*"}, False),
        ({"sub": "a:*"}, {"sub": "a:"}, False),
        ({"sub": "a", "ref": "x"}, {"sub": "a"}, False),
        ({"ref": "x"}, {"sub": "a"}, False),
    ],
)
def test_a_rule_behind_one_that_matches_as_much_is_warned_of(earlier, later, is_warned):
    """It never counts."""
    assert warned(earlier, later) == ([("never_reached", "$.rules[1]")] if is_warned else [])


@pytest.mark.parametrize(
    ("audience", "is_warned"),
    [
        ("https://github.com/example", True),
        ("sts.amazonaws.com", True),
        ("https://kubernetes.default", True),
        ("remit", False),
        ("https://remit.example.com", False),
    ],
)
def test_an_audience_of_other_services_is_warned_of(audience, is_warned):
    """Their tokens would count here."""
    assert warned(audience=audience) == ([("audience_of_others", "$.audience")] if is_warned else [])


def test_keys_at_another_host_are_warned_of():
    """Whoever has that host signs for the issuer; ports and paths are no other host, and no URL has none."""
    elsewhere = [("keys_elsewhere", "$.jwksUri")]
    assert warned(jwksUri="https://keys.example.com/jwks") == elsewhere
    assert warned(jwksUri="https://cluster.example.com:8443/keys") == []
    assert warned(issuer="spire", jwksUri="https://keys.example.com/jwks") == []
    assert warned(jwksUri="https://cluster.example.com.evil.example/keys") == elsewhere


def test_the_page_lists_every_kind():
    """And no other."""
    page = PAGE.read_text().partition("## Warnings")[2].partition("## What")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == {*IssuerCode}
