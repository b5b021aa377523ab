"""Single policies, their versions and their warnings."""

from app.errors import (
    AgentNotFound,
    LimitReached,
    PolicyKeyTaken,
    PolicyNotFound,
    PolicyVersionNotFound,
    VersionConflict,
    VersionNotKept,
)
from app.http.api.policies import CreatePolicy, UpdatePolicy
from app.http.api.policy_lint import LintPolicies, PolicyWarnings
from app.http.api.policy_versions import RollBack
from app.http.openapi.operation import ADMIN, READ, Operation
from app.http.openapi.parameters import (
    AGENT_ID,
    CHANGE_REASON,
    ETAG,
    GROUP,
    IF_MATCH,
    KEY,
    KIND,
    LIMIT,
    OF_AGENT,
    OF_GROUP,
    OFFSET,
    STRICT,
)
from app.views.divergences import DivergenceView
from app.views.policies import PolicyView, WrittenPolicyView
from app.views.policy_versions import PolicyVersionView

POLICIES = (
    Operation(
        "POST",
        "/v1/policies",
        "Create a policy",
        ADMIN,
        "Policies",
        body=CreatePolicy,
        status=201,
        query=(STRICT,),
        answer=WrittenPolicyView,
        request_headers=(CHANGE_REASON,),
        errors=(AgentNotFound, LimitReached, PolicyKeyTaken),
        headers=ETAG,
        description=(
            "It governs every decision requested after the answer: for the agent or the group that it names; a "
            "guardrail that names neither, for every agent of the workspace."
        ),
    ),
    Operation(
        "POST",
        "/v1/policies/lint",
        "Warn about rules that are valid but probably not meant",
        READ,
        "Policies",
        body=LintPolicies,
        query=(STRICT,),
        answer=PolicyWarnings,
        errors=(AgentNotFound, PolicyNotFound, PolicyKeyTaken),
        description=(
            "The policies are treated as a set to be put, without `prune`, and judged together with everything else "
            "that governs the same agents. Nothing is stored. Answers to writes carry the same warnings."
        ),
    ),
    Operation(
        "GET",
        "/v1/policies",
        "List policies in evaluation order",
        READ,
        "Policies",
        query=(AGENT_ID, GROUP, KIND, KEY, LIMIT, OFFSET),
        answer=list[PolicyView],
        errors=(AgentNotFound,),
    ),
    Operation(
        "GET",
        "/v1/policies/{policy_id}",
        "Read a policy",
        READ,
        "Policies",
        query=(OF_AGENT, OF_GROUP),
        answer=PolicyView,
        errors=(AgentNotFound, PolicyNotFound),
        headers=ETAG,
    ),
    Operation(
        "PATCH",
        "/v1/policies/{policy_id}",
        "Change a policy",
        ADMIN,
        "Policies",
        body=UpdatePolicy,
        query=(OF_AGENT, OF_GROUP, STRICT),
        answer=WrittenPolicyView,
        errors=(AgentNotFound, PolicyNotFound, LimitReached, PolicyKeyTaken, VersionConflict),
        headers=ETAG,
        request_headers=(IF_MATCH, CHANGE_REASON),
        description=(
            "Only the given fields change; `{}` changes nothing. `rules` replaces the whole list. A policy's owner "
            "cannot be changed."
        ),
    ),
    Operation(
        "DELETE",
        "/v1/policies/{policy_id}",
        "Delete a policy",
        ADMIN,
        "Policies",
        query=(OF_AGENT, OF_GROUP),
        status=204,
        errors=(AgentNotFound, PolicyNotFound, VersionConflict),
        request_headers=(IF_MATCH, CHANGE_REASON),
    ),
    Operation(
        "GET",
        "/v1/policies/{policy_id}/divergence",
        "Count what a shadow policy would have changed",
        READ,
        "Policies",
        query=(OF_AGENT, OF_GROUP),
        answer=DivergenceView,
        errors=(PolicyNotFound,),
        description=(
            "How often the policy made the difference between the actual result and the result if the shadow policies "
            "had been enforced. Each count rises with the entry that records it, `GET /v1/audit-logs?shadow=ID` lists "
            "those, and every change of the policy resets the counts."
        ),
    ),
    Operation(
        "GET",
        "/v1/policies/{policy_id}/versions",
        "List the versions of a policy, newest first",
        READ,
        "Policies",
        query=(OF_AGENT, OF_GROUP, LIMIT),
        answer=list[PolicyVersionView],
        errors=(AgentNotFound, PolicyNotFound),
        description=(
            "Who changed it, when and why, and the whole policy after the change. The last 100 are kept "
            "(`REMIT_POLICY_VERSIONS_MAX`), until the policy is deleted."
        ),
    ),
    Operation(
        "POST",
        "/v1/policies/{policy_id}/rollback",
        "Make a former version of a policy current again",
        ADMIN,
        "Policies",
        body=RollBack,
        query=(OF_AGENT, OF_GROUP, STRICT),
        answer=WrittenPolicyView,
        errors=(
            AgentNotFound,
            PolicyNotFound,
            PolicyVersionNotFound,
            VersionNotKept,
            LimitReached,
            PolicyKeyTaken,
            VersionConflict,
        ),
        headers=ETAG,
        request_headers=(IF_MATCH, CHANGE_REASON),
        description=(
            "The policy is restored as a new version: nothing is removed from the trail. Without Change-Reason, the "
            "trail says `back to version …`. Rate limits whose tools and window are the same keep their counted "
            "calls."
        ),
    ),
)
