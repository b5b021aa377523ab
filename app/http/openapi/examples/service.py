"""The service's own state."""

from typing import Any

from app.http.api.health import Health

BODIES: dict[type, dict[str, Any]] = {}
ANSWERS: dict[type, Any] = {
    Health: {"status": "ok"},
}
