"""/livez, /readyz and /metrics: for load balancers, container engines and Prometheus.

They need no key. /metrics shows no names, and must not be reachable from outside.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from app.errors import StoreUnavailable
from app.http.endpoint import endpoint
from app.replica import Services
from app.runtime.metrics import gauge_text
from app.store.readiness import SLOW_MS
from app.webhooks.outbox import delivery_counts

_PUBLIC: dict[str, Any] = {"tag": "Service", "scopes": ()}
_TEXT = "text/plain; version=0.0.4"
_LIMIT, _UP = "remit_unsealed_entries_limit", "remit_store_up"
_CLOCK = "remit_store_clock_ahead_seconds"
_OF_SEALING = {
    "remit_unsealed_entries": "unsealed",
    "remit_unsealed_entries_longest": "longest",
    "remit_seal_lag_seconds": "lag_seconds",
    "remit_sealed_segments": "segments",
    "remit_poison_entries": "poison",
    "remit_log_intact_seconds": "intact_seconds",
    "remit_checkpoint_witnessed_seconds": "witnessed_seconds",
    "remit_checkpoint_forks": "forks",
    "remit_quota_time_ahead_seconds": "quota_ahead_seconds",
}
_OF_PEOPLE = {
    "remit_approvals_waiting": "approvals",
    "remit_approvals_oldest_seconds": "oldest_seconds",
    "remit_policy_reviews_waiting": "reviews",
    "remit_policy_reviews_oldest_seconds": "oldest_review_seconds",
}
_OF_WEBHOOKS = {
    "remit_webhook_events_delivered": "delivered",
    "remit_webhook_attempts_failed": "failed",
    "remit_webhook_events_parked": "parked",
}
STORE_GAUGES = {
    _UP: "1 if the store answered just now. If it did not, this is 0 and the gauges below are missing.",
    _LIMIT: "Number of unsealed entries at which a workspace's calls are refused.",
    _CLOCK: "The store's clock less this machine's.",
    "remit_quota_time_ahead_seconds": "How far the store's clock has gone back in all; of the workspaces, the most.",
    "remit_unsealed_entries": "Audit entries that are not sealed yet.",
    "remit_unsealed_entries_longest": "Unsealed entries of the workspace that has the most.",
    "remit_seal_lag_seconds": "Age of the oldest entry that is not sealed yet.",
    "remit_sealed_segments": "Segments sealed since the log began.",
    "remit_poison_entries": "Audit entries that could not be sealed unchanged.",
    "remit_log_intact_seconds": "Time since a verification last found the log intact; the longest of all workspaces.",
    "remit_checkpoint_witnessed_seconds": "Time for which a signed checkpoint has lacked a witness's signature.",
    "remit_checkpoint_forks": "Logs and trails that are signed no more, because they do not continue what was signed.",
    "remit_approvals_waiting": "Approvals that wait for a person.",
    "remit_approvals_oldest_seconds": "How long the call that waits longest has waited for a person; 0 = none.",
    "remit_policy_reviews_waiting": "Changes of policies that wait for a second person.",
    "remit_policy_reviews_oldest_seconds": "How long the oldest change of policies that waits has waited; 0 = none.",
    "remit_webhook_events_delivered": "Webhook events delivered.",
    "remit_webhook_attempts_failed": "Failed attempts to deliver a webhook event.",
    "remit_webhook_events_parked": "Webhook events parked after a day of failed attempts.",
}
"""Metrics that are the same whichever replica is asked: name and meaning."""


class Health(Struct, frozen=True):
    """`ok`; otherwise the request is answered with an error.

    status: `ok`.
    store: Only if the store is slow: how long its fastest reply took just now, for which each decision waits.
    """

    status: str
    store: str | UnsetType = UNSET


@endpoint("GET", "/livez", **_PUBLIC)
async def livez() -> Health:
    """Check that the process answers."""
    # Nothing else is checked. If this fails, restart the replica.
    return Health("ok")


@endpoint("GET", "/readyz", **_PUBLIC, errors=(StoreUnavailable,))
async def readyz(services: Services) -> Health:
    """Check that decisions can be made."""
    # Both lanes reach the store; it accepts writes, knows the scripts, and has room.
    await services.readiness.require()
    reply_ms = services.readiness.reply_ms
    # Not 503: the store is as slow for all replicas, and a balancer would be left with none.
    return Health("ok", f"slow: its fastest reply took {reply_ms:.0f} ms" if reply_ms > SLOW_MS else UNSET)


PROBES: dict[str, Callable[[Services], Awaitable[Health]]] = {"/livez": lambda _: livez.fn(), "/readyz": readyz.fn}
"""What is asked so often, and by so many, that it is answered before the router, in the fast lane."""


@endpoint("GET", "/metrics", **_PUBLIC, media=(f"{_TEXT}; charset=utf-8",), litestar={"media_type": _TEXT})
async def metrics(services: Services) -> str:
    """Read the metrics, for Prometheus."""
    # Of all replicas that share this machine's port, and of the store.
    numbers: dict[str, float] = {_UP: 0}
    try:
        ahead_s = await services.log.sealing.clock_ahead_seconds()
        lag = await services.log.sealing.look()
        waiting = await services.records.waiting.look()
        told = await delivery_counts(services.client)
    except StoreUnavailable:
        pass
    else:
        numbers = {_UP: 1, _LIMIT: services.settings.audit_backlog_max, _CLOCK: round(ahead_s, 3)}
        numbers |= {name: getattr(lag, field) for name, field in _OF_SEALING.items()}
        numbers |= {name: getattr(waiting, field) for name, field in _OF_PEOPLE.items()}
        numbers |= {name: told.get(field, 0) for name, field in _OF_WEBHOOKS.items()}
    gauges = (gauge_text(name, STORE_GAUGES[name], value) for name, value in numbers.items())
    return services.metrics.render() + "".join(gauges)
