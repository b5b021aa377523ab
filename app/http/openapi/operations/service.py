"""The state of the service and its documents, open to everybody."""

from typing import Any

from app.errors import StoreUnavailable
from app.http.api.health import Health
from app.http.openapi.operation import HTML, PROMETHEUS, SCHEMA, Operation

SERVICE = (
    Operation("GET", "/livez", "Whether the process answers", None, "Service", answer=Health),
    Operation(
        "GET", "/readyz", "Whether decisions can be made", None, "Service", answer=Health, errors=(StoreUnavailable,)
    ),
    Operation("GET", "/metrics", "Numbers for Prometheus", None, "Service", answer=str, media=(PROMETHEUS,)),
    Operation("GET", "/schema/openapi.json", "This document", None, "Service", answer=dict[str, Any]),
    Operation(
        "GET",
        "/v1/policies/schema.json",
        "Policy files as a JSON Schema",
        None,
        "Service",
        answer=dict[str, Any],
        media=(SCHEMA,),
        description="For editors: it completes and checks the files that `remit policy apply` takes.",
    ),
    Operation("GET", "/docs", "This document as a page", None, "Service", answer=str, media=(HTML,)),
    Operation(
        "GET",
        "/",
        "To the page",
        None,
        "Service",
        status=302,
        headers={"Location": "`/docs`, this document as a page."},
    ),
)
