"""Bodies of access requests, and the questions in them."""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from app.errors import Invalid, InvalidDenialBinding
from app.http.authzen.entities import Action, EvaluationBody, Object, Resource, Subject, require_json
from app.http.bodies import decode_json
from app.http.tool_calls import Reading, not_a_call
from app.model.access_requests import MAX_ITEMS, Callback
from app.model.api_keys import without_raw_keys
from app.model.fields import Timestamp
from app.model.text import CONTAINS_A_KEY

_STATE_BYTES = 4096
_DEEPEST_CHAIN = 8


class Denial(Struct, frozen=True, kw_only=True):
    """The denial on which an access request rests, with the values from the context of that decision.

    evaluation_id: The evaluation's id.
    expires_at: `access_request.expires_at`. What counts is the time that was recorded.
    evaluated_at: When it was denied.
    reason: The reason.
    template: `access_request.template`.
    binding_token: Never given out here, so one that comes back binds nothing.
    """

    evaluation_id: str | UnsetType = UNSET
    expires_at: Timestamp
    evaluated_at: Timestamp | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    template: str | UnsetType = UNSET
    binding_token: str | UnsetType = UNSET


class RequestedItem(Struct, frozen=True, kw_only=True):
    """One of several requests.

    resource: The resource of the denied evaluation.
    action: The action of the denied evaluation.
    requested_access: What is requested; its members replace those of the same names beside the items.
    denial: The denial of this item; the one beside the items if left out.
    """

    resource: Resource
    action: Action
    requested_access: Object | UnsetType = UNSET
    denial: Denial | UnsetType = UNSET


class AccessRequestBody(Struct, frozen=True, kw_only=True):
    """A request for access that was denied. Fields that are not named here are ignored.

    subject: The subject of the denied evaluation.
    resource: The resource of the denied evaluation, unless there are items.
    action: The action of the denied evaluation, unless there are items.
    items: Several requests, each for a denial of its own.
    context: The context of the denied evaluation, and whatever people should know, such as a justification.
    denial: The denial.
    requested_access: What is requested, such as `requested_until` or `emergency`; people see it, but it grants nothing.
    callback: Who is told how it ended.
    client: Who requests it, and from where; an `actor` must be an agent for which the key may ask.
    """

    aliases: ClassVar[dict[str, str]] = {}
    required_fields: ClassVar[tuple[str, ...]] = ("subject",)

    subject: Subject
    resource: Resource | UnsetType = UNSET
    action: Action | UnsetType = UNSET
    items: Annotated[list[RequestedItem], Meta(min_length=1, max_length=MAX_ITEMS)] | UnsetType = UNSET
    context: Object | UnsetType = UNSET
    denial: Denial | UnsetType = UNSET
    requested_access: Object | UnsetType = UNSET
    callback: Callback | UnsetType = UNSET
    client: Object | UnsetType = UNSET


class CancelTask(Struct, frozen=True, kw_only=True):
    """Why a request is cancelled; the body may be left out.

    reason: For programs.
    comment: For people; part of the log.
    """

    aliases: ClassVar[dict[str, str]] = {}
    required_fields: ClassVar[tuple[str, ...]] = ()

    reason: Annotated[str, Meta(max_length=255)] = ""
    comment: Annotated[str, Meta(max_length=2000)] = ""


class Requested(Struct, frozen=True):
    """One question whose denial is brought forward, and what is requested besides."""

    question: EvaluationBody
    denial: Denial
    requested_access: dict[str, Any]


_decode = msgspec.json.Decoder(AccessRequestBody).decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


def read_access_request(raw: bytes, reading: Reading) -> tuple[AccessRequestBody, Any]:
    """The access request, and its body as plain values. Raises Invalid or PayloadTooLarge."""
    require_json(reading.headers)
    plain = decode_json(raw)
    try:
        body = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_a_call(raw, error, AccessRequestBody, reading.settings.call_bytes_max) from None
    if body.callback is not UNSET:
        _require_state(body.callback)
    return body, plain


def requested(body: AccessRequestBody) -> list[Requested]:
    """Every question of the access request with its denial. Raises Invalid; InvalidDenialBinding if one has none."""
    common = object_of(body.requested_access)
    if body.items is UNSET:
        if body.resource is UNSET or body.action is UNSET:
            raise Invalid.at("$", "must have resource and action, or items")
        if body.denial is UNSET:
            raise InvalidDenialBinding("The access request has no denial to which it could be bound")
        return [Requested(_question(body, body.resource, body.action), body.denial, common)]
    if body.resource is not UNSET or body.action is not UNSET:
        raise Invalid.at("$.items", "replace resource and action, which must be left out")
    several = []
    for index, item in enumerate(body.items):
        denial = body.denial if item.denial is UNSET else item.denial
        if denial is UNSET:
            raise InvalidDenialBinding(
                f"$.items[{index}] has no denial to which it could be bound, nor is one beside the items"
            )
        question = _question(body, item.resource, item.action)
        several.append(Requested(question, denial, common | object_of(item.requested_access)))
    return several


def actors_of(client: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Id and issuer of every actor in the chain that the client claims. Raises Invalid."""
    claimed, chain, actor = client.get("actor"), list[tuple[str, str | None]](), ("id", "issuer")
    while claimed is not None:
        name = claimed.get(actor[0]) if isinstance(claimed, dict) else None
        issuer = claimed.get(actor[1]) if isinstance(claimed, dict) else None
        if not isinstance(name, str) or not isinstance(issuer, str | None) or len(chain) == _DEEPEST_CHAIN:
            raise Invalid.at("$.client.actor", f"must be actors with an id, at most {_DEEPEST_CHAIN} of them")
        chain.append((name, issuer))
        claimed, actor = claimed.get("act"), ("sub", "iss")
    return chain


def object_of(raw: Object | UnsetType) -> dict[str, Any]:
    """The object as plain values; empty if it is left out. Raises Invalid if it is none."""
    try:
        return {} if raw is UNSET else _decode_object(raw)
    except msgspec.ValidationError:
        raise Invalid.at("$", "context, requested_access and client must be objects") from None


def _question(body: AccessRequestBody, resource: Resource, action: Action) -> EvaluationBody:
    return EvaluationBody(subject=body.subject, action=action, resource=resource, context=body.context)


def _require_state(callback: Callback) -> None:
    """Raise Invalid if what is stored for the callback is too long, or contains an API key."""
    state = b"" if callback.state is UNSET else bytes(callback.state)
    if len(state) > _STATE_BYTES:
        raise Invalid.at("$.callback.state", f"must have at most {_STATE_BYTES} bytes")
    if without_raw_keys(state.decode()) != state.decode():
        raise Invalid.at("$.callback.state", CONTAINS_A_KEY)
