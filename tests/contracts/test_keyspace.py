"""docs/keyspace.md matches the keyspace: every name, type and lifetime; its commands print what the page shows."""

import asyncio
import inspect
import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from audit_entries import grow_trees
from commit_scene import names
from servers import ADMIN_KEY, Replica, Store, clean_env
from sessions import commands, require_printed, run, shell_in

from app.audit.seal.sealer import Sealer
from app.audit.trail_chain import seal_changes
from app.redis_client.clients import open_client
from app.redis_client.scripts import LUA, SCRIPTS
from app.store import keyspace as module
from app.store.keyspace import WORKSPACES, Keyspace, copy_of
from app.transparency.keys import SigningKey
from app.transparency.rounds import CheckpointRounds

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/keyspace.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `remit:")
]
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
SEALED = PAGE.split("<!-- From here on the stream has been sealed. -->")[0].count("```console")
TYPES = {"sorted set": "zset"}


def placeholders(function):
    """The function's parameters as the page writes them."""
    return [f"<{name}>" for name in inspect.signature(function).parameters if name != "self"]


def every_name():
    """Every name that the module makes, with placeholders in it."""
    keyspace = Keyspace("<workspace_id>")
    for attribute in Keyspace.__slots__:
        if not attribute.startswith("_"):
            yield getattr(keyspace, attribute)
    for _, method in inspect.getmembers(Keyspace, inspect.isfunction):
        if not method.__name__.startswith("_"):
            yield method(keyspace, *placeholders(method))
    for value in vars(module).values():
        if isinstance(value, str) and value.startswith("remit:"):
            yield value
        elif inspect.isfunction(value) and inspect.signature(value).return_annotation is str and value is not copy_of:
            yield value(*placeholders(value))


def pattern_of(name, letters=r"\w."):
    """A regular expression for the keys that a row of the page means; only a `<value>` may have colons in it."""
    fillings = {"<value>": f"[{letters}:-]+"}
    parts = re.split(r"(<\w+>)", name)
    return re.compile(
        "".join(fillings.get(part, f"[{letters}-]+") if part.startswith("<") else re.escape(part) for part in parts)
    )


def test_the_page_lists_every_key_and_no_other():
    """A key that is added without a row fails here."""
    assert sorted(row[0].strip("`") for row in ROWS) == sorted(every_name())


def test_every_key_of_a_workspace_carries_its_tag():
    """I12: so they are one slot, and no other workspace's."""
    workspace_id = "018bcfe5-6800-7000-8000-000000000001"
    keyspace = Keyspace(workspace_id)
    made = [getattr(keyspace, attribute) for attribute in Keyspace.__slots__ if not attribute.startswith("_")]
    for _, method in inspect.getmembers(Keyspace, inspect.isfunction):
        if not method.__name__.startswith("_"):
            made.append(method(keyspace, *placeholders(method)))
    assert len(made) == len(set(made))
    for name in made:
        assert name.startswith(f"remit:{{{workspace_id}}}:")


def test_key_names_are_made_nowhere_else():
    """I12: no other module and no script has the prefix in it."""
    texts = {path: path.read_text() for path in [*(ROOT / "app").rglob("*.py"), *LUA.rglob("*.lua")]}
    assert [path.name for path, text in texts.items() if re.search(r"[\"']remit:", text)] == ["keyspace.py"]


def test_writers_and_readers_are_scripts_and_modules():
    """Names that the page has in those columns exist; scripts that write a key take it."""
    modules = {path.stem for path in (ROOT / "app").rglob("*.py")}
    scripts = {script.name for script in SCRIPTS}
    for row in ROWS:
        for name in re.findall(r"`(\w+)`", row[3] + row[4]):
            assert name in modules | scripts, f"{row[0]}: {name}"


def test_every_key_has_a_command_that_looks_at_it():
    """Shell variables stand where the page has placeholders."""
    session = "\n".join(command for block in BLOCKS for command, _ in commands(block))
    for row in ROWS:
        assert pattern_of(row[0].strip("`"), r"\w.${}").search(session), row[0]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory, program):
    """A store of its own after the few operations that the page tells of, and what seals its log."""
    store = Store(program("redis-server", "the session of docs/keyspace.md"), tmp_path_factory.mktemp("keyspace"))
    with ExitStack() as stack:
        stack.callback(store.stop)
        replica = Replica(store.url, REMIT_COMPACT="false")
        stack.callback(replica.stop)
        client = stack.enter_context(replica.client())
        agent_id = client.post(
            "/v1/agents", json={"name": "booking agent", "alias": "booking", "groups": ["crew"]}
        ).json()["id"]
        tool = {"name": "booking.read", "description": "Shows a booking."}
        assert client.put("/v1/catalog", json={"tools": [tool]}).status_code == 200
        per_tool = {"maxCalls": 9, "windowSeconds": 60, "per": ["tool"]}
        for owner in ({"group": "crew"}, {}):
            rules = [{"type": "tool_denylist", "tools": ["rm"]}]
            rules += [{"type": "rate_limit", "tools": ["*"], "rateLimit": per_tool}] if owner else []
            sides = {"forbiddenAfter": ["booking.*"], "requiresBefore": ["booking.*"], "withinSeconds": 60}
            rules += [{"type": "sequence", "tools": ["rm"], "sequence": sides}] if owner else []
            breaker = {"maxDenials": 9, "windowSeconds": 60, "action": "suspend"}
            breaker |= {"action": "deny", "per": ["tool"]} if owner else {}
            rules += [{"type": "denial_breaker", "tools": ["*"], "denialBreaker": breaker}]
            never = {"kind": "guardrail", "name": "never", "rules": rules}
            assert client.post("/v1/policies", json=never | owner).status_code == 201
        limit = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 3, "windowSeconds": 60}}
        rules = [{"type": "tool_allowlist", "tools": ["booking.*"]}, limit]
        client.post("/v1/policies", json={"agent_id": agent_id, "name": "reads", "rules": rules})
        limit = {"type": "rate_limit", "tools": ["*"], "rateLimit": {"maxCalls": 1, "windowSeconds": 60}}
        tried = {"agent_id": agent_id, "name": "tried", "kind": "guardrail", "mode": "shadow", "rules": [limit]}
        assert client.post("/v1/policies", json=tried).status_code == 201
        call = {"agent_id": agent_id, "tool_name": "booking.read", "parameters": {"booking": "AB12"}}
        client.post(
            "/v1/authorize", json=call | {"context": {"session": "chat 7"}}, headers={"Idempotency-Key": "once"}
        )
        [first] = client.get("/v1/audit-logs").json()
        outcome = {"status": "not_executed"}
        assert client.post(f"/v1/decisions/{first['id']}/outcome", json=outcome).status_code == 200
        results = [client.post("/v1/authorize", json=call).json()["result"] for _ in range(4)]
        assert results == ["allowed", "allowed", "denied", "denied"]
        yield store


async def seal(url):
    client = open_client(url, 5_000)
    for workspace_id in await client.call("HVALS", WORKSPACES):
        await Sealer(client, 512, 100).seal_next(workspace_id)
        await seal_changes(client, workspace_id)
        await grow_trees(client, workspace_id)
    await CheckpointRounds(client, [SigningKey.new("remit.example.com")], []).run(asyncio.Event())
    await client.close()


async def keys_of(url):
    """Every key of a store with its type and its remaining life in ms (-1 = for ever)."""
    client = open_client(url, 5_000)
    found = {
        name: (await client.call("TYPE", name), await client.call("PTTL", name)) for name in await names(client, "*")
    }
    await client.close()
    return found


def test_the_commands_print_what_the_page_shows(deployment, program, tmp_path):
    """The whole session in one shell, in the page's order, on a store that has done what the page says."""
    for name in ("redis-cli", "jq", "zstd"):
        program(name, "the session of docs/keyspace.md")
    folder = tmp_path / "bin"
    folder.mkdir()
    # The page's reader has a store on the usual port; this one is elsewhere.
    wrapper = folder / "redis-cli"
    wrapper.write_text(f'#!/bin/sh\nexec {program("redis-cli", "")} -p {deployment.port} "$@"\n')
    wrapper.chmod(0o755)
    environment = clean_env() | {"REMIT_KEY": ADMIN_KEY, "LC_ALL": "C.UTF-8"}
    environment["PATH"] = f"{folder}:{environment['PATH']}"
    with shell_in(tmp_path, environment) as shell:
        for number, block in enumerate(BLOCKS):
            if number == SEALED:
                asyncio.run(seal(deployment.url))
            for command, wanted in commands(block):
                require_printed(command, wanted, run(shell, command))


def test_types_and_lives_are_those_of_the_page(deployment):
    """Every key that the service has made is of one row, has its type, and expires only if the row says so."""
    found = asyncio.run(keys_of(deployment.url))
    assert found
    seen = set()
    for name, (kind, life_ms) in found.items():
        [row] = [row for row in ROWS if pattern_of(row[0].strip("`")).fullmatch(name)]
        seen.add(row[0])
        assert kind == TYPES.get(row[1], row[1]), name
        expires = {"24 hours": 86_400_000, "until it counts no more": 2 * 3_153_600_000_000 + 61_000}
        expires |= {"24 hours, or until its outcome is reported": 86_400_000, "48 hours": 172_800_000}
        expires |= {"32 hours after the last one": 115_200_000}
        if row[5] in expires:
            assert 0 < life_ms <= expires[row[5]], name
        else:
            assert life_ms == -1, name
    of_approvals = {row[0].strip("`") for row in ROWS if "approval" in row[0]}
    of_webhooks = {row[0].strip("`") for row in ROWS if "webhook" in row[0] or row[0].endswith(":notices`")}
    refundable = {"remit:{<workspace_id>}:decision:<decision_id>:taken"}
    of_approvals.add("remit:{<workspace_id>}:key:<root>:mismatches")
    rare = refundable | (
        of_approvals
        | of_webhooks
        | {
            "remit:ready",
            "remit:{<workspace_id>}:agent:<agent_id>:records:<digest>",
            "remit:{<workspace_id>}:keyed-batch:<key_id>:<idempotency_digest>",
            "remit:code:<digest>",
            "remit:choice:<digest>",
            "remit:used:<digest>",
            "remit:{<workspace_id>}:sign-ins",
            "remit:{<workspace_id>}:signed-out:<digest>",
            "remit:{<workspace_id>}:addressed:<digest>",
            "remit:{<workspace_id>}:submission:<digest>",
            "remit:{<workspace_id>}:agent:<agent_id>:remembered:<memory>",
            "remit:{<workspace_id>}:pinned:<digest>",
            "remit:{<workspace_id>}:policy-review:<review_id>",
            "remit:{<workspace_id>}:policy-reviews",
            "remit:{<workspace_id>}:policy-reviews:waiting",
            "remit:issuers",
            "remit:{<workspace_id>}:issuers",
            "remit:{<workspace_id>}:issuers:tokens",
            "remit:{<workspace_id>}:issuers:tokens:<workload_id>",
            "remit:{<workspace_id>}:issuers:keys:<name>",
            "remit:{<workspace_id>}:catalog:resources",
            "remit:{<workspace_id>}:catalog:resources:entries",
            "remit:{<workspace_id>}:audit:hours:<part>",
            "remit:{<workspace_id>}:audit:poison",
            "remit:{<workspace_id>}:audit:lease",
            "remit:{<workspace_id>}:audit:verification-lease",
        }
    )
    assert {row[0].strip("`") for row in ROWS} - {name.strip("`") for name in seen} == rare
