"""AuthZEN's subject, action, resource and context, and the tool call that they are."""

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import replace

from app.errors import AgentNotFound, Invalid
from app.http.answers import Header
from app.http.bodies import count_keys, not_json
from app.http.own_fields import own_fields
from app.http.tool_calls import Reading, tool_call
from app.model.agents import agent_named
from app.model.bound_call import ENTITIES
from app.model.decisions import AuthorizeRequest
from app.model.ids import uuid_of
from app.model.text import VISIBLE
from app.redaction.recording import recorded
from app.redaction.redactor import Redactor
from app.redaction.signer import UNSIGNED

TOOL = "tool"
"""The type of resource that is a tool by itself; of any other type, each action is one."""

_OBJECT: dict[str, Any] = {"type": "object"}
Object = Annotated[Raw, Meta(extra_json_schema=_OBJECT)]
"""An object as written: an approval binds numbers digit by digit."""

Properties = Annotated[Object, Meta(description="Attributes that policies can read.")]
Word = Annotated[str, Meta(min_length=1, max_length=255, extra_json_schema=VISIBLE)]
EntityId = Annotated[str, Meta(min_length=1)]
_ENTITIES = frozenset(ENTITIES)
_FEWEST = 3 + 2 + 1 + 2
"""The keys of a question: the entities, and what each must have."""

_QUICK_CHARACTERS = 512
_AROUND = 64
"""The most bytes by which a call as written is longer than its question, besides the id, which it may have twice."""
_NOBODYS = "00000000-0000-0000-0000-000000000000"
_NONE: dict[str, Any] = {}
_encode = msgspec.json.Encoder().encode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


class Subject(Struct, frozen=True, kw_only=True):
    """Who asks: an agent.

    type: The agent's type, unless `context.agent` names the agent.
    id: The agent's id or alias, unless `context.agent` names the agent.
    """

    type: Word
    id: EntityId
    properties: Properties | UnsetType = UNSET


class Action(Struct, frozen=True, kw_only=True):
    """What is attempted.

    name: With the resource's type, the name of the tool: `record.read`.
    """

    name: Word
    properties: Properties | UnsetType = UNSET


class Resource(Struct, frozen=True, kw_only=True):
    """What it is attempted on.

    type: `tool` if the resource is a tool by itself.
    id: The parameter `id` of the call; of a tool, its name.
    properties: Further parameters of the call.
    """

    type: Word
    id: EntityId
    properties: Properties | UnsetType = UNSET


_KINDS = {"subject": Subject, "action": Action, "resource": Resource}
QUESTION = {name: own_fields(*kind.__struct_fields__) for name, kind in _KINDS.items()}
"""The fields of each entity."""


class _Named(Struct, frozen=True):
    """A resource as the context has it: its properties are the call's parameters."""

    type: str
    id: str


class EvaluationBody(Struct, frozen=True, kw_only=True):
    """May the subject do this? Fields that are not named here are ignored.

    subject: Who asks.
    action: What is attempted.
    resource: What it is attempted on.
    context: What the caller vouches for besides the entities. `agent` names the agent instead of the subject, and
    `approval` the approval of an access request's result.
    """

    aliases: ClassVar[dict[str, str]] = {}
    required_fields: ClassVar[tuple[str, ...]] = ("subject", "action", "resource")

    subject: Subject
    action: Action
    resource: Resource
    context: Object | UnsetType = UNSET


def require_json(headers: Iterable[Header]) -> None:
    """Raise Invalid unless the body is announced as JSON, once."""
    kinds = [value for name, value in headers if name == b"content-type"]
    if len(kinds) != 1 or kinds[0].partition(b";")[0].strip().lower() != b"application/json":
        raise Invalid.at("Content-Type", "must be application/json")


def call_of(asked: EvaluationBody, reading: Reading, size: int | None = None) -> tuple[AuthorizeRequest, int]:
    """The tool call that is asked about, and how many keys the question has, besides those that nothing reads.

    `context.agent`, if it is text, names the agent in place of the subject, and `context.approval` the approval.
    size: of the question as JSON, in bytes, or an upper bound; None = not known yet.
    Raises Invalid, PayloadTooLarge; AgentNotFound if no agent can be meant.
    """
    subject, action, resource = asked.subject, asked.action, asked.resource
    own, given = _object(resource.properties, "resource.properties"), _object(asked.context, "context")
    is_bare = asked.context is UNSET and subject.properties is UNSET and action.properties is UNSET
    if not (is_bare or _ENTITIES.isdisjoint(given)):
        raise Invalid.at("$.context", "has subject, action or resource, which are fields beside the context")
    agent = given.get("agent")
    named, kind = (agent, "") if isinstance(agent, str) else (subject.id, subject.type)
    called = agent_named(named)
    if called is None:
        raise AgentNotFound("No agent can have this id")
    parameters = own
    if resource.type == TOOL:
        tool = resource.id
    else:
        tool = f"{resource.type}.{action.name}"
        if own.get("id", resource.id) != resource.id:
            raise Invalid.at("$.resource.properties.id", "differs from $.resource.id, which becomes the parameter `id`")
        parameters = {"id": resource.id, **own}
    actor: dict[str, Any] = {"type": subject.type, "id": subject.id}
    verb: dict[str, Any] = {"name": action.name}
    context: dict[str, Any] = {"subject": actor, "action": verb, "resource": {"type": resource.type, "id": resource.id}}
    keys = _FEWEST if own is _NONE else _FEWEST + 1 + count_keys(own)
    if not is_bare:
        context = given | context
        keys += 0 if given is _NONE else 1 + count_keys(given)
        for entity, properties, name in (
            (actor, subject.properties, "subject.properties"),
            (verb, action.properties, "action.properties"),
        ):
            if properties is not UNSET:
                entity["properties"] = read = _object(properties, name)
                keys += 1 + count_keys(read)
    try:
        call = tool_call(
            partial(_as_written, asked),
            (len(_encode(asked)) if size is None else size) + 6 * len(resource.id) + _AROUND,
            reading,
            agent_id=called,
            tool_name=tool,
            action=action.name,
            parameters=parameters,
            context=context,
            approval_id=_approval_named(given["approval"]) if "approval" in given else "",
            agent_type=kind,
            recorded_context=_recorded(asked, reading) if is_bare else None,
        )
    except Invalid as error:
        raise _in_standard_words(error, resource) from None
    return replace(call, asks_anew=True) if call.approval_id else call, keys


def named_agent(context: Raw | UnsetType) -> str | None:
    """The agent that the context names in place of the subject, if it names one. Raises Invalid."""
    named = _object(context, "context").get("agent")
    return named if isinstance(named, str) else None


def _object(raw: Raw | UnsetType, name: str) -> dict[str, Any]:
    """The object in `raw`; `_NONE` if it is left out."""
    if raw is UNSET:
        return _NONE
    try:
        return _decode_object(raw)
    except msgspec.ValidationError as error:
        raise Invalid.at(f"$.{name}", str(error)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise not_json(error) from None


def _as_written(asked: EvaluationBody) -> bytes:
    """The call's parameters and context as the caller wrote them."""
    return b'{"parameters":%b,"context":%b}' % (_parameters_as_written(asked.resource), _context_as_written(asked))


def _parameters_as_written(resource: Resource) -> bytes:
    own = b"{}" if resource.properties is UNSET else bytes(resource.properties)
    if resource.type == TOOL:
        return own
    inside = own[1:].lstrip()
    return b'{"id":%b%b%b' % (_encode(resource.id), b"" if inside.startswith(b"}") else b",", inside)


def _context_as_written(asked: EvaluationBody) -> bytes:
    named = _encode(
        {"subject": asked.subject, "action": asked.action, "resource": _Named(asked.resource.type, asked.resource.id)}
    )
    if asked.context is UNSET:
        return named
    inside = bytes(asked.context)[1:].lstrip()
    return named[:-1] + (b"" if inside.startswith(b"}") else b",") + inside


def _recorded(asked: EvaluationBody, reading: Reading) -> bytes | None:
    """The context for the log, if it has only entities, most of which recur, without properties; None if it is long."""
    subject, resource = asked.subject, asked.resource
    if len(subject.id) + len(resource.id) > _QUICK_CHARACTERS:
        return None
    redactor = reading.redactor
    return _recorded_asker(redactor, subject.type, subject.id, asked.action.name) + _recorded_resource(
        redactor, resource.type, resource.id
    )


@lru_cache(maxsize=4096)
def _recorded_asker(redactor: Redactor, kind: str, subject_id: str, action: str) -> bytes:
    subject = recorded({"type": kind, "id": subject_id}, redactor, UNSIGNED, "")
    return b'{"subject":%b,"action":%b,"resource":' % (subject, recorded({"name": action}, redactor, UNSIGNED, ""))


@lru_cache(maxsize=4096)
def _recorded_resource(redactor: Redactor, kind: str, resource_id: str) -> bytes:
    return recorded({"type": kind, "id": resource_id}, redactor, UNSIGNED, "") + b"}"


def _approval_named(approval: Any) -> str:
    """The id of the approval that the context carries; "" if it carries none.

    One that cannot be ours names none that exists: it has another form of id, or a `state`, which we never give out.
    """
    if approval is None:
        return ""
    if not isinstance(approval, dict) or not isinstance(approval.get("id"), str):
        raise Invalid.at("$.context.approval", "must be the approval of a result: an object with an `id`")
    return _NOBODYS if "state" in approval else uuid_of(approval["id"]) or _NOBODYS


def _in_standard_words(error: Invalid, resource: Resource) -> Invalid:
    """The refusal of a tool call, with the places of the entities that it was made of."""
    tool = "$.resource.id" if resource.type == TOOL else "$.resource.type and $.action.name joined by a dot"
    where = {"$.tool_name": tool, "$.action": "$.action.name"}
    detail = error.details[0]
    return Invalid.at(where.get(detail.path, detail.path), detail.message)
