"""Calls made with keys that are a session of their own."""

import msgspec
from msgspec.structs import replace

from app.model.decisions import AuthorizeRequest
from app.model.keys import Caller


def in_its_session(caller: Caller, request: AuthorizeRequest) -> AuthorizeRequest:
    """The call with the key's id as `context.session`, whatever the request says; policies and log see that id."""
    recorded = msgspec.json.decode(request.recorded_context or b"{}") | {"session": caller.key_id}
    context = {**(request.context or {}), "session": caller.key_id}
    return replace(request, context=context, recorded_context=msgspec.json.encode(recorded), session=caller.key_id)
