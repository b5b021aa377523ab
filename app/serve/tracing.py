"""Tracing, if it is switched on. Otherwise nothing of OpenTelemetry is imported."""

from typing import Any

from app.settings import Settings, SettingsError


def require_tracing(settings: Settings) -> None:
    """Raises SettingsError if tracing is switched on but OpenTelemetry is not installed."""
    if settings.tracing:
        _spans()


def traced(app: Any, settings: Settings) -> Any:
    """The application; with a span for each of its requests, if the settings say so. Raises SettingsError."""
    return _spans().Traced(app, _spans().open_provider()) if settings.tracing else app


def _spans() -> Any:
    try:
        from app.serve import otel_spans  # noqa: PLC0415 - it and all that it needs is an extra
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("opentelemetry"):
            raise
        raise SettingsError("REMIT_TRACING needs the extra `otel`: pip install -e '.[otel]' in a checkout") from None
    return otel_spans
