"""Agents as the store keeps them."""

import msgspec

from app.model.agents import DEFAULT_TYPE, Agent, AgentStatus, Trip
from app.redis_client.client import Value
from app.redis_client.replies import decoding_record, number_of

_groups_from_json = msgspec.json.Decoder(tuple[str, ...]).decode


def groups_of(written: str | None) -> tuple[str, ...]:
    """The groups in an agent's record. Raises ForeignData."""
    with decoding_record("The groups of an agent"):
        return _groups_from_json(written) if written else ()


def agent_of(record: dict[str, str]) -> Agent:
    """The agent that a record describes. Raises ForeignData."""
    with decoding_record(f"The record of agent {record.get('id', '')}"):
        return Agent(
            id=record["id"],
            name=record["name"],
            description=record.get("description"),
            status=AgentStatus(record["status"]),
            groups=groups_of(record.get("groups")),
            alias=record.get("alias"),
            type=record.get("type", DEFAULT_TYPE),
            created_ms=number_of(record["created_ms"]),
            updated_ms=number_of(record["updated_ms"]),
            revision=number_of(record["revision"]),
            version=record["version"],
            active_since=number_of(record.get("active_since", "0")),
            remembers_since=number_of(record.get("remembers_since", "0")),
            tripped=Trip(*record["tripped"].split()) if "tripped" in record else None,
        )


def fields_of(agent: Agent) -> list[Value]:
    """The fields of the agent's record, names and values; the script adds times and version."""
    fields: list[Value] = ["id", agent.id, "name", agent.name, "status", agent.status.value]
    if agent.description is not None:
        fields += ["description", agent.description]
    if agent.type != DEFAULT_TYPE:
        fields += ["type", agent.type]
    if agent.groups:
        fields += ["groups", msgspec.json.encode(agent.groups)]
    if agent.active_since:
        fields += ["active_since", agent.active_since]
    if agent.remembers_since:
        fields += ["remembers_since", agent.remembers_since]
    if agent.tripped is not None:
        fields += ["tripped", f"{agent.tripped.policy_id} {agent.tripped.decision_id}"]
    return fields
