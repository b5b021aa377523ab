"""API keys."""

from app.errors import AgentNotFound, ApiKeyNotFound, LastAdminKey, LimitReached
from app.http.api.api_keys import CreateApiKey
from app.http.openapi.operation import ADMIN, Operation
from app.http.openapi.parameters import CHANGE_REASON, FORCE, LIMIT, OFFSET
from app.views.api_keys import ApiKeyView, CreatedApiKey

API_KEYS = (
    Operation(
        "POST",
        "/v1/api-keys",
        "Create an API key",
        ADMIN,
        "API keys",
        body=CreateApiKey,
        status=201,
        answer=CreatedApiKey,
        request_headers=(CHANGE_REASON,),
        errors=(AgentNotFound, LimitReached),
        description="The raw key is in this answer and never shown again.",
    ),
    Operation(
        "GET",
        "/v1/api-keys",
        "List API keys, oldest first",
        ADMIN,
        "API keys",
        query=(LIMIT, OFFSET),
        answer=list[ApiKeyView],
    ),
    Operation(
        "DELETE",
        "/v1/api-keys/{key_id}",
        "Revoke an API key",
        ADMIN,
        "API keys",
        status=204,
        query=(FORCE,),
        request_headers=(CHANGE_REASON,),
        errors=(ApiKeyNotFound, LastAdminKey),
        description=(
            "Every later request with it gets 401, from every replica. The last valid key with the scope `admin` is "
            "kept (409) unless you pass `force=true`: without one, only the console can make another."
        ),
    ),
)
