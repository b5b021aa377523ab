"""What reads bytes that anybody may send. A target returns; whatever it raises nobody thought of.

Each takes bytes, lets our own refusals pass, and looks at what it got where it got something.
"""

from collections.abc import Callable
from types import SimpleNamespace

import msgspec

from app.errors import AppError, Detail
from app.http.api.agents import CreateAgent, UpdateAgent
from app.http.api.api_keys import CreateApiKey
from app.http.api.authorize import read_call
from app.http.api.policies import CreatePolicy, UpdatePolicy
from app.http.bodies import decode_body
from app.http.headers import AUTHORIZATION, provide_if_match, raw_key_of, single_headers
from app.http.problems import encode_error
from app.http.queries import decode_query
from app.http.routes import ENDPOINTS
from app.http.tool_calls import Reading
from app.language.schemas.patterns import compile_regex
from app.model.agents import Agent, is_alias
from app.model.api_keys import is_raw_key
from app.model.checkpoints import Checkpoint
from app.model.counting import quota_fingerprints
from app.model.decisions import AuthorizeRequest, Result
from app.model.ids import uuid_of
from app.model.policies import Policy
from app.model.rules import PolicyRule
from app.model.times import parse_time_ms, rfc3339
from app.pdp import compile_agent, decide
from app.redaction.recording import MAX_RECORDED_BYTES
from app.redaction.redactor import Redactor
from app.runtime.fairness.auth_failures import AuthFailures
from app.settings import Settings

_REDACTOR = Redactor(Settings().redact.split(","))
_AGENT = Agent(id="a", name="a", created_ms=0, updated_ms=0, version="v")
_PROXIES = Settings(trusted_proxies="10.0.0.0/8,fd00::/8").proxies
_rules = msgspec.json.Decoder(tuple[PolicyRule, ...])


def _refusal(error: AppError) -> None:
    """Our own refusals are 4xx, and can be sent."""
    assert 400 <= error.status < 500, error
    assert all(isinstance(detail, Detail) for detail in error.details)
    assert len(encode_error(error)) < 16_384, "an answer that repeats what was sent"


def _sentence(error: ValueError) -> None:
    """What a refused value is told."""
    assert 0 < len(str(error)) < 1_000, error


def tool_call(raw: bytes) -> None:
    """The body of POST /v1/authorize."""
    try:
        request = read_call(raw, Reading(_REDACTOR, "w"))
    except AppError as error:
        return _refusal(error)
    assert uuid_of(request.agent_id) == request.agent_id or is_alias(request.agent_id)
    assert len(request.recorded_parameters) <= MAX_RECORDED_BYTES
    assert isinstance(msgspec.json.decode(request.recorded_parameters), dict)
    return None


def policy(raw: bytes) -> None:
    """The body of POST /v1/policies: what is taken can be stored, read back and decided by."""
    try:
        body = decode_body(raw, CreatePolicy)
    except AppError as error:
        return _refusal(error)
    return _use(tuple(body.rules))


def rules(raw: bytes) -> None:
    """Rules alone, so that a fuzzer finds its way into them."""
    return policy(b'{"agent_id":"00000000-0000-7000-8000-000000000000","name":"n","rules":%b}' % raw)


def _use(given: tuple[PolicyRule, ...]) -> None:
    stored = msgspec.json.encode(given)
    held = _rules.decode(stored)
    assert msgspec.json.encode(held) == stored
    assert quota_fingerprints(held) == quota_fingerprints(given)
    made = Policy(id="p", agent_id="a", name="p", rules=held, created_ms=0, updated_ms=0, version=1)
    agent = compile_agent(_AGENT, [made], _REDACTOR.is_secret)
    for parameters in (
        {},
        {"amount": 1},
        {"a": {"b": "x"}, "a.b": None},
        {"amount": "999999999999", "path": "/\u2028"},
    ):
        for tool in ("t", "file.read", held[0].tools[0]):
            request = AuthorizeRequest("a", tool, "authorize", parameters, msgspec.json.encode(parameters))
            agent.is_quick(request)
            for now_us in (0, 1_800_000_000_000_000):
                plan = decide(agent, request, now_us)
                assert plan.outcome.result in Result
                assert "\n" not in plan.outcome.reason


def bodies(raw: bytes) -> None:
    """The bodies of everything else that is created or changed."""
    for kind in (CreateAgent, UpdateAgent, UpdatePolicy, CreateApiKey):
        try:
            decode_body(raw, kind)
        except AppError as error:
            _refusal(error)


def pattern(raw: bytes) -> None:
    """A regular expression and, behind a zero byte, a text to search."""
    text, _, searched = raw.decode(errors="replace").partition("\0")
    try:
        compiled = compile_regex(text[:512])
    except ValueError as error:
        return _sentence(error)
    compiled.search(searched[:256])
    return None


def query(raw: bytes) -> None:
    """The query string of every endpoint."""
    for kind in dict.fromkeys(each.query for each in ENDPOINTS):
        try:
            decode_query(raw, kind)
        except AppError as error:
            _refusal(error)


def headers(raw: bytes) -> None:
    """Header values: who calls, from where, at which version."""
    line = raw.replace(b"\n", b" ").replace(b"\r", b" ").replace(b"\0", b" ")
    try:
        given = single_headers([(AUTHORIZATION, line)], frozenset({AUTHORIZATION}))
        assert is_raw_key(raw_key_of(given.get(AUTHORIZATION)))
    except AppError as error:
        _refusal(error)
    try:
        wanted = provide_if_match(SimpleNamespace(scope={"headers": [(b"if-match", line)]}))
        assert wanted is None or all(isinstance(each, int) for each in wanted)
    except AppError as error:
        _refusal(error)
    lockouts = AuthFailures(1, _PROXIES)
    lockouts.note("10.0.0.1", [line.decode("latin-1")])
    assert lockouts.wait_s("10.0.0.1", [line.decode("latin-1")]) > 0


def texts(raw: bytes) -> None:
    """Times, ids and checkpoints."""
    text = raw.decode(errors="replace")
    uuid_of(text)
    for read in (lambda: rfc3339(parse_time_ms(text)), lambda: Checkpoint.parse(text).line):
        try:
            assert read()
        except ValueError as error:
            _sentence(error)


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each for each in (tool_call, policy, rules, bodies, pattern, query, headers, texts)
}
