"""The state of the service and its documents; no key is needed."""

from typing import Any

from app.errors import StoreUnavailable
from app.http.api.health import Health
from app.http.openapi.operation import HTML, PROMETHEUS, SCHEMA, Operation

SERVICE = (
    Operation("GET", "/livez", "Check that the process answers", None, "Service", answer=Health),
    Operation(
        "GET", "/readyz", "Check that decisions can be made", None, "Service", answer=Health, errors=(StoreUnavailable,)
    ),
    Operation("GET", "/metrics", "Read the metrics, for Prometheus", None, "Service", answer=str, media=(PROMETHEUS,)),
    Operation("GET", "/schema/openapi.json", "This document", None, "Service", answer=dict[str, Any]),
    Operation(
        "GET",
        "/v1/policies/schema.json",
        "Read the JSON Schema of policy files",
        None,
        "Service",
        answer=dict[str, Any],
        media=(SCHEMA,),
        description="For editors: it completes and checks the files that `remit policy apply` takes.",
    ),
    Operation("GET", "/docs", "Read this document as a page", None, "Service", answer=str, media=(HTML,)),
    Operation(
        "GET",
        "/",
        "Redirect to the page",
        None,
        "Service",
        status=302,
        headers={"Location": "`/docs`, this document as a page."},
    ),
)
