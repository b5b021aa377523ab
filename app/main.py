"""The composition root: the application of a replica whose parts `replica` makes; nothing else builds objects."""

import zoneinfo

from litestar import Litestar

from app.http.application import build_application
from app.http.routes import prepare_pages
from app.replica import open_services, shared_limits
from app.runtime.fairness.request_rates import SharedLimits
from app.runtime.lanes.lane import Lane
from app.runtime.metrics import Metrics
from app.settings import Settings


def create_app(
    settings: Settings, metrics: Metrics | None = None, lane: Lane | None = None, shared: SharedLimits | None = None
) -> Litestar:
    """The ASGI application of one replica; it connects to the store when it starts.

    metrics: where it counts; None = private memory. lane: the lane that serves it; None = the replica's only process.
    shared: the limits that it shares with the replica's other lane; None = its own.
    """
    # Every replica uses the packaged time zone data; the system's may be older.
    zoneinfo.reset_tzpath(())
    prepare_pages()
    metrics, lane, shared = metrics or Metrics(), lane or Lane(), shared or shared_limits(settings)
    return build_application(
        lambda: open_services(settings, metrics, lane, shared),
        has_console=settings.console,
        public_url=settings.public_url,
    )
