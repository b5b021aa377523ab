"""/metrics: for Prometheus; it needs no key, shows no name, and belongs behind the balancer."""

from litestar import get
from litestar.di import NamedDependency as Handed

from app.errors import StoreUnavailable
from app.metrics import gauge_text
from app.replica import Services

_LIMIT, _UP = "remit_unsealed_entries_limit", "remit_store_up"
_OF_SEALING = {
    "remit_unsealed_entries": "unsealed",
    "remit_unsealed_entries_longest": "longest",
    "remit_seal_lag_seconds": "lag_seconds",
    "remit_sealed_segments": "segments",
    "remit_poison_entries": "poison",
}
STORE_GAUGES = {
    _UP: "Whether the store answered just now; what follows is left out where it did not.",
    _LIMIT: "Unsealed entries at which a workspace is refused.",
    "remit_unsealed_entries": "Audit entries that are not sealed yet.",
    "remit_unsealed_entries_longest": "The same of the workspace that has most.",
    "remit_seal_lag_seconds": "Age of the oldest entry that is not sealed yet.",
    "remit_sealed_segments": "Segments that were ever sealed.",
    "remit_poison_entries": "Audit entries that could not be sealed as they were.",
}
"""What is the same whichever replica is asked: name and meaning."""


@get("/metrics", media_type="text/plain; version=0.0.4")
async def metrics(services: Handed[Services]) -> str:
    """The numbers of all replicas that share this machine's port, and of the store, in the format of Prometheus."""
    numbers: dict[str, float] = {_UP: 0}
    try:
        await services.client.call("PING")
        lag = await services.sealing.look()
    except StoreUnavailable:
        pass
    else:
        numbers = {_UP: 1, _LIMIT: services.settings.audit_backlog_max}
        numbers |= {name: getattr(lag, field) for name, field in _OF_SEALING.items()}
    gauges = (gauge_text(name, STORE_GAUGES[name], value) for name, value in numbers.items())
    return services.metrics.render() + "".join(gauges)
