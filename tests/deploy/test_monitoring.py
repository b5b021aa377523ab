"""Each alert rule fires and is silent as it should; expressions of rules and dashboard name metrics that exist."""

import json
import re
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml

from app.http.api.service import STORE_GAUGES
from app.runtime.metrics import CODES, FAMILIES

ROOT = Path(__file__).parents[2]
RULES = yaml.safe_load((ROOT / "deploy/prometheus/rules.yaml").read_text())["groups"][0]["rules"]
BOARD = json.loads((ROOT / "deploy/grafana/dashboard.json").read_text())
KNOWN = {family.name for family in FAMILIES} | STORE_GAUGES.keys()


def refusals(code, per_minute):
    return {f'remit_refusals_total{{code="{code}",instance="a"}}': f"0+{per_minute}x200"}


def latency(slow):
    """Calls a minute: 100 in all, `slow` of them above 10 ms."""
    name = "remit_answer_latency_seconds_bucket"
    all_calls = {f'{name}{{le="{edge}"}}': "0+100x200" for edge in ("0.025", "+Inf")}
    return {f'{name}{{le="0.01"}}': f"0+{100 - slow}x200"} | all_calls


def backlog(entries):
    return {"remit_unsealed_entries_longest": f"{entries}x200", "remit_unsealed_entries_limit": "2000000x200"}


def grows(name, by):
    return {name: f"0+{by}x200"}


SERIES = {
    "RemitStoreDown": ({"remit_store_up": "0x200"}, {"remit_store_up": "1x200"}),
    "RemitDecisionsRefused": (refusals("STORE_UNAVAILABLE", 6), refusals("AGENT_NOT_FOUND", 6)),
    "RemitSlowAnswers": (latency(2), latency(0)),
    "RemitSealingBehind": ({"remit_seal_lag_seconds": "61x200"}, {"remit_seal_lag_seconds": "60x200"}),
    "RemitLogFillsUp": (backlog(500001), backlog(500000)),
    "RemitLogForked": ({"remit_checkpoint_forks": "1x200"}, {"remit_checkpoint_forks": "0x200"}),
    "RemitClockStepped": (
        {"remit_store_clock_ahead_seconds": "-1.1x200", "remit_quota_time_ahead_seconds": "0x200"},
        {"remit_store_clock_ahead_seconds": "0.9x200", "remit_quota_time_ahead_seconds": "7200x200"},
    ),
    "RemitCheckpointNotWitnessed": (
        {"remit_checkpoint_witnessed_seconds": "3601x200"},
        {"remit_checkpoint_witnessed_seconds": "3600x200"},
    ),
    "RemitLogNotVerified": ({"remit_log_intact_seconds": "172801x200"}, {"remit_log_intact_seconds": "86400x200"}),
    "RemitEntriesQuarantined": ({"remit_poison_entries": "1x200"}, {"remit_poison_entries": "0x200"}),
    "RemitApprovalsWait": (
        {"remit_approvals_oldest_seconds": "601x200"},
        {"remit_approvals_oldest_seconds": "600x200"},
    ),
    "RemitPolicyReviewsWait": (
        {"remit_policy_reviews_oldest_seconds": "86401x200"},
        {"remit_policy_reviews_oldest_seconds": "86400x200"},
    ),
    "RemitWebhookEventsParked": (grows("remit_webhook_events_parked", 1), {"remit_webhook_events_parked": "7x200"}),
    "RemitOverloaded": (refusals("OVERLOADED", 6), refusals("OVERLOADED", 0)),
    "RemitInternalErrors": (refusals("INTERNAL_ERROR", 1), refusals("INTERNAL_ERROR", 0)),
    "RemitKeysGuessed": (refusals("UNAUTHORIZED", 120), refusals("UNAUTHORIZED", 30)),
    "RemitPoliciesChurn": (
        grows('remit_stale_retries_total{moved="version"}', 1200),
        grows('remit_stale_retries_total{moved="clock"}', 1200),
    ),
    "RemitAgentSuspended": (
        grows('remit_breaker_trips_total{action="suspend"}', 1),
        grows('remit_breaker_trips_total{action="deny"}', 1),
    ),
    "RemitApprovalsFilling": (
        grows('remit_approvals_filling_total{of="rule"}', 1),
        {'remit_approvals_filling_total{of="rule"}': "3x200"},
    ),
    "RemitRuleCrowded": (grows("remit_crowded_denials_total", 1), {"remit_crowded_denials_total": "3x200"}),
    "RemitNotScraped": ({"up": "1x200"}, {'remit_decisions_total{result="allowed"}': "5x200"}),
}
"""For each alert, series with which it fires, and series with which it does not; a step is a minute."""


def scenario(alert, series, fires):
    """One test for promtool: after two hours, whether the alert fires."""
    [rule] = [each for each in RULES if each["alert"] == alert]
    name = next(iter(series))
    labels = dict(re.findall(r'(\w+)="([^"]*)"', name))
    kept = {"labels": {"severity": rule["labels"]["severity"]}, "annotations": rule["annotations"]}
    if alert not in {"RemitSlowAnswers", "RemitNotScraped"}:
        kept["labels"] = labels | kept["labels"]
    return {
        "interval": "1m",
        "input_series": [{"series": each, "values": values} for each, values in series.items()],
        "alert_rule_test": [
            {
                "eval_time": "2h",
                "alertname": alert,
                "exp_alerts": [{"exp_labels": kept["labels"], "exp_annotations": kept["annotations"]}] if fires else [],
            }
        ],
    }


@pytest.fixture(scope="module")
def promtool(program):
    """Runs promtool."""
    path = program("promtool", "alert rules and dashboard")
    return lambda *words, **options: subprocess.run(
        [path, *words], capture_output=True, text=True, check=False, **options
    )


def tried(promtool, folder, scenarios):
    """What promtool says of these tests of the rules."""
    (folder / "rules.yaml").write_text((ROOT / "deploy/prometheus/rules.yaml").read_text())
    (folder / "tests.yaml").write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": scenarios}))
    return promtool("test", "rules", "tests.yaml", cwd=folder)


def test_every_alert_has_both_series():
    """A new alert needs a case that fires and one that does not."""
    assert [rule["alert"] for rule in RULES] == list(SERIES)
    assert {rule["labels"]["severity"] for rule in RULES} == {"page", "ticket"}
    assert {re.search(r'code="(\w+)"', rule["expr"])[1] for rule in RULES if "code=" in rule["expr"]} <= set(CODES)


def test_every_alert_fires_when_it_should(program, promtool, tmp_path):
    """With its labels, its sentences and its link."""
    told = tried(promtool, tmp_path, [scenario(alert, fires, True) for alert, (fires, _) in SERIES.items()])
    assert told.returncode == 0, told.stdout + told.stderr


def test_every_alert_is_silent_when_it_should_be(program, promtool, tmp_path):
    """Just below its threshold, or with another label."""
    told = tried(promtool, tmp_path, [scenario(alert, silent, False) for alert, (_, silent) in SERIES.items()])
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.parametrize("alert", SERIES)
def test_a_wrong_expectation_of_an_alert_would_be_noticed(program, promtool, tmp_path, alert):
    """Otherwise the tests above would say nothing."""
    assert tried(promtool, tmp_path, [scenario(alert, SERIES[alert][0], False)]).returncode != 0


def metrics_in(where, expression):
    """The metrics that the expression names, all of which exist."""
    names = [(name, re.sub(r"_(bucket|sum|count)$", "", name)) for name in re.findall(r"remit_\w+", expression)]
    unknown = [name for name, base in names if not {name, base} & KNOWN]
    assert not unknown, f"{where} names {unknown}"
    return {base if base in KNOWN else name for name, base in names}


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_every_alert_names_metrics_that_exist(rule):
    """Otherwise it would be silent for ever, whatever its series say."""
    assert metrics_in(rule["alert"], rule["expr"])


def expressions():
    """Every expression of the dashboard with the panel that shows it."""
    return [(panel["title"], target["expr"]) for panel in BOARD["panels"] for target in panel.get("targets", ())]


def test_every_expression_of_the_dashboard_is_one_and_names_metrics_that_exist(program, promtool, tmp_path):
    """Grafana's variables replaced; each as a recording rule."""
    found = set()
    rules = []
    for number, (title, expression) in enumerate(expressions()):
        found |= metrics_in(title, expression)
        filled = expression.replace("$__rate_interval", "5m").replace("$instance", ".*")
        rules.append({"record": f"panel:{number}", "expr": filled})
    (tmp_path / "board.yaml").write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    told = promtool("check", "rules", "board.yaml", cwd=tmp_path)
    assert told.returncode == 0, told.stdout + told.stderr
    assert found == KNOWN, "a metric that no panel shows"


def test_the_panels_lie_side_by_side():
    """Within 24 columns, none over another."""
    taken = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert max(x for x, _ in cells) < 24
        assert taken.isdisjoint(cells), panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


def test_prometheus_reads_what_metrics_says(program, promtool, replica):
    """Names, types and units, by Prometheus' own check."""
    told = promtool("check", "metrics", input=httpx.get(f"{replica.base_url}/metrics").text)
    assert told.returncode == 0, told.stdout + told.stderr
