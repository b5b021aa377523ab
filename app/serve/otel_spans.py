"""Makes a span for each request with OpenTelemetry and sends it to a collector. Loaded by `tracing`, if switched on.

OpenTelemetry's own middleware is not used. It writes the query into the span, and any header that a variable names,
even `Authorization`; it fails at a query that is not UTF-8; and it takes twice as long as a decision. Here, the only
thing in a span that a caller chooses is the trace it belongs to. The id of a decision leads to its entry in the log.
"""

import asyncio
import contextlib
import re
import threading
from http import HTTPMethod
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app.http.routes import ENDPOINTS
from app.runtime.logs import DECISION_ID

_UNTRACED = frozenset({"/livez", "/metrics", "/readyz"})
"""Routes that machines poll all the time."""
_LAST_SPANS_SECONDS = 3.0
"""The time that a stopping replica waits for a collector."""
_SERVER_ERROR = 500
_METHODS = frozenset(HTTPMethod)
_FIXED = frozenset(each.path for each in ENDPOINTS if "{" not in each.path)
_WITH_ID = {each.path for each in ENDPOINTS} - _FIXED
_ROUTES = [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in sorted(_WITH_ID)]
_of_another = TraceContextTextMapPropagator()


def open_provider() -> TracerProvider:
    """A provider that sends spans over OTLP as the OTEL_* variables say; the service is named `remit` by default."""
    resource = Resource.create()
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "remit"}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)  # a signal runs no exit handlers
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


class Traced:
    """An ASGI application whose requests each have a span, within the caller's trace if there is a `traceparent`."""

    def __init__(self, app: Any, provider: TracerProvider) -> None:
        self._app = app
        self._provider = provider
        self._tracer = provider.get_tracer("remit")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one ASGI event."""
        if scope["type"] == "http" and scope["path"] not in _UNTRACED:
            await self._trace(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, self._flushing(send))
        else:
            await self._app(scope, receive, send)

    async def _trace(self, scope: Any, receive: Any, send: Any) -> None:
        span = self._span_of(scope)
        DECISION_ID.set(None)

        async def seen(message: Any) -> None:
            if message["type"] == "http.response.start":
                _note_status(span, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, seen)
        except BaseException as error:
            # The error's class, not its message, which may contain a caller's data.
            _note_failure(span, type(error).__name__)
            raise
        finally:
            if (decision_id := DECISION_ID.get()) is not None:
                span.set_attribute("remit.decision.id", decision_id)
            span.end()

    def _span_of(self, scope: Any) -> Span:
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        route = route_of(scope["path"])
        parent = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"traceparent"), "")
        return self._tracer.start_span(
            f"{method} {route}",
            _of_another.extract({"traceparent": parent}),
            SpanKind.SERVER,
            {"http.request.method": method, "http.route": route, "url.scheme": scope["scheme"]},
        )

    def _flushing(self, send: Any) -> Any:
        """`send`, which flushes the last spans before a shutdown completes."""

        async def flushed(message: Any) -> None:
            if message["type"].startswith("lifespan.shutdown."):
                await self._flush()
            await send(message)

        return flushed

    async def _flush(self) -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def flush() -> None:
            self._provider.shutdown()
            with contextlib.suppress(RuntimeError):  # the loop has closed: the wait had ended before
                loop.call_soon_threadsafe(done.set)

        # A thread that is not waited for: without a collector, this takes as long as OpenTelemetry keeps retrying.
        threading.Thread(target=flush, daemon=True).start()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _LAST_SPANS_SECONDS)


def route_of(path: str) -> str:
    """The path as in the API's description, with names in place of ids; `/…` for any other path."""
    if path in _FIXED:
        return path
    return next((route for pattern, route in _ROUTES if pattern.fullmatch(path)), "/…")


def _note_status(span: Span, status: int) -> None:
    span.set_attribute("http.response.status_code", status)
    if status >= _SERVER_ERROR:
        _note_failure(span, str(status))


def _note_failure(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)
