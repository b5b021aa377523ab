"""The composition root: only this module builds objects."""

import zoneinfo

from litestar import Litestar

from app.http.application import build_application
from app.http.openapi.page import prepare_pages
from app.lane import Lane
from app.metrics import Metrics
from app.replica import open_services
from app.settings import Settings
from app.throttling.request_rate import RequestRates


def create_app(
    settings: Settings, metrics: Metrics | None = None, lane: Lane | None = None, rates: RequestRates | None = None
) -> Litestar:
    """The ASGI application of one replica; it connects to the store when it starts.

    metrics: where it counts; None = private memory. lane: the lane that serves it; None = the replica's only process.
    rates: where it counts the requests of each key; None = private memory.
    """
    # Every replica uses the packaged time zone data; the system's may be older.
    zoneinfo.reset_tzpath(())
    prepare_pages()
    return build_application(lambda: open_services(settings, metrics, lane, rates))
