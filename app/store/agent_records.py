"""Agents as the store keeps them."""

import msgspec

from app.model.agents import Agent, AgentStatus, Trip

_groups_from_json = msgspec.json.Decoder(tuple[str, ...]).decode


def agent_of(record: dict[str, str]) -> Agent:
    """The agent that a record describes."""
    return Agent(
        id=record["id"],
        name=record["name"],
        description=record.get("description"),
        status=AgentStatus(record["status"]),
        groups=_groups_from_json(record.get("groups", "[]")),
        alias=record.get("alias"),
        created_ms=int(record["created_ms"]),
        updated_ms=int(record["updated_ms"]),
        revision=int(record.get("revision", 1)),
        version=record["version"],
        active_since=int(record.get("active_since", 0)),
        tripped=Trip(*record["tripped"].split()) if "tripped" in record else None,
    )
