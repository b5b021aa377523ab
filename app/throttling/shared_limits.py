"""The limits that both lanes of a replica count together."""

from msgspec import Struct

from app.throttling.auth_failures import AuthFailures
from app.throttling.request_rate import RequestRates


class SharedLimits(Struct, frozen=True):
    """Processes forked after they were made share their counts."""

    request_rates: RequestRates
    auth_failures: AuthFailures
