"""/v1/policies/schema.json: policy files as a JSON Schema, so that editors complete and check them."""

from functools import cache
from typing import Any

import msgspec
from litestar import Response, get

from app.http.openapi.operation import SCHEMA
from app.http.openapi.schemas import described
from app.policy_files.policy_file import PolicySetFile

_REF = "#/$defs/{name}"


@get("/v1/policies/schema.json")
async def policy_schema() -> Response[bytes]:
    """The schema; the same bytes for as long as the process runs."""
    return Response(_encoded(), media_type=SCHEMA)


@cache
def schema() -> dict[str, Any]:
    """The schema of a policy file, made of the structs that read it."""
    schemas = described([PolicySetFile], _REF)
    own = schemas.pop(PolicySetFile.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policies of Remit",
        **own,
        "$defs": schemas,
    }


@cache
def _encoded() -> bytes:
    return msgspec.json.encode(schema())
