"""/metrics: for Prometheus; it needs no key, shows no name, and belongs behind the balancer."""

from litestar import get

from app.errors import StoreUnavailable
from app.metrics import gauge_text
from app.services import Services

_SEALING = (
    ("remit_unsealed_entries", "Audit entries that are not sealed yet.", "unsealed"),
    ("remit_unsealed_entries_longest", "The same of the workspace that has most.", "longest"),
    ("remit_seal_lag_seconds", "Age of the oldest entry that is not sealed yet.", "lag_seconds"),
    ("remit_sealed_segments", "Segments that were ever sealed.", "segments"),
    ("remit_poison_entries", "Audit entries that could not be sealed as they were.", "poison"),
)


@get("/metrics", media_type="text/plain; version=0.0.4")
async def metrics(services: Services) -> str:
    """The numbers of all replicas that share this machine's port, and of the store, in the format of Prometheus."""
    limit = services.settings.audit_backlog_max
    parts = [
        services.metrics.render(),
        gauge_text("remit_unsealed_entries_limit", "Unsealed entries at which a workspace is refused.", limit),
    ]
    try:
        await services.client.call("PING")
        lag = await services.sealing.look()
    except StoreUnavailable:
        lag = None
    else:
        parts += (gauge_text(name, meaning, getattr(lag, field)) for name, meaning, field in _SEALING)
    parts.append(gauge_text("remit_store_up", "Whether the store answered just now.", lag is not None))
    return "".join(parts)
