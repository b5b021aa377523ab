"""The composition root: no other module builds objects."""

import zoneinfo

from litestar import Litestar

from app.http.application import build_application
from app.metrics import Metrics
from app.replica import open_services
from app.settings import Settings


def create_app(settings: Settings, metrics: Metrics | None = None) -> Litestar:
    """The ASGI application of one replica; it connects to the store when it starts.

    metrics: where it counts; None = in memory of its own.
    """
    # One set of time zones on every replica, the one that is locked; what the system has may be older.
    zoneinfo.reset_tzpath(())
    return build_application(lambda: open_services(settings, metrics))
