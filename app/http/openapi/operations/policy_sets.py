"""All policies of an agent, of a group or of the workspace at once."""

from app.errors import AgentNotFound, AppError, LimitReached, PolicyKeyTaken, PolicyNotFound, VersionConflict
from app.http.api.policy_sets import PutPolicies
from app.http.openapi.operation import ADMIN, READ, Operation
from app.http.openapi.parameters import CHANGE_REASON, ETAG, IF_MATCH_SET, PRUNE, STRICT
from app.views.policy_sets import AppliedSetView, PolicySetView


def _policy_set(path: str, whose: str, *more: type[AppError]) -> tuple[Operation, Operation]:
    """Reading and writing all policies of one owner."""
    return (
        Operation(
            "GET",
            path,
            f"Read all policies of {whose}",
            READ,
            "Policies",
            answer=PolicySetView,
            errors=more,
            headers=ETAG,
            description="As they were at one moment. The answer can be sent back with PUT.",
        ),
        Operation(
            "PUT",
            path,
            f"Make a whole set of policies current at once for {whose}",
            ADMIN,
            "Policies",
            body=PutPolicies,
            query=(PRUNE, STRICT),
            answer=AppliedSetView,
            errors=(*more, PolicyNotFound, LimitReached, PolicyKeyTaken, VersionConflict),
            headers=ETAG,
            request_headers=(IF_MATCH_SET, CHANGE_REASON),
            description=(
                "All or nothing: each decision knows the policies before this or those after it, never a mix. An entry "
                "changes the policy of its `id`; without `id` the one of its `key`, else of its name, or it makes a "
                "new one. What does not change keeps its version, and a rate limit keeps its calls where tools and "
                "window stay."
            ),
        ),
    )


POLICY_SETS = (
    *_policy_set("/v1/agents/{agent_id}/policies", "an agent", AgentNotFound),
    *_policy_set("/v1/groups/{group}/policies", "a group"),
    *_policy_set("/v1/workspace/policies", "the whole workspace"),
)
