"""A workspace exported and applied to an empty one gives the same answers for the same calls."""

import json
import random
from pathlib import Path

import pytest
from servers import clean_env
from tenants import Tenant

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
SETS = ["airline/policies.json", "assistants/banking.json", "assistants/workspace.json", "coding-agent/policies.json"]
SAME = ("result", "allowed", "rule", "reason")
CALLS = 100


@pytest.fixture
def two(store, replica):
    """A workspace, and an empty one."""
    made = Tenant(store.url, replica), Tenant(store.url, replica)
    yield made
    for each in made:
        each.close()


def policies_of(path):
    """The policies of an example."""
    return json.loads((EXAMPLES / path).read_text())["policies"]


def fill(tenant):
    """Agents with the examples' policies: groups, guardrails for all, ambiguous names, and whole tiers."""
    for number, path in enumerate(SETS):
        agent = tenant.new_agent(
            name=path.split("/")[0] + str(number),
            groups=["crew"] if number % 2 else [],
            alias=f"team/agent-{number}" if number < 2 else None,
        )
        for policy in policies_of(path):
            body = {name: value for name, value in policy.items() if name in FIELDS}
            tenant._made("/v1/policies", body | {"agent_id": agent["id"]})
    nobody = tenant.new_agent(name="nobody's: *odd* name", groups=["crew", "näch/ste"], type="workload")
    allow = {"type": "tool_allowlist", "tools": ["*"]}
    limited = {"type": "rate_limit", "tools": ["get_*"], "rateLimit": {"maxCalls": 7, "windowSeconds": 3600}}
    for rules in ([limited], [{"type": "tool_denylist", "tools": ["cancel_*"]}, allow], [allow]):
        tenant.new_policy(nobody["id"], *rules, name="same")
    tenant.new_policy(nobody["id"], {"type": "tool_denylist", "tools": ["*"]}, name="off", enabled=False, priority=9)
    amount = {
        "parameters": {"amount": {"max": 100, "required": False}, "note": {"notRegex": "\\d{4}\n", "required": False}}
    }
    for group in ("crew", "näch/ste"):
        constraint = {"type": "parameter_constraint", "tools": ["*"], "effect": "escalate", **amount}
        tenant._made("/v1/policies", {"group": group, "kind": "guardrail", "name": "small", "rules": [constraint]})
    night = {"type": "tool_denylist", "tools": ["send_certificate"]}
    tenant._made(
        "/v1/policies",
        {"kind": "guardrail", "name": "none", "key": "never.certificates", "rules": [night], "priority": 1000},
    )


FIELDS = ("name", "rules", "priority", "enabled", "kind")


def calls():
    """Real calls of the examples' data, the same for both."""
    lines = [
        json.loads(line)
        for name in ("airline", "injections")
        for line in (EXAMPLES / f"data/{name}.jsonl").read_text().splitlines()
    ]
    found = [(line["tool"], line["arguments"]) for line in lines]
    random.Random(5).shuffle(found)
    return found[:CALLS]


@pytest.fixture
def remit(run_remit, tmp_path):
    def run(tenant, *words):
        env = clean_env() | {"REMIT_REDIS_URL": tenant.store_url}
        ran = run_remit(["policy", *words, "-w", tenant.id], env, cwd=tmp_path)
        assert (ran.returncode, ran.stderr) == (0, "")
        return ran.stdout

    return run


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_the_copy_answers_as_the_original(two, remit, tmp_path, form):
    """Result, rule and reason of some hundred calls of every agent, with full quotas among them."""
    first, second = two
    fill(first)
    remit(first, "export", "out", *(["--json"] if form == "json" else []))
    remit(second, "apply", "--create-agents", "out")
    remit(first, "export", "again", *(["--json"] if form == "json" else []))
    remit(second, "export", "copied", *(["--json"] if form == "json" else []))

    def texts(name):
        return {path.name: path.read_text() for path in (tmp_path / name).rglob("*") if path.is_file()}

    assert texts("again") == texts("out") == texts("copied")
    assert len(texts("out")) == len(SETS) + 4

    listed = [tenant.reader.get("/v1/agents").json() for tenant in two]
    kinds = [{each["name"]: each["type"] for each in agents} for agents in listed]
    assert kinds[0] == kinds[1]
    assert {"agent", "workload"} == set(kinds[0].values())
    agents = [{each["name"]: each["id"] for each in agents} for agents in listed]
    results = set()
    for tool, parameters in calls():
        for name in agents[0]:
            answers = [
                tenant.authorize(ids[name], tool, parameters=parameters)
                for tenant, ids in zip(two, agents, strict=True)
            ]
            shown = [[answer[field] for field in SAME] for answer in answers]
            assert shown[0] == shown[1], (name, tool, parameters)
            results.add((answers[0]["result"], answers[0]["rule"] and answers[0]["rule"]["type"]))
    assert {result for result, _ in results} == {"allowed", "denied", "escalated"}
    assert ("denied", "rate_limit") in results


@pytest.mark.parametrize("existing", [True, False], ids=["created before", "created with it"])
def test_the_coding_agent_has_the_alias_by_which_its_hook_calls_it(two, run_remit, store, existing):
    """As its page says; its file alone suffices, too."""
    env = clean_env() | {"REMIT_REDIS_URL": store.url}
    workspace = ["--workspace", two[0].id]
    if existing:
        made = run_remit(["agents", "create", "coding agent", "--alias", "coding-agent", *workspace], env)
        assert made.returncode == 0, made.stderr
    create = [] if existing else ["--create-agents"]
    applied = run_remit(["policy", "apply", *create, str(EXAMPLES / "coding-agent/policies.json"), *workspace], env)
    assert applied.returncode == 0, applied.stderr
    agents = two[0].admin.get("/v1/agents").json()
    assert [(each["name"], each["alias"]) for each in agents] == [("coding agent", "coding-agent")]
    policies = two[0].admin.get("/v1/policies", params={"agent_id": agents[0]["id"]}).json()
    assert len(policies) == len(policies_of("coding-agent/policies.json"))
