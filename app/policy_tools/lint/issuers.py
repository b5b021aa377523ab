"""Warnings about an issuer of workload tokens: rules that are valid but probably not meant."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from urllib.parse import urlsplit

from msgspec import UNSET, Struct

from app.model.issuers import IssuerFields, IssuerRule

_SHARED = ("https://token.actions.githubusercontent.com", "https://gitlab.com")
"""Issuers that sign tokens for everybody."""
_OF_A_JOB = ("sub", "repository", "repository_id", "project_path", "project_id", "job_workflow_ref", "job_workflow_sha")
"""Claims that say, on such a platform, whose token it is."""
_OF_AN_OWNER = ("repository_owner", "repository_owner_id", "namespace_path", "namespace_id")
_NO_TEXTS = ("exp", "iat", "nbf", "auth_time", "amr", "kubernetes.io", "email_verified", "groups")
_REFUSED = ("nonce", "at_hash", "c_hash")
_OTHERS = ("sts.amazonaws.com", "api://AzureADTokenExchange", "vault", "kubernetes", "sigstore")
"""Audiences that platforms and other services use, or that tokens have unless somebody says otherwise."""
_SUBJECT, _GROUPS, _PARTS = "system:serviceaccount:", "system:serviceaccounts", 4


class IssuerCode(StrEnum):
    """Kinds of warnings about issuers. Kinds may be added; their meanings do not change."""

    NEVER_MATCHES = "never_matches"
    NEVER_REACHED = "never_reached"
    MATCHES_ANYBODY = "matches_anybody"
    TOO_WIDE = "too_wide"
    AUDIENCE_OF_OTHERS = "audience_of_others"
    KEYS_ELSEWHERE = "keys_elsewhere"


class IssuerWarning(Struct, frozen=True):
    """Something that an issuer lets in, or does not, and that its author may not have meant.

    code: For programs.
    path: Where: a JSON path below the issuer, such as `$.rules[0].match.sub`.
    message: For people: what happens, and what would be right.
    """

    code: IssuerCode
    path: str
    message: str


def lint_issuer(issuer: IssuerFields) -> list[IssuerWarning]:
    """The warnings about an issuer, in the order of its fields."""
    return [*_about_audience(issuer), *_about_keys(issuer), *_about_rules(issuer)]


def _about_audience(issuer: IssuerFields) -> Iterator[IssuerWarning]:
    audience = issuer.audience
    if audience.startswith("https://github.com/") or audience in _OTHERS or "kubernetes.default" in audience:
        message = (
            f'"{audience}" is the audience of tokens for another service, or of those for which nobody chose one, so '
            "whoever gets such a token can use it here; have tokens issued for an audience of their own, such as remit"
        )
        yield IssuerWarning(IssuerCode.AUDIENCE_OF_OTHERS, "$.audience", message)


def _about_keys(issuer: IssuerFields) -> Iterator[IssuerWarning]:
    if issuer.jwks_uri is UNSET:
        return
    own, keys = _host_of(issuer.issuer), _host_of(issuer.jwks_uri)
    if own and keys != own:
        message = (
            f"the keys are at {keys}, and the issuer is {own}: whoever has {keys} can sign for it; take jwks_uri from "
            f"{issuer.issuer.rstrip('/')}/.well-known/openid-configuration"
        )
        yield IssuerWarning(IssuerCode.KEYS_ELSEWHERE, "$.jwksUri", message)


def _about_rules(issuer: IssuerFields) -> Iterator[IssuerWarning]:
    for index, rule in enumerate(issuer.rules):
        path = f"$.rules[{index}]"
        never = [*_never_matches(issuer, path, rule)]
        yield from never
        if never:
            continue
        earlier = next((each for each in range(index) if _is_within(rule.match, issuer.rules[each].match)), None)
        if earlier is not None:
            message = (
                f"$.rules[{earlier}] matches every token that this rule matches, and comes first, so this rule never "
                "counts; put it in front, or remove it"
            )
            yield IssuerWarning(IssuerCode.NEVER_REACHED, path, message)
        if rule.scopes:
            yield from _too_wide(issuer, path, rule)


def _never_matches(issuer: IssuerFields, path: str, rule: IssuerRule) -> Iterator[IssuerWarning]:
    fixed = {"iss": issuer.issuer, "aud": issuer.audience}
    for claim, value in rule.match.items():
        if claim in fixed and not _is_one_within(fixed[claim], value):
            why = f"every token has {claim} = {fixed[claim]}; leave {claim} out"
        elif claim in _NO_TEXTS:
            why = f"{claim} is not a text, and only texts match; match another claim"
        elif claim in _REFUSED:
            why = f"tokens with {claim} are of people, and refused; match another claim"
        elif claim == "sub" and value.startswith(_GROUPS):
            why = f"this names a group; a service account is {_SUBJECT}<namespace>:<name>"
        elif claim == "sub" and value.startswith(_SUBJECT) and not _is_kubernetes_subject(value):
            why = (
                f"a service account is {_SUBJECT}<namespace>:<name>, or {_SUBJECT}<namespace>:* for all of a namespace"
            )
        else:
            continue
        yield IssuerWarning(IssuerCode.NEVER_MATCHES, f"{path}.match.{claim}", f"no token matches: {why}")


def _too_wide(issuer: IssuerFields, path: str, rule: IssuerRule) -> Iterator[IssuerWarning]:
    whose = {claim: value for claim, value in rule.match.items() if claim in _OF_A_JOB}
    if issuer.issuer.rstrip("/") in _SHARED and not whose and (owner := _owner_in(rule)):
        message = f"this matches every repository of the owner, also those that are made tomorrow; add {_OF_A_JOB[1]}"
        yield IssuerWarning(IssuerCode.TOO_WIDE, f"{path}.match.{owner}", message)
    elif issuer.issuer.rstrip("/") in _SHARED and not whose:
        message = (
            f"everybody's tokens are of this issuer, and nothing in the rule says whose it means; add one of "
            f"{', '.join(_OF_A_JOB[1:4])}"
        )
        yield IssuerWarning(IssuerCode.MATCHES_ANYBODY, f"{path}.match", message)
    wide = {claim: what for claim, value in whose.items() if (what := _wide(claim, value))}
    if len(wide) == len(whose):  # nothing else says more exactly whose token it is
        for claim, (found, cure) in wide.items():
            message = f'"{rule.match[claim]}" matches {found}, also those that are made tomorrow; name {cure}'
            yield IssuerWarning(IssuerCode.TOO_WIDE, f"{path}.match.{claim}", message)


def _owner_in(rule: IssuerRule) -> str | None:
    return next((claim for claim in rule.match if claim in _OF_AN_OWNER), None)


def _wide(claim: str, value: str) -> tuple[str, str] | None:
    """What a value with a star lets in that is hardly meant, and what to name instead."""
    if not value.endswith("*"):
        return None
    kind, _, rest = value[:-2].partition(":")
    if claim == "sub" and value in ("system:*", f"{_SUBJECT}*"):
        return "the service accounts of every namespace", f"a namespace: {_SUBJECT}<namespace>:*"
    if claim == "sub" and value.startswith("spiffe:"):
        is_all = "/" not in value[len("spiffe://") : -2]
        return ("every workload of the trust domain", "a path below it") if is_all else None
    if claim == "sub" and kind in ("repo", "project_path"):
        is_all = "/" not in rest and ":" not in rest
        return ("every repository of the owner", f"one: {kind}:<owner>/<name>:*") if is_all else None
    if claim in ("repository", "project_path"):
        return ("every repository of the owner", "one: <owner>/<name>") if "/" not in value[:-2] else None
    return None


def _is_kubernetes_subject(value: str) -> bool:
    """True if a service account can have this as its name, or a name that begins so."""
    parts = value.split(":")
    return all(parts) and (value == f"{_SUBJECT}*" or len(parts) == _PARTS)


def _is_within(narrow: Mapping[str, str], wide: Mapping[str, str]) -> bool:
    """True if every token that the one matches, the other matches too."""
    return all(claim in narrow and _is_one_within(narrow[claim], value) for claim, value in wide.items())


def _is_one_within(narrow: str, wide: str) -> bool:
    if not wide.endswith("*"):
        return narrow == wide
    return narrow.startswith(wide[:-1]) and narrow != wide[:-1]


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
