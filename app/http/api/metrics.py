"""/metrics: for Prometheus; it needs no key, shows no names, and must not be reachable from outside."""

from litestar import get
from litestar.di import NamedDependency as Handed

from app.errors import StoreUnavailable
from app.metrics import gauge_text
from app.replica import Services
from app.webhooks.outbox import delivery_counts

_LIMIT, _UP = "remit_unsealed_entries_limit", "remit_store_up"
_OF_SEALING = {
    "remit_unsealed_entries": "unsealed",
    "remit_unsealed_entries_longest": "longest",
    "remit_seal_lag_seconds": "lag_seconds",
    "remit_sealed_segments": "segments",
    "remit_poison_entries": "poison",
    "remit_log_intact_seconds": "intact_seconds",
}
_OF_WEBHOOKS = {
    "remit_webhook_events_delivered": "delivered",
    "remit_webhook_attempts_failed": "failed",
    "remit_webhook_events_parked": "parked",
}
STORE_GAUGES = {
    _UP: "1 if the store answered just now. If it did not, this is 0 and the gauges below are missing.",
    _LIMIT: "Number of unsealed entries at which a workspace's calls are refused.",
    "remit_unsealed_entries": "Audit entries that are not sealed yet.",
    "remit_unsealed_entries_longest": "Unsealed entries of the workspace that has the most.",
    "remit_seal_lag_seconds": "Age of the oldest entry that is not sealed yet.",
    "remit_sealed_segments": "Segments sealed since the log began.",
    "remit_poison_entries": "Audit entries that could not be sealed unchanged.",
    "remit_log_intact_seconds": "Time since a verification last found the log intact; the longest of all workspaces.",
    "remit_webhook_events_delivered": "Webhook events delivered.",
    "remit_webhook_attempts_failed": "Failed attempts to deliver a webhook event.",
    "remit_webhook_events_parked": "Webhook events parked after a day of failed attempts.",
}
"""Metrics that are the same whichever replica is asked: name and meaning."""


@get("/metrics", media_type="text/plain; version=0.0.4")
async def metrics(services: Handed[Services]) -> str:
    """The metrics of all replicas that share this machine's port, and of the store, in Prometheus's format."""
    numbers: dict[str, float] = {_UP: 0}
    try:
        await services.client.call("PING")
        lag = await services.sealing.look()
        told = await delivery_counts(services.client)
    except StoreUnavailable:
        pass
    else:
        numbers = {_UP: 1, _LIMIT: services.settings.audit_backlog_max}
        numbers |= {name: getattr(lag, field) for name, field in _OF_SEALING.items()}
        numbers |= {name: told.get(field, 0) for name, field in _OF_WEBHOOKS.items()}
    gauges = (gauge_text(name, STORE_GAUGES[name], value) for name, value in numbers.items())
    return services.metrics.render() + "".join(gauges)
