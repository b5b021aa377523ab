"""Whatever anybody sends: it is read, or refused in our words. No other exception, ever.

The corpus holds what once was interesting, by target; `campaign.py` finds more.
"""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
KEPT = sorted(path for path in CORPUS.rglob("*") if path.is_file())
SEEDS = {name: [path.read_bytes() for path in KEPT if path.parent.name == name] for name in TARGETS}
AGENT = "01931f2e-7a51-7cc0-9e55-3f6f6d1a2b01"

NAMES = """
agent_id agentId tool_name toolName action parameters name description status rules priority enabled type tools effect
regex enum min max required rateLimit maxCalls windowSeconds timeWindow allowedHours allowedDays timezone scopes
expiresAt expires_at tool_allowlist tool_denylist approval_required parameter_constraint rate_limit time_based deny
escalate admin read active suspended revoked UTC Europe/Paris * file.* password a.b
"""
WORDS = st.sampled_from(NAMES.split())
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | WORDS
    | st.text(max_size=20)
    | st.just(AGENT)
    | st.sampled_from([0, 1, 5.0, 23, 24, 50, 1000, 1001])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(WORDS | st.text(max_size=10), inner, max_size=6),
    max_leaves=25,
)
RULES = [json.loads((CORPUS / "rules" / name).read_bytes()) for name in ("all", "constraint", "limit", "hours", "deny")]
"""Valid rules to start from."""


@st.composite
def altered(draw):
    """Valid rules with up to three values replaced anywhere."""
    rules = copy.deepcopy(draw(st.sampled_from(RULES)))
    for _ in range(draw(st.integers(0, 3))):
        put_a_value_into(draw, rules)
    return rules


def put_a_value_into(draw, holder):
    place = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
    inner = holder[place]
    if isinstance(inner, dict | list) and inner and draw(st.integers(0, 4)):
        put_a_value_into(draw, inner)
    else:
        holder[place] = draw(VALUES)


def mutated(name):
    """A file of the target's corpus with a few bytes changed, removed, repeated or inserted."""

    @st.composite
    def mutate(draw):
        raw = draw(st.sampled_from(SEEDS[name]))
        for _ in range(draw(st.integers(1, 4))):
            at = draw(st.integers(0, len(raw)))
            end = draw(st.integers(at, min(len(raw), at + 40)))
            piece = draw(st.binary(max_size=4) | st.just(raw[at:end] * 2) | st.sampled_from(TOKENS))
            raw = raw[:at] + piece + raw[end:]
        return raw

    return mutate()


TOKENS = [
    b'"',
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"[",
    b"]",
    b"{",
    b"}",
    b":",
    b",",
    b"1e999",
    b"NaN",
    b"null",
    b"\xff",
    b"%00",
]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_everything_in_the_corpus_is_read_or_refused(path):
    """Each file once exposed a difference."""
    TARGETS[path.parent.name](path.read_bytes())


def test_every_target_has_a_corpus_and_every_folder_a_target():
    """So nothing in the corpus is skipped."""
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    assert min(len(seeds) for seeds in SEEDS.values()) >= 5


@given(st.binary(max_size=200) | mutated("tool_call"))
def test_any_bytes_are_a_tool_call_or_an_error_of_ours(raw):
    """JSON or not, UTF-8 or not."""
    TARGETS["tool_call"](raw)


@given(st.dictionaries(WORDS, VALUES, max_size=8), VALUES)
def test_any_json_is_a_tool_call_or_an_error_of_ours(fields, parameters):
    """Any values under known names, and any parameters in an otherwise valid call."""
    TARGETS["tool_call"](json.dumps(fields).encode())
    call = {"agent_id": AGENT, "tool_name": "t", "parameters": {"value": parameters}}
    TARGETS["tool_call"](json.dumps(call, ensure_ascii=False).encode(errors="surrogatepass"))


@given(altered() | VALUES, st.dictionaries(WORDS, VALUES, max_size=4))
def test_any_json_is_a_policy_or_an_error_of_ours(rules, fields):
    """An accepted policy is stored, read back, compiled and used by the target."""
    body = {"agent_id": AGENT, "name": "n", "rules": rules}
    TARGETS["policy"](json.dumps(body).encode())
    TARGETS["policy"](json.dumps(body | fields).encode())


@given(mutated("rules"))
def test_any_bytes_are_rules_or_an_error_of_ours(raw):
    """Beginning from rules of every type."""
    TARGETS["rules"](raw)


@given(st.dictionaries(WORDS, VALUES, max_size=6))
def test_any_json_is_another_body_or_an_error_of_ours(fields):
    """Agents, keys, and changes of agents and policies."""
    TARGETS["bodies"](json.dumps(fields).encode())


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_pattern_compiles_or_is_refused(pattern, text):
    """A compiled pattern can search any string."""
    TARGETS["pattern"](f"{pattern}\0{text}".encode(errors="replace"))


@given(mutated("query") | st.binary(max_size=100))
def test_any_query_is_read_or_refused(raw):
    """Filters, pages and cursors of the log, the trail and the lists."""
    TARGETS["query"](raw)


@given(st.sampled_from(["cursor", "limit", "offset", "from", "to"]), st.text(max_size=30) | st.integers().map(str))
def test_any_cursor_is_read_or_refused(name, value):
    """Whatever follows the equals sign, unescaped."""
    TARGETS["query"](f"{name}={value}".encode(errors="replace"))


@given(mutated("headers") | st.binary(max_size=60))
def test_any_header_is_read_or_refused(raw):
    """Authorization, If-Match and X-Forwarded-For: an address is counted whatever was forwarded."""
    TARGETS["headers"](raw)


@given(mutated("texts") | st.text(max_size=40).map(lambda text: text.encode(errors="replace")))
def test_any_string_is_read_as_a_time_an_id_or_a_checkpoint_or_is_refused(raw):
    """With digits of any script."""
    TARGETS["texts"](raw)
