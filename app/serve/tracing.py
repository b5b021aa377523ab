"""Tracing, if it is switched on. Otherwise nothing of OpenTelemetry is imported."""

from typing import Any

from app.settings import Settings, SettingsError


def require_tracing(settings: Settings) -> None:
    """Raise SettingsError if tracing is switched on but OpenTelemetry is not installed."""
    if settings.tracing:
        _spans()


def traced(app: Any, settings: Settings) -> Any:
    """The application, with a span for each request if tracing is switched on. Raises SettingsError."""
    return _spans().Traced(app, _spans().open_provider()) if settings.tracing else app


def _spans() -> Any:
    try:
        from app.serve import otel_spans  # noqa: PLC0415 - its dependencies are an extra
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("opentelemetry"):
            raise
        raise SettingsError("REMIT_TRACING needs the extra `otel`: pip install -e '.[otel]' in a checkout") from None
    return otel_spans
