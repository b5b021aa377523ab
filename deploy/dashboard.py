"""The Grafana dashboard as plain objects: rows of panels, each a few expressions over the metrics of /metrics.

No panel names an agent, a tool or a workspace: metrics have no such labels. The console shows who and what.
"""

from typing import Any

_WIDTH, _HEIGHT, _PER_ROW = 8, 8, 3
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_OF = '{instance=~"$instance"}'
_P = (0.5, 0.95, 0.99)

Panel = tuple[str, str, str, dict[str, str]]
"""Title, what it shows, unit, and expressions by legend."""


def _rate(name: str, by: str) -> str:
    return f"sum by ({by}) (rate({name}{_OF}[$__rate_interval]))"


def _quantiles(name: str) -> dict[str, str]:
    return {f"p{q * 100:g}": f"histogram_quantile({q}, {_rate(f'{name}_bucket', 'le')})" for q in _P}


ROWS: dict[str, list[Panel]] = {
    "Decisions": [
        (
            "Decisions",
            "Decisions in the log, by result.",
            "reqps",
            {"{{result}}": _rate("remit_decisions_total", "result")},
        ),
        (
            "Refusals",
            "Calls answered with an error instead of a decision, by code.",
            "reqps",
            {"{{code}}": f"{_rate('remit_refusals_total', 'code')} > 0"},
        ),
        (
            "Store",
            "Whether the store answers; if not, every decision is refused.",
            "bool_yes_no",
            {"{{instance}}": f"remit_store_up{_OF}"},
        ),
    ],
    "Latency": [
        (
            "Answer",
            "From a call's arrival until its answer is ready: the replica's share of what a caller waits.",
            "s",
            _quantiles("remit_answer_latency_seconds"),
        ),
        (
            "Answer, all calls",
            "How many calls took how long.",
            "s",
            {"heatmap": _rate("remit_answer_latency_seconds_bucket", "le")},
        ),
        ("Store round trip", "From sending a commit to its reply.", "s", _quantiles("remit_store_round_trip_seconds")),
        ("Decision", "To the commit, as in latencyMs.", "s", _quantiles("remit_decision_latency_seconds")),
        (
            "Commands per write",
            "How many commits go to the store together.",
            "short",
            _quantiles("remit_store_batch_commands"),
        ),
        (
            "Plans made again",
            "The agent, its policies or the clock had moved on.",
            "reqps",
            {"{{moved}}": _rate("remit_stale_retries_total", "moved")},
        ),
    ],
    "Lanes and caches": [
        (
            "Connections that change lanes",
            "A connection whose next request belongs to the other lane.",
            "reqps",
            {"to {{to}}": _rate("remit_lane_moves_total", "to")},
        ),
        (
            "Compiled policies",
            "Estimated memory of the cache.",
            "bytes",
            {"{{instance}}": f"remit_agent_cache_bytes{_OF}"},
        ),
        (
            "Cached agents and keys",
            "How many are cached.",
            "short",
            {
                "agents {{instance}}": f"remit_agent_cache_entries{_OF}",
                "keys {{instance}}": f"remit_caller_cache_entries{_OF}",
            },
        ),
    ],
    "The log": [
        (
            "Seal lag",
            "Age of the oldest entry that is not sealed yet.",
            "s",
            {"lag": f"max(remit_seal_lag_seconds{_OF})"},
        ),
        (
            "Unsealed entries",
            "In all, in the fullest workspace, and at which its calls are refused.",
            "short",
            {
                "all": f"max(remit_unsealed_entries{_OF})",
                "fullest workspace": f"max(remit_unsealed_entries_longest{_OF})",
                "limit": f"min(remit_unsealed_entries_limit{_OF})",
            },
        ),
        (
            "Found intact",
            "Time since the log was last found intact; the longest of all workspaces.",
            "s",
            {"age": f"max(remit_log_intact_seconds{_OF})"},
        ),
        (
            "Checkpoints without a witness",
            "Time for which a signed checkpoint has lacked a witness's signature.",
            "s",
            {"missing": f"max(remit_checkpoint_witnessed_seconds{_OF})"},
        ),
        (
            "The store's clock",
            "Ahead of the replicas' machines, and how far it has gone back in all.",
            "s",
            {
                "ahead": f"max(remit_store_clock_ahead_seconds{_OF})",
                "gone back": f"max(remit_quota_time_ahead_seconds{_OF})",
            },
        ),
        (
            "Forks",
            "Logs and trails that are signed no more, because they do not continue what was signed.",
            "short",
            {"forks": f"max(remit_checkpoint_forks{_OF})"},
        ),
        ("Segments", "Sealed since the log began.", "short", {"sealed": f"max(remit_sealed_segments{_OF})"}),
        (
            "Quarantined entries",
            "Entries that could not be sealed unchanged.",
            "short",
            {"entries": f"max(remit_poison_entries{_OF})"},
        ),
    ],
    "Approvals, webhooks and policies": [
        (
            "Calls that wait for people",
            "Their number, and how long the oldest has waited.",
            "short",
            {
                "waiting": f"max(remit_approvals_waiting{_OF})",
                "oldest, seconds": f"max(remit_approvals_oldest_seconds{_OF})",
            },
        ),
        (
            "Changes of policies that wait for a second person",
            "Their number, and how long the oldest has waited.",
            "short",
            {
                "waiting": f"max(remit_policy_reviews_waiting{_OF})",
                "oldest, seconds": f"max(remit_policy_reviews_oldest_seconds{_OF})",
            },
        ),
        (
            "Webhook events",
            "Delivered, failed attempts, and parked.",
            "short",
            {
                "delivered": f"max(remit_webhook_events_delivered{_OF})",
                "failed attempts": f"max(remit_webhook_attempts_failed{_OF})",
                "parked": f"max(remit_webhook_events_parked{_OF})",
            },
        ),
        (
            "Breakers",
            "Denials that filled a denial breaker, and calls refused because a rule tracks as much as it may.",
            "reqps",
            {
                "filled: {{action}}": _rate("remit_breaker_trips_total", "action"),
                "crowded {{of}}": _rate("remit_crowded_denials_total", "of"),
                "filling {{of}}": _rate("remit_approvals_filling_total", "of"),
            },
        ),
        (
            "Shadow policies",
            "Decisions that would have had another result.",
            "reqps",
            {"{{direction}}": f"{_rate('remit_shadow_divergences_total', 'direction')} > 0"},
        ),
        (
            "Outcomes",
            "What became of allowed calls, and limits given back.",
            "reqps",
            {
                "{{status}}": _rate("remit_outcomes_total", "status"),
                "refunds": f"sum(rate(remit_refunds_total{_OF}[$__rate_interval]))",
            },
        ),
    ],
}


def dashboard() -> dict[str, Any]:
    """The dashboard, ready to import."""
    panels: list[dict[str, Any]] = []
    y = 0
    for row, contents in ROWS.items():
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": row,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": 24, "h": 1},
                "panels": [],
            }
        )
        y += 1
        for place, panel in enumerate(contents):
            at = {
                "x": place % _PER_ROW * _WIDTH,
                "y": y + place // _PER_ROW * _HEIGHT,
                "w": _WIDTH,
                "h": _HEIGHT,
            }
            panels.append({"id": len(panels) + 1, "gridPos": at, **_panel(*panel)})
        y += -(-len(contents) // _PER_ROW) * _HEIGHT
    return {
        "uid": "remit",
        "title": "Remit",
        "tags": ["remit"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
                {
                    "name": "instance",
                    "label": "Instance",
                    "type": "query",
                    "datasource": _SOURCE,
                    "query": {"query": "label_values(remit_store_up, instance)", "refId": "instances"},
                    "refresh": 2,
                    "includeAll": True,
                    "multi": True,
                    "current": {"text": "All", "value": "$__all"},
                },
            ]
        },
        "panels": panels,
    }


def _panel(title: str, description: str, unit: str, expressions: dict[str, str]) -> dict[str, Any]:
    heat = "heatmap" in expressions
    targets = [
        {
            "refId": chr(ord("A") + place),
            "datasource": _SOURCE,
            "expr": expression,
            "legendFormat": "{{le}}" if heat else legend,
            **({"format": "heatmap"} if heat else {}),
        }
        for place, (legend, expression) in enumerate(expressions.items())
    ]
    shape: dict[str, Any] = {"fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []}}
    if heat:
        shape = {
            "options": {"calculate": False, "yAxis": {"unit": unit}},
            "fieldConfig": {"defaults": {}, "overrides": []},
        }
    return {
        "type": "heatmap" if heat else "timeseries",
        "title": title,
        "description": description,
        "datasource": _SOURCE,
        "targets": targets,
        **shape,
    }
