"""Makes Litestar decode bodies with `app.http.bodies`, in a thread if that takes long."""

from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.dto import AbstractDTO

from app.http.bodies import Body, decode_body, read_body, require_content
from app.model.rules import MANY_PATTERNS

_IN_THE_LOOP = 32 * 1024
"""The longest body decoded directly on the event loop, in bytes."""
_DECODED = "decoded_body"


class BodyRequest(Request[Any, Any, Any]):
    """A request whose body is read within our limits, and is complete or an error.

    A body that is long, or may contain many patterns to compile, is decoded in a thread while the loop serves others.
    """

    async def body(self) -> bytes:
        raw = await read_body(self.receive, _kind_of(self).max_bytes)
        # Litestar would treat an empty body as no body, and report that in its own words.
        require_content(raw)
        is_known = "caller" in self.scope["state"]  # a sign-in is by somebody who is not known yet, and is short
        if is_known and (len(raw) > _IN_THE_LOOP or raw.count(b"egex") > MANY_PATTERNS or b"parameter_schema" in raw):
            self.scope["state"][_DECODED] = await _decoded(self, raw)
        return raw


async def _decoded(request: Request[Any, Any, Any], raw: bytes) -> Body:
    services, caller = request.app.state.services, request.scope["state"]["caller"]
    decoded: Body = await services.pool.run(caller.workspace_id, decode_body, raw, _kind_of(request))
    return decoded


def _kind_of(connection: ASGIConnection[Any, Any, Any, Any]) -> type[Body]:
    kind: type[Body] = connection.route_handler.parsed_data_field.annotation
    return kind


class BodyDTO(AbstractDTO[Body]):
    """Makes Litestar decode `data` with `decode_body`."""

    def decode_bytes(self, value: bytes) -> Body:
        decoded: Body | None = self.asgi_connection.scope["state"].pop(_DECODED, None)
        return decode_body(value, _kind_of(self.asgi_connection)) if decoded is None else decoded

    @classmethod
    def create_for_field_definition(cls, field_definition: Any, handler_id: str, backend_cls: Any = None) -> None:
        """Nothing to prepare: the struct itself is decoded."""

    @classmethod
    def is_supported_model_type_field(cls, field_definition: Any) -> bool:  # noqa: ARG003 - Litestar's signature
        """Only request bodies come through here; answers are encoded directly."""
        return False

    @classmethod
    def generate_field_definitions(cls, model_type: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def detect_nested_field(cls, field_definition: Any) -> bool:
        raise NotImplementedError
