"""Calls of keys that are one session each."""

import msgspec
from msgspec.structs import replace

from app.model.decisions import AuthorizeRequest
from app.model.keys import Caller


def in_its_session(caller: Caller, request: AuthorizeRequest) -> AuthorizeRequest:
    """The call, whose `context.session` is the key's id, whatever the request says: policies and log see that."""
    recorded = msgspec.json.decode(request.recorded_context or b"{}") | {"session": caller.key_id}
    context = {**(request.context or {}), "session": caller.key_id}
    return replace(request, context=context, recorded_context=msgspec.json.encode(recorded), session=caller.key_id)
