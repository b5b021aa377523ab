"""Field types with one meaning throughout the API; the OpenAPI document shows their descriptions."""

from typing import Annotated

from msgspec import Meta

from app.model.text import Name, VisibleLines

Scalar = str | int | float | bool | None
Uuid = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
Timestamp = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Count = Annotated[int, Meta(extra_json_schema={"minimum": 0})]
Ordinal = Annotated[int, Meta(extra_json_schema={"minimum": 1})]

Id = Annotated[Uuid, Meta(description="Identifier.")]
AgentId = Annotated[Uuid, Meta(description="The agent's id.")]
DisplayName = Annotated[Name, Meta(description="Display name; no control, bidirectional or zero-width characters.")]
CreatedAt = Annotated[Timestamp, Meta(description="When it was created.")]
UpdatedAt = Annotated[Timestamp, Meta(description="When it last changed.")]
VersionNumber = Annotated[
    Ordinal, Meta(description="1 on creation, one more with every change; the same number as in ETag.")
]
AgentMessage = Annotated[
    VisibleLines,
    Meta(
        min_length=1,
        max_length=500,
        description="A message for the agent, sent with the reason if the policy gives a result other than allowed.",
    ),
]
AgentDescription = Annotated[
    VisibleLines, Meta(max_length=2000, description="What the agent is for; may contain line breaks.")
]
