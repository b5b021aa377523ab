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
            description="Read at one moment. The answer can be sent back with PUT.",
        ),
        Operation(
            "PUT",
            path,
            f"Write all policies of {whose} at once",
            ADMIN,
            "Policies",
            body=PutPolicies,
            query=(PRUNE, STRICT),
            answer=AppliedSetView,
            errors=(*more, PolicyNotFound, LimitReached, PolicyKeyTaken, VersionConflict),
            headers=ETAG,
            request_headers=(IF_MATCH_SET, CHANGE_REASON),
            description=(
                "All or nothing: each decision sees either the previous policies or the new ones, never a mixture. An "
                "entry updates the policy with its `id`; without `id` the one with its `key`, else with its name; "
                "otherwise it creates one. Unchanged policies keep their version, and rate limits whose tools and "
                "window stay keep their counted calls."
            ),
        ),
    )


POLICY_SETS = (
    *_policy_set("/v1/agents/{agent_id}/policies", "an agent", AgentNotFound),
    *_policy_set("/v1/groups/{group}/policies", "a group"),
    *_policy_set("/v1/workspace/policies", "the whole workspace"),
)
