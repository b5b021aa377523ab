"""The parameters that people see when they are asked about a call: up to 16 KiB unshortened, unlike in the log."""

import re

import msgspec

from app.model.decisions import AuthorizeRequest
from app.redaction.credentials import REDACTED
from app.redaction.recording import recorded
from app.redaction.redactor import Redactor
from app.redaction.signer import Signer

WHOLE_BYTES = 16 * 1024
"""Parameters of up to this many bytes of JSON are shown whole."""
_BODY_BYTES = 8 * WHOLE_BYTES
"""A call with a larger body has more parameters than can be shown whole, however they are escaped."""
_shortened = re.compile(rb'"(sha256|hmac)":').search


def may_be_whole(request: AuthorizeRequest) -> bool:
    """Whether the log may have shortened parameters that people can still see whole."""
    return len(request.body) <= _BODY_BYTES and _shortened(request.recorded_parameters) is not None


def shown_parameters(request: AuthorizeRequest, redactor: Redactor, signer: Signer) -> bytes:
    """The parameters, whole up to 16 KiB and as in the log beyond; secrets are redacted."""
    shown = recorded(request.parameters, redactor, signer, WHOLE_BYTES)
    return shown if len(shown) <= WHOLE_BYTES else request.recorded_parameters


def hides(shown: bytes) -> bool:
    """Whether people see less of the call than its approval binds."""
    return msgspec.json.encode(REDACTED)[1:-1] in shown or _shortened(shown) is not None
