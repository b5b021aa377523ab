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
            "It governs every decision that is asked for after the answer: those about the agent or the group that it "
            "names; a guardrail that names neither, those about every agent of the workspace."
        ),
    ),
    Operation(
        "POST",
        "/v1/policies/lint",
        "Say what in policies is valid and probably not meant",
        READ,
        "Policies",
        body=LintPolicies,
        query=(STRICT,),
        answer=PolicyWarnings,
        errors=(AgentNotFound, PolicyNotFound, PolicyKeyTaken),
        description=(
            "The policies are taken as a set would be put, without `prune`, and judged together with what else governs "
            "the same agents. Nothing is stored. Answers to writes carry the same warnings."
        ),
    ),
    Operation(
        "GET",
        "/v1/policies",
        "List policies in the order in which they are evaluated",
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
            "Only the fields that are given change; `{}` changes nothing. `rules` replaces the whole list. "
            "Whom a policy governs cannot be changed."
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
            "How often the policy made the difference between what was answered and what would have been if the shadow "
            "policies had been enforced. Each count rises with the entry that says so, `GET /v1/audit-logs?shadow=ID` "
            "lists those, and every change of the policy begins anew."
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
            "Who changed it, when and why, and the whole policy as it was from then on. The last 100 are kept "
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
            "The policy becomes what it was, as a new version: nothing is undone in the trail. Without Change-Reason "
            "that says `back to version …`. Rate limits whose tools and window are the same keep their calls."
        ),
    ),
)
