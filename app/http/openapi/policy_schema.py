"""/v1/policies/schema.json: the JSON Schema of policy files."""

from functools import cache

import msgspec
from litestar import Response, get

from app.http.openapi.operation import SCHEMA
from app.policy_files.schema import schema


@get("/v1/policies/schema.json")
async def policy_schema() -> Response[bytes]:
    """The schema; the same bytes as long as the process runs."""
    return Response(_encoded(), media_type=SCHEMA)


@cache
def _encoded() -> bytes:
    return msgspec.json.encode(schema())
