// Made by `make client-types`; do not edit.

export interface paths {
    "/v1/authorize": {
        parameters: {
        };
        /** Ask whether an agent may call a tool */
        post: operations["post_authorize"];
    };
    "/v1/authorize/batch": {
        parameters: {
        };
        /** Ask whether agents may make several calls */
        post: operations["post_authorize_batch"];
    };
    "/v1/hooks/claude-code": {
        parameters: {
        };
        /** Answer a coding agent's hook */
        post: operations["post_hooks_claude_code"];
    };
    "/v1/decisions/{decision_id}/outcome": {
        parameters: {
        };
        /** Report the outcome of an allowed call */
        post: operations["post_decisions_decision_outcome"];
    };
    "/v1/sessions/{session_id}/request": {
        parameters: {
        };
        /** Show the pinned request of a session: when it was pinned, by whom, and its MAC; the text is not stored */
        get: operations["get_sessions_session_request"];
        /** Pin the user's request of a session */
        post: operations["post_sessions_session_request"];
    };
    "/v1/explain": {
        parameters: {
        };
        /** Explain what would be answered, and why */
        post: operations["post_explain"];
    };
    "/v1/policies": {
        parameters: {
        };
        /** List policies in evaluation order */
        get: operations["get_policies"];
        /** Create a policy */
        post: operations["post_policies"];
    };
    "/v1/policy-reviews": {
        parameters: {
        };
        /** List changes of policies that wait for a second person, or did, newest first */
        get: operations["get_policy_reviews"];
    };
    "/v1/policies/{policy_id}": {
        parameters: {
        };
        /** Read a policy */
        get: operations["get_policies_policy"];
        /** Delete a policy */
        delete: operations["delete_policies_policy"];
        /** Change a policy */
        patch: operations["patch_policies_policy"];
    };
    "/v1/policies/lint": {
        parameters: {
        };
        /** Warn about rules that are valid but probably not meant */
        post: operations["post_policies_lint"];
    };
    "/v1/policies/compare": {
        parameters: {
        };
        /** Compare policies: which calls a change would answer otherwise */
        post: operations["post_policies_compare"];
    };
    "/v1/policies/propose": {
        parameters: {
        };
        /** Propose policies for an agent from its log and the marks of its tools */
        post: operations["post_policies_propose"];
    };
    "/v1/policy-reviews/{review_id}": {
        parameters: {
        };
        /** Read one change of policies, with the policies before and after it */
        get: operations["get_policy_reviews_review"];
    };
    "/v1/workspace/policies": {
        parameters: {
        };
        /** Read all policies of the whole workspace */
        get: operations["get_workspace_policies"];
        /** Write all policies of the whole workspace at once */
        put: operations["put_workspace_policies"];
    };
    "/v1/policies/test": {
        parameters: {
        };
        /** Run tests, and judge claims, against the policies in force or against drafts */
        post: operations["post_policies_test"];
    };
    "/v1/policy-reviews/{review_id}/approve": {
        parameters: {
        };
        /** Approve a change of policies, and make it in the same step */
        post: operations["post_policy_reviews_review_approve"];
    };
    "/v1/policy-reviews/{review_id}/deny": {
        parameters: {
        };
        /** Deny a change of policies: it is not made */
        post: operations["post_policy_reviews_review_deny"];
    };
    "/v1/policy-reviews/{review_id}/cancel": {
        parameters: {
        };
        /** Withdraw a change of policies, with the key that asked, or one that was rotated from it or into it */
        post: operations["post_policy_reviews_review_cancel"];
    };
    "/v1/agents/{agent_id}/policies": {
        parameters: {
        };
        /** Read all policies of an agent */
        get: operations["get_agents_agent_policies"];
        /** Write all policies of an agent at once */
        put: operations["put_agents_agent_policies"];
    };
    "/v1/groups/{group}/policies": {
        parameters: {
        };
        /** Read all policies of a group */
        get: operations["get_groups_group_policies"];
        /** Write all policies of a group at once */
        put: operations["put_groups_group_policies"];
    };
    "/v1/policies/{policy_id}/versions": {
        parameters: {
        };
        /** List the versions of a policy, newest first */
        get: operations["get_policies_policy_versions"];
    };
    "/v1/policies/{policy_id}/rollback": {
        parameters: {
        };
        /** Make a former version of a policy current again */
        post: operations["post_policies_policy_rollback"];
    };
    "/v1/policies/{policy_id}/divergence": {
        parameters: {
        };
        /** Count what a shadow policy would have changed */
        get: operations["get_policies_policy_divergence"];
    };
    "/v1/agents": {
        parameters: {
        };
        /** List agents, oldest first */
        get: operations["get_agents"];
        /** Create an agent */
        post: operations["post_agents"];
    };
    "/v1/agents/{agent_id}": {
        parameters: {
        };
        /** Read an agent */
        get: operations["get_agents_agent"];
        /** Delete an agent with its policies */
        delete: operations["delete_agents_agent"];
        /** Change an agent */
        patch: operations["patch_agents_agent"];
    };
    "/v1/agents/{agent_id}/history": {
        parameters: {
        };
        /** Read what an agent's calls were answered, and what was changed meanwhile */
        get: operations["get_agents_agent_history"];
    };
    "/v1/agents/{agent_id}/quotas": {
        parameters: {
        };
        /** List how full an agent's limits, budgets and denial breakers are */
        get: operations["get_agents_agent_quotas"];
    };
    "/v1/agents/{agent_id}/tools": {
        parameters: {
        };
        /** List what an agent may call */
        get: operations["get_agents_agent_tools"];
        /** List what an agent may call of these tools, known or not */
        post: operations["post_agents_agent_tools"];
    };
    "/v1/agents/{agent_id}/remembered": {
        parameters: {
        };
        /** List what counts as approved before */
        get: operations["get_agents_agent_remembered"];
        /** Forget what was approved before */
        delete: operations["delete_agents_agent_remembered"];
    };
    "/v1/agents/{agent_id}/bounds": {
        parameters: {
        };
        /** Get what an agent can ever do under the policies in force */
        get: operations["get_agents_agent_bounds"];
    };
    "/v1/catalog": {
        parameters: {
        };
        /** List the known tools, by name */
        get: operations["get_catalog"];
        /** Put tools into the catalogue */
        put: operations["put_catalog"];
        /** Say what calls of tools do to the world, and whose text they return */
        patch: operations["patch_catalog"];
    };
    "/v1/catalog/tool/{tool}": {
        parameters: {
        };
        /** Read a tool of the catalogue */
        get: operations["get_catalog_tool_tool"];
        /** Put one tool into the catalogue */
        put: operations["put_catalog_tool_tool"];
        /** Remove a tool from the catalogue */
        delete: operations["delete_catalog_tool_tool"];
    };
    "/v1/catalog/{resource_type}/{resource_name}": {
        parameters: {
        };
        /** Read a resource of the catalogue */
        get: operations["get_catalog_resource_type_resource_name"];
        /** Put one resource into the catalogue */
        put: operations["put_catalog_resource_type_resource_name"];
        /** Remove a resource from the catalogue */
        delete: operations["delete_catalog_resource_type_resource_name"];
    };
    "/v1/audit-logs": {
        parameters: {
        };
        /** Query the audit log, newest first */
        get: operations["get_audit_logs"];
    };
    "/v1/replay": {
        parameters: {
        };
        /** Replay the log under a draft of policies */
        post: operations["post_replay"];
    };
    "/v1/audit-logs/export": {
        parameters: {
        };
        /** Export the audit log as a file, oldest first */
        get: operations["get_audit_logs_export"];
    };
    "/v1/audit-logs/{entry_id}": {
        parameters: {
        };
        /** Read one audit entry */
        get: operations["get_audit_logs_entry"];
    };
    "/v1/audit-logs/status": {
        parameters: {
        };
        /** Read how far sealing is behind, and what the last verification found */
        get: operations["get_audit_logs_status"];
    };
    "/v1/audit-logs/archive": {
        parameters: {
        };
        /** Read how far the log is archived, and the manifest of its segments */
        get: operations["get_audit_logs_archive"];
    };
    "/v1/audit-logs/verify": {
        parameters: {
        };
        /** Verify the chain of the audit log */
        get: operations["get_audit_logs_verify"];
    };
    "/v1/audit-logs/counts": {
        parameters: {
        };
        /** Count the entries that match, by value */
        get: operations["get_audit_logs_counts"];
    };
    "/v1/audit-logs/checkpoint": {
        parameters: {
        };
        /** Read the newest signed checkpoint of the audit log */
        get: operations["get_audit_logs_checkpoint"];
    };
    "/v1/audit-logs/accept-fork": {
        parameters: {
        };
        /** Accept that the log, or the trail of changes, does not continue what was signed before */
        post: operations["post_audit_logs_accept_fork"];
    };
    "/v1/audit-logs/stream": {
        parameters: {
        };
        /** Follow the audit log as server-sent events */
        get: operations["get_audit_logs_stream"];
    };
    "/v1/audit-logs/{entry_id}/proof": {
        parameters: {
        };
        /** Read the proof that the newest signed checkpoint covers an entry */
        get: operations["get_audit_logs_entry_proof"];
    };
    "/v1/audit-logs/{entry_id}/explanation": {
        parameters: {
        };
        /** Explain a past decision */
        get: operations["get_audit_logs_entry_explanation"];
    };
    "/v1/approvals": {
        parameters: {
        };
        /** List approvals, waiting and decided */
        get: operations["get_approvals"];
    };
    "/v1/slack": {
        parameters: {
        };
        /** Take what somebody pressed in Slack */
        post: operations["post_slack"];
    };
    "/v1/approvals/stream": {
        parameters: {
        };
        /** Follow approvals as server-sent events */
        get: operations["get_approvals_stream"];
    };
    "/v1/approvals/summary": {
        parameters: {
        };
        /** Count what waits */
        get: operations["get_approvals_summary"];
    };
    "/v1/approvals/{approval_id}": {
        parameters: {
        };
        /** Read one approval, or wait until it is decided */
        get: operations["get_approvals_approval"];
    };
    "/v1/approvals/decide": {
        parameters: {
        };
        /** Decide several approvals */
        post: operations["post_approvals_decide"];
    };
    "/v1/approvals/{approval_id}/approve": {
        parameters: {
        };
        /** Approve the call */
        post: operations["post_approvals_approval_approve"];
    };
    "/v1/approvals/{approval_id}/deny": {
        parameters: {
        };
        /** Deny the call */
        post: operations["post_approvals_approval_deny"];
    };
    "/v1/approvals/{approval_id}/cancel": {
        parameters: {
        };
        /** Withdraw the request, or what was approved and is not used yet */
        post: operations["post_approvals_approval_cancel"];
    };
    "/v1/approvals/{approval_id}/usual": {
        parameters: {
        };
        /** Compare the call with what its agent was allowed to do with the tool */
        get: operations["get_approvals_approval_usual"];
    };
    "/v1/changes": {
        parameters: {
        };
        /** Query the trail of changes, newest first */
        get: operations["get_changes"];
    };
    "/v1/changes/checkpoint": {
        parameters: {
        };
        /** Read the newest signed checkpoint of the trail of changes */
        get: operations["get_changes_checkpoint"];
    };
    "/v1/api-keys": {
        parameters: {
        };
        /** List API keys, oldest first */
        get: operations["get_api_keys"];
        /** Create an API key */
        post: operations["post_api_keys"];
    };
    "/v1/api-keys/{key_id}": {
        parameters: {
        };
        /** Revoke an API key */
        delete: operations["delete_api_keys_key"];
    };
    "/v1/api-keys/{key_id}/rotate": {
        parameters: {
        };
        /** Replace an API key */
        post: operations["post_api_keys_key_rotate"];
    };
    "/v1/session": {
        parameters: {
        };
        /** Who am I? */
        get: operations["get_session"];
        /** Sign in */
        post: operations["post_session"];
        /** Sign out: the session ends, on every replica */
        delete: operations["delete_session"];
    };
    "/v1/sessions": {
        parameters: {
        };
        /** List the sessions of the workspace, those that end first first */
        get: operations["get_sessions"];
    };
    "/v1/sign-in": {
        parameters: {
        };
        /** Read how people can sign in */
        get: operations["get_sign_in"];
    };
    "/console/sign-in": {
        parameters: {
        };
        /** Sign in with the identity provider */
        get: operations["get_console_sign_in"];
    };
    "/console/callback": {
        parameters: {
        };
        /** Come back from the identity provider */
        get: operations["get_console_callback"];
    };
    "/console/workspace": {
        parameters: {
        };
        /** Choose a workspace */
        post: operations["post_console_workspace"];
    };
    "/console/backchannel-logout": {
        parameters: {
        };
        /** End the sessions of somebody who signed out elsewhere */
        post: operations["post_console_backchannel_logout"];
    };
    "/v1/sessions/{session_id}": {
        parameters: {
        };
        /** End a session */
        delete: operations["delete_sessions_session"];
    };
    "/v1/webhooks": {
        parameters: {
        };
        /** List webhooks and their state */
        get: operations["get_webhooks"];
        /** Create a webhook */
        post: operations["post_webhooks"];
    };
    "/v1/webhooks/{webhook_id}": {
        parameters: {
        };
        /** Read a webhook and its state */
        get: operations["get_webhooks_webhook"];
        /** Delete a webhook */
        delete: operations["delete_webhooks_webhook"];
        /** Change a webhook */
        patch: operations["patch_webhooks_webhook"];
    };
    "/v1/webhooks/{webhook_id}/rotate-secret": {
        parameters: {
        };
        /** Rotate a webhook's secret */
        post: operations["post_webhooks_webhook_rotate_secret"];
    };
    "/v1/webhooks/{webhook_id}/test": {
        parameters: {
        };
        /** Send one test event now */
        post: operations["post_webhooks_webhook_test"];
    };
    "/v1/webhooks/{webhook_id}/events": {
        parameters: {
        };
        /** List events that could not be delivered */
        get: operations["get_webhooks_webhook_events"];
    };
    "/v1/webhooks/{webhook_id}/deliveries": {
        parameters: {
        };
        /** List the latest attempts to deliver events, newest first */
        get: operations["get_webhooks_webhook_deliveries"];
    };
    "/v1/webhooks/{webhook_id}/retry": {
        parameters: {
        };
        /** Retry parked events */
        post: operations["post_webhooks_webhook_retry"];
    };
    "/livez": {
        parameters: {
        };
        /** Check that the process answers */
        get: operations["get_livez"];
    };
    "/readyz": {
        parameters: {
        };
        /** Check that decisions can be made */
        get: operations["get_readyz"];
    };
    "/metrics": {
        parameters: {
        };
        /** Read the metrics, for Prometheus */
        get: operations["get_metrics"];
    };
    "/openapi.json": {
        parameters: {
        };
        /** This document */
        get: operations["get_openapi_json"];
    };
    "/": {
        parameters: {
        };
        /** Redirect to the console */
        get: operations["get"];
    };
    "/docs/api": {
        parameters: {
        };
        /** Read this document as a page */
        get: operations["get_docs_api"];
    };
    "/v1/policies/schema.json": {
        parameters: {
        };
        /** Read the JSON Schema of policy files */
        get: operations["get_policies_schema_json"];
    };
    "/.well-known/authzen-configuration": {
        parameters: {
        };
        /** Read the metadata of this decision point */
        get: operations["get_well_known_authzen_configuration"];
    };
    "/v1/issuers": {
        parameters: {
        };
        /** List issuers, by name */
        get: operations["get_issuers"];
    };
    "/access/v1/requests": {
        parameters: {
        };
        /** Request access that was denied */
        post: operations["post_access_v_requests"];
    };
    "/access/v1/evaluations": {
        parameters: {
        };
        /** Evaluate access several times, as AuthZEN asks for it */
        post: operations["post_access_v_evaluations"];
    };
    "/.well-known/authzen-configuration/{workspace_id}": {
        parameters: {
        };
        /** Read the metadata of a workspace's decision point */
        get: operations["get_well_known_authzen_configuration_workspace"];
    };
    "/v1/issuers/{issuer_name}": {
        parameters: {
        };
        /** Read an issuer */
        get: operations["get_issuers_issuer_name"];
        /** Create or replace an issuer */
        put: operations["put_issuers_issuer_name"];
        /** Delete an issuer */
        delete: operations["delete_issuers_issuer_name"];
    };
    "/access/v1/evaluation": {
        parameters: {
        };
        /** Evaluate access, as AuthZEN asks for it */
        post: operations["post_access_v_evaluation"];
    };
    "/access/v1/requests/{task_id}": {
        parameters: {
        };
        /** Read an access request, and once it is approved, its result */
        get: operations["get_access_v_requests_task"];
    };
    "/access/v1/search/subject": {
        parameters: {
        };
        /** Find the subjects that may do something, as AuthZEN asks for it */
        post: operations["post_access_v_search_subject"];
    };
    "/access/v1/search/resource": {
        parameters: {
        };
        /** Find the resources on which a subject may do something, as AuthZEN asks for it */
        post: operations["post_access_v_search_resource"];
    };
    "/access/v1/search/action": {
        parameters: {
        };
        /** Find what a subject may do on a resource, as AuthZEN asks for it */
        post: operations["post_access_v_search_action"];
    };
    "/access/v1/ext-authz/{path}": {
        parameters: {
        };
        /** Ask whether a gateway may let a request pass */
        post: operations["post_access_v_ext_authz_path"];
    };
    "/access/v1/requests/{task_id}/cancel": {
        parameters: {
        };
        /** Cancel an access request */
        post: operations["post_access_v_requests_task_cancel"];
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description One tool call to judge. Unknown fields are ignored, so a PEP can send what it has.
         *
         *     A field that differs from one of these only in letter case is refused.
         */
        AuthorizeBody: {
            /** @description The agent's id or its alias. `agentId` is accepted, too. */
            agent_id: string;
            /** @description The tool that the agent wants to call. `toolName` is accepted, too. */
            tool_name: string;
            /** @description The attempted action, for the log; `authorize` if left out. */
            action?: string;
            /** @description The call's parameters, up to 32 levels deep. Their size is limited only by the body's, 1040 KiB unless configured otherwise; the entry keeps up to 64 KiB, and only the beginning of strings beyond 2 KiB. */
            parameters?: {
                [key: string]: unknown;
            };
            /** @description What the caller vouches for and the agent cannot choose, such as the user it acts for; up to 16 KiB and 8 levels deep, besides a `request` of up to 32 KiB: what the user asked for, of which the log keeps only a MAC, unless a policy has `keepsRequests`. */
            context?: {
                [key: string]: unknown;
            };
            /**
             * Format: uuid
             * @description The approval that an earlier answer to this call named. If the call still needs approval, only this one can let it through, and no new one is requested: 409 `APPROVAL_MISMATCH` if it is not this call's or no longer open. `approvalId` is accepted, too.
             */
            approval_id?: string;
        };
        /** @description Calls to judge. Unknown fields are ignored. */
        AuthorizeBatch: {
            /** @description Each as in `POST /v1/authorize`. */
            calls: components["schemas"]["AuthorizeBody"][];
            /** @description Which of them are decided; `execute_all` if left out. */
            semantics?: components["schemas"]["BatchSemantics"];
        };
        /**
         * @description Which calls of a batch are decided.
         *
         *     `execute_all` decides all. `deny_on_first_deny` and `permit_on_first_permit` decide in order, and nothing after the
         *     first call that is not allowed, or is allowed. `all_or_nothing`, for up to 128 calls, allows all or none: if one is
         *     not allowed, all are denied, and none takes anything from limits.
         * @enum {string}
         */
        BatchSemantics: "all_or_nothing" | "deny_on_first_deny" | "execute_all" | "permit_on_first_permit";
        /** @description What the coding agent sends before it runs a tool. Fields that are not named here are ignored. */
        HookCall: {
            /** @description `PreToolUse`; other events are not judged here. */
            hook_event_name: string;
            /** @description Becomes `context.session`. */
            session_id: string;
            /** @description Such as `Bash`, `Write` or `mcp__github__create_issue`. */
            tool_name: string;
            /** @description Becomes the parameters, exactly as written: a key given twice in it is still detected. */
            tool_input: {
                [key: string]: unknown;
            };
            /**
             * @description The folder it works in, as `context.cwd`.
             * @default null
             */
            cwd?: string | null;
            /**
             * @description Its own permission mode, such as `default` or `plan`, as `context.permission_mode`.
             * @default null
             */
            permission_mode?: string | null;
            /**
             * @description The kind of subagent that calls, as `context.agent_type`.
             * @default null
             */
            agent_type?: string | null;
        };
        /** @description The outcome of a call. */
        ReportOutcome: {
            /** @description `executed`, `failed` (it was tried), or `not_executed` (it was never tried). */
            status: components["schemas"]["CallStatus"];
            /** @description Of a call that was executed: what rules may read of its result, as records of text, numbers and booleans by their names, such as `reservation:4WQ150`. Needs the scope `record`. */
            records?: {
                [key: string]: {
                    [key: string]: string | number | boolean | null;
                };
            };
        };
        /**
         * @description `executed`, `failed` (it was tried), or `not_executed` (it was never tried): only the last refunds limits.
         * @enum {string}
         */
        CallStatus: "executed" | "failed" | "not_executed";
        /** @description The user's request of a session. */
        PinRequest: {
            /** @description What the user asked for, as calls of the session will give it as `context.request`: at most 32 KiB. */
            request: string;
            /**
             * @description How long it counts, 1 to 2,592,000 seconds; a day if left out. `validSeconds` is accepted, too.
             * @default 86400
             */
            valid_seconds?: number;
        };
        /** @description A hypothetical call to explain: nothing is taken, logged or created. */
        ExplainBody: {
            /** @description The agent's id or its alias. `agentId` is accepted, too. */
            agent_id: string;
            /** @description The tool that the agent would call. `toolName` is accepted, too. */
            tool_name: string;
            /** @description The action that would be attempted; `authorize` if left out. */
            action?: string;
            /** @description The call's parameters. */
            parameters?: {
                [key: string]: unknown;
            };
            /** @description What the caller would vouch for. */
            context?: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When the call would be made, before the year 2255, for rules that look at the clock; now if left out. Rate limits and budgets are shown as they would be then if nothing else was admitted; for a past time, as they are now.
             */
            at?: string;
            /** @description Drafts. A draft with the id of a policy that governs the agent replaces it; one without an id is added. */
            policies?: components["schemas"]["PolicyEntry"][];
        };
        /** @description One policy of a set. It updates the policy with its `id`, else its key, else its name; otherwise it is new. */
        PolicyEntry: {
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The rules, in order. Any that denies denies; else any that escalates escalates. */
            rules: (components["schemas"]["ToolGrant"] | components["schemas"]["ToolAllowlist"] | components["schemas"]["ToolDenylist"] | components["schemas"]["ApprovalRequired"] | components["schemas"]["ParameterConstraint"] | components["schemas"]["ParameterSchema"] | components["schemas"]["RateLimited"] | components["schemas"]["Budgeted"] | components["schemas"]["Sequenced"] | components["schemas"]["PinnedRequest"] | components["schemas"]["TimeBased"] | components["schemas"]["DenialCounted"])[];
            /**
             * @description A grant decides by tiers. A guardrail is evaluated on every call and never allows.
             * @default grant
             */
            kind?: components["schemas"]["PolicyKind"];
            /**
             * @description Higher values are evaluated first; policies of equal priority decide together.
             * @default 0
             */
            priority?: number;
            /**
             * @description A policy that is not enabled is skipped.
             * @default true
             */
            enabled?: boolean;
            /**
             * @description `enforce` decides; `shadow` changes no answer, and the log says where it would have.
             * @default enforce
             */
            mode?: components["schemas"]["PolicyMode"];
            /**
             * @description A name for programs, unique among the policies of the same agent, group or workspace; never in the form of a UUID.
             * @default null
             */
            key?: string | null;
            /**
             * @description A message for the agent, sent with the reason if the policy gives a result other than allowed.
             * @default null
             */
            agentMessage?: string | null;
            /**
             * @description Where the policy is managed: the files or the repository that `remit policy apply` named.
             * @default null
             */
            managedBy?: string | null;
            /**
             * @description Entries of the agents that it governs have the user's request (`request` in `context`), kept as other texts are, in place of its MAC. A policy in shadow mode keeps none.
             * @default false
             */
            keepsRequests?: boolean;
            /**
             * Format: uuid
             * @description The policy to update; it must belong to the set's owner.
             * @default null
             */
            id?: string | null;
            /**
             * Format: uuid
             * @description As in a policy; another owner's is refused.
             * @default null
             */
            agentId?: string | null;
            /**
             * @description As in a policy; another owner's is refused.
             * @default null
             */
            group?: string | null;
            /**
             * @description As in a policy; ignored, as is `managedBy`.
             * @default null
             */
            version?: number | null;
            /**
             * Format: date-time
             * @description As in a policy; ignored, as is `managedBy`.
             * @default null
             */
            createdAt?: string | null;
            /**
             * Format: date-time
             * @description As in a policy; ignored, as is `managedBy`.
             * @default null
             */
            updatedAt?: string | null;
        } & (({
            /** @constant */
            kind: "guardrail";
            /** @constant */
            mode?: "enforce";
        } | {
            rules?: unknown;
        }) & ({
            /** @constant */
            kind?: "grant";
        } | {
            rules?: unknown;
        }));
        /**
         * @description Passes for the tools it covers and abstains for every other. It never fails, so that it only adds.
         *
         *     A call of which it cannot be judged whether `when` or `unless` holds is not granted.
         */
        ToolGrant: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "tool_grant";
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
        } & ({
            when?: unknown;
            unless?: unknown;
        } & unknown);
        /**
         * @description Conditions that hold if every named value satisfies its constraint. If one cannot be judged, the rule fails with
         *     its effect.
         */
        Circumstances: {
            /** @description What each named parameter must be; `**` is every text, number and member name in them. */
            parameters?: {
                [key: string]: components["schemas"]["Constraint"];
            };
            /** @description What each named value of `context` must be. */
            context?: {
                [key: string]: components["schemas"]["Constraint"];
            };
            /** @description What happens to the rule if a value is missing: it is skipped or applies; it fails if left out. */
            ifMissing?: components["schemas"]["IfMissing"];
        } | unknown | unknown;
        /** @description What one value must be; every field that is given must hold. */
        Constraint: {
            /**
             * Format: re2
             * @description RE2 pattern, found anywhere in a string or in the JSON of a number or boolean; anchor it with ^ and $.
             */
            regex?: string;
            /** @description The values it may have, equal in type and value; JSON scalars. */
            enum?: (string | number | boolean | null)[];
            /** @description The lowest allowed number, inclusive; numbers only. */
            min?: number;
            /** @description The highest allowed number, inclusive; numbers only. */
            max?: number;
            /** @description false allows the value to be missing; true if left out. */
            required?: boolean;
            /**
             * Format: re2
             * @description RE2 pattern that must not be found in it; anything but a string, number or boolean fails.
             */
            notRegex?: string;
            /** @description Values that it must not have; it must have the JSON type of one of them. */
            notEnum?: (string | number | boolean | null)[];
            /** @description What must not be found in it; anything but a string, number or boolean fails. */
            notKind?: components["schemas"]["TextKind"][];
            /** @description It must be more than this; numbers only. */
            above?: number;
            /** @description It must be less than this; numbers only. */
            below?: number;
            /** @description The fewest code points of a string. */
            minLength?: number;
            /** @description The most code points of a string. */
            maxLength?: number;
            /** @description The fewest elements of an array. */
            minItems?: number;
            /** @description The most elements of an array. */
            maxItems?: number;
            /** @description A scalar that one element of an array must equal in type and value. */
            contains?: string | number | boolean | null;
            /** @description Its JSON type, or the types it may have; 1.0 is an integer, too. */
            type?: components["schemas"]["JsonType"] | components["schemas"]["JsonType"][];
            /** @description true = it must not be given at all. Excludes every other field. */
            absent?: boolean;
            /** @description Another value of the call that it must equal in type and value. */
            equals?: components["schemas"]["Operand"];
            /** @description Another value of the call that it must not exceed: two numbers, dates or times (RFC 3339). */
            atMost?: components["schemas"]["Operand"];
            /** @description Another value of the call that it must not fall below: two numbers, dates or times (RFC 3339). */
            atLeast?: components["schemas"]["Operand"];
            /** @description A directory that it must lie in, as an absolute POSIX path. */
            path?: components["schemas"]["PathConstraint"];
            /** @description Hosts that it must name, itself or as a URL. */
            host?: components["schemas"]["HostConstraint"];
            /** @description Domains in which it must be a mail address. */
            emailDomain?: components["schemas"]["EmailDomainConstraint"];
            /** @description Networks in which it must be an address or network. */
            cidr?: components["schemas"]["CidrConstraint"];
            /** @description It must stand in the user's request (`request` in `context`) as whole words: `exact` = with equal code points, at least three; `text` = in any ASCII case and white space. Strings only. */
            fromRequest?: components["schemas"]["FromRequest"];
            /** @description It must be a shell line all of whose commands may run. */
            command?: components["schemas"]["CommandConstraint"];
            /** @description A person must have approved a call of this agent and tool with the same value of this parameter. Strings only, and only in a rule that escalates. */
            approvedBefore?: components["schemas"]["ApprovedBefore"];
            /** @description Parameters that `**` leaves out, with all that is in them. */
            except?: string[];
        } | unknown | {
            absent?: unknown;
        };
        /**
         * @description What a text has in it: the number of a payment card, an IBAN, or what looks like a credential.
         * @enum {string}
         */
        TextKind: "card" | "iban" | "secret";
        /**
         * @description The types of JSON; `integer` is a number without a fraction, including 1.0.
         * @enum {string}
         */
        JsonType: "array" | "boolean" | "integer" | "null" | "number" | "object" | "string";
        /** @description Another value of the same call, by name. */
        Operand: {
            /** @description A parameter's name; it may reach into objects. */
            parameter?: string;
            /** @description The name of a value in `context`. */
            context?: string;
        };
        /** @description A POSIX path that is, or lies below, one of these directories, and is of none of these kinds. */
        PathConstraint: {
            /** @description Absolute paths of the directories, in their canonical form, or values of `context`; anywhere if left out. */
            under?: (string | components["schemas"]["ContextRoot"])[];
            /** @description Kinds of files that it must not be, by the names below those directories: `secrets` = keys and credentials, `runs` = what tools run or obey unasked, `hidden` = names that begin with a dot. */
            notAmong?: components["schemas"]["FileKind"][];
            /** @description true = directories are the same in any letter case, as where macOS and Windows keep files. */
            ignoreCase?: boolean;
        };
        /** @description A directory that the call's context names. */
        ContextRoot: {
            /** @description The name of the value in `context`; never `cwd`. */
            context: string;
        };
        /**
         * @description `secrets`: names of keys and credentials. `runs`: what tools run or obey unasked. `hidden`: names with a dot.
         * @enum {string}
         */
        FileKind: "hidden" | "runs" | "secrets";
        /**
         * @description A URL or host on one of these hosts or in one of these networks; refused unless every URL parser finds the same
         *     host in it.
         */
        HostConstraint: {
            /** @description Hosts; `*.corp.com` is every name below corp.com. */
            in?: string[];
            /** @description Networks such as 10.0.0.0/8 in which an address may lie instead; `private` = all that are not the public Internet's. A name may lead to any address, so it cannot be judged unless `in` has it. */
            networks?: string[];
            /** @description Networks in which an address must not lie, even if it is one of the others. Here, too, a name cannot be judged unless `in` has it. */
            notNetworks?: string[];
        } | unknown | unknown | unknown;
        /** @description One plain mail address in one of these domains. */
        EmailDomainConstraint: {
            /** @description Domains; `*.corp.com` is every domain below corp.com. */
            in: string[];
        };
        /** @description An IP address or network that lies wholly in one of these networks. */
        CidrConstraint: {
            /** @description Networks such as 10.0.0.0/8. */
            in: string[];
        };
        /**
         * @description How a value must stand in the user's request: with equal code points, or in any ASCII case and white space.
         * @enum {string}
         */
        FromRequest: "exact" | "text";
        /** @description A shell line all of whose commands may run. */
        CommandConstraint: {
            /** @description The commands that may run; a line passes if each of its commands is one of them. */
            allow?: components["schemas"]["AllowedCommand"][];
            /** @description Commands that are refused, wherever they stand in the line. */
            deny?: components["schemas"]["DeniedCommand"][];
            /** @description The directory in which all happens: an absolute path, or a value of `context`. `allow` needs it. Lines start in `context.cwd`. */
            root?: string | components["schemas"]["ContextRoot"];
            /** @description Variables that may be assigned before a command, of those that docs/language.md lists. */
            env?: string[];
            /**
             * @description What a line does that cannot be read, or runs commands that cannot be: `escalate` or `deny`; what the rule says if left out.
             * @enum {unknown}
             */
            unread?: "deny" | "escalate";
        };
        /** @description Commands that may run: these programs, with these words and no others. */
        AllowedCommand: {
            /** @description The program's name, or a path below the root; or several. */
            run: string | string[];
            /** @description What its first word must be; one or several. A `*` at the end stands for any further letters. */
            first?: string | string[];
            /** @description What its second word must be, in the same way. */
            second?: string | string[];
            /** @description The flags that it may have, such as `-q`, `-n NUMBER`, `-m TEXT`, `-o PATH`, `--format=TEXT`; `usual` = the harmless ones of docs/shell-flags.md. No others pass. */
            flags?: "usual" | string[];
            /** @description Where its other words, as paths, must lie: `inside` the root, or in these directories. None if left out. */
            paths?: "inside" | string[];
            /** @description true = the first word, or the value of `-e`, is a pattern and no path. */
            pattern?: boolean;
            /** @description Programs that may stand before it: `npx`, `uv run`, `poetry run`, `pipenv run`, `pnpm exec`, `yarn exec`, `bundle exec`, `python -m`, `python3 -m`. */
            via?: string[];
            /**
             * @description `inside` = its output may be redirected to files inside the root.
             * @enum {unknown}
             */
            writes?: "inside";
            /**
             * @description `inside` = its first word is a script inside the root.
             * @enum {unknown}
             */
            script?: "inside";
        };
        /** @description Commands that are refused wherever they stand in the line. */
        DeniedCommand: {
            /** @description The program's name, in any letter case and folder; or several. */
            run: string | string[];
            /** @description Its first word; one or several. */
            first?: string | string[];
            /** @description Its second word; one or several. */
            second?: string | string[];
            /** @description Flags of which one must be given; a letter also stands for long flags that begin with it. */
            flags?: string[];
        };
        /**
         * @description A person has approved a call of this agent and tool with the same value of the same parameter.
         *
         *     If the rule has it for several parameters, one call had all their values; elements of an array count each by itself.
         */
        ApprovedBefore: {
            /** @description Within this time, 1 to 2,592,000 seconds (30 days). */
            withinSeconds: number;
            /**
             * @description `host` = the same scheme, host and port are enough: the value is a URL or a host.
             * @enum {unknown}
             */
            of?: "host";
            /**
             * @description `session` = only a call of the same session counts, `context.session`; a call without one fails.
             * @enum {unknown}
             */
            in?: "session";
        };
        /**
         * @description What happens to a rule whose `when` or `unless` reads a missing value.
         * @enum {string}
         */
        IfMissing: "apply" | "skip";
        /** @description What a rule that escalates demands of an approval, and what the approval permits. */
        ApprovalTerms: {
            /**
             * @description How long it waits for a decision, in seconds; 900 if left out.
             * @default 900
             */
            expiresSeconds?: number;
            /**
             * @description How many people must approve, each with a key of their own; 1 if left out.
             * @default 1
             */
            approvals?: number;
            /**
             * @description How long an approval can be used, in seconds; 900 if left out.
             * @default 900
             */
            validSeconds?: number;
            /**
             * @description How many calls with exactly the same arguments an approval permits; 1 if left out.
             * @default 1
             */
            maxUses?: number;
            /** @description Who may decide; if left out, whoever has the scope `approve`. */
            approvers?: components["schemas"]["Approvers"];
            /** @description How long ago, in seconds, the identity provider may have seen the credentials of the person who decides; if left out, it does not matter, and keys may decide too. */
            fresh?: number;
            /** @description Parameters that only describe the call: their texts of up to 1 KiB are not part of what is approved, if every rule that can ask about the tool names them here and none reads them. */
            descriptive?: string[];
        };
        /** @description Who may decide: people who have signed in with the identity provider; an API key is nobody. */
        Approvers: {
            /** @description A person must have been in one of these groups at the sign-in. */
            groups: string[];
        };
        /** @description Passes for the tools it covers and fails (deny) for every other. */
        ToolAllowlist: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "tool_allowlist";
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
        } & unknown;
        /** @description Fails (deny) for the tools it covers and abstains for every other. */
        ToolDenylist: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "tool_denylist";
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
        } & unknown;
        /** @description Fails (escalate) for the tools it covers and abstains for every other. */
        ApprovalRequired: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "approval_required";
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
            /** @description What the rule asks of people if it escalates. */
            approval?: components["schemas"]["ApprovalTerms"];
        } & unknown;
        /**
         * @description Passes if every named value of the parameters and of the context satisfies its constraint, else fails.
         *
         *     A dotted name reaches into nested objects, `[*]` into each element of an array.
         */
        ParameterConstraint: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "parameter_constraint";
            /** @description What each named parameter must be. `payment.amount` reaches into objects, `recipients[*]` is each element of an array, `**` every text, number and member name at any depth. */
            parameters?: {
                [key: string]: components["schemas"]["Constraint"];
            };
            /** @description The same for what the caller vouches for in `context`. */
            context?: {
                [key: string]: components["schemas"]["Constraint"];
            };
            /** @description What a runtime must have reported of an earlier call. */
            record?: components["schemas"]["RecordConstraint"];
            /** @description What a failure asks for; `deny` if left out. */
            effect?: components["schemas"]["Effect"];
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
            /** @description What the rule asks of people if it escalates. */
            approval?: components["schemas"]["ApprovalTerms"];
        } & ((unknown | unknown | unknown) & unknown & (unknown | {
            /** @constant */
            effect: "escalate";
        }));
        /** @description What a runtime must have reported, in the call's session, of the result of an earlier call of the agent. */
        RecordConstraint: {
            /** @description The record's name; `{parameters.NAME}` or `{context.NAME}` in it stands for a value of the call: a text or whole number of at most 128 characters. */
            of: string;
            /** @description The tools whose results it may come from. */
            from: string[];
            /** @description What each of its fields must be; a field that is missing fails. */
            fields: {
                [key: string]: components["schemas"]["RecordField"];
            };
            /** @description How old it may be, 1 to 86,400 seconds (a day); an hour if left out. */
            withinSeconds?: number;
        };
        /** @description What one field of a record must be. */
        RecordField: {
            /** @description One of these, in type and value. */
            enum?: (string | number | boolean | null)[];
            /** @description Of the type of these, and none of them. */
            notEnum?: (string | number | boolean | null)[];
            /** @description A number from this on. */
            min?: number;
            /** @description A number up to this. */
            max?: number;
        };
        /**
         * @description What a constraint rule that fails asks for: `deny`, or `escalate` = ask a person.
         * @enum {string}
         */
        Effect: "deny" | "escalate";
        /** @description Passes if the parameters fit a JSON Schema of 2020-12, such as the `inputSchema` of an MCP tool, else fails. */
        ParameterSchema: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "parameter_schema";
            /** @description The schema. `$ref` must refer to a place in it, patterns are matched in linear time, and `format` is not checked. */
            schema: {
                [key: string]: unknown;
            };
            /** @description What a failure asks for; `deny` if left out. */
            effect?: components["schemas"]["Effect"];
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
            /** @description What the rule asks of people if it escalates. */
            approval?: components["schemas"]["ApprovalTerms"];
        } & (unknown & (unknown | {
            /** @constant */
            effect: "escalate";
        }));
        /** @description Passes if the quota has room, else fails. One quota per rule, shared by the tools it covers, or one per value. */
        RateLimited: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "rate_limit";
            /** @description How many calls in which span. */
            rateLimit: components["schemas"]["RateLimit"];
            /** @description What a failure asks for; `deny` if left out. */
            effect?: components["schemas"]["Effect"];
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
            /** @description What the rule asks of people if it escalates. */
            approval?: components["schemas"]["ApprovalTerms"];
        } & (unknown & (unknown | {
            /** @constant */
            effect: "escalate";
        }));
        /**
         * @description At most `max_calls` admitted calls in any span of `window_seconds`, in a period of the calendar, or in all.
         *
         *     Only admitted calls count, so a client that keeps retrying while denied does not extend its own penalty.
         */
        RateLimit: {
            /** @description The most admitted calls in any span, 1 to 1,000,000. */
            maxCalls: number;
            /** @description The span, 1 to 2,678,400 seconds (31 days); it ends now and does not start on the minute. Or `forever`: what was admitted counts for good; without `per` and `refundable`. */
            windowSeconds?: number | "forever";
            /** @description In place of `windowSeconds`: the current day, week (from Monday) or month of the calendar. */
            calendar?: components["schemas"]["CalendarPeriod"];
            /**
             * Format: iana-time-zone
             * @description The IANA time zone of the calendar; UTC if left out.
             */
            timezone?: string;
            /** @description Counts separately for each value of these: tool, key, agent, or paths. */
            per?: string[];
            /** @description A call reported as not executed no longer counts; only with up to 10,000 calls. */
            refundable?: boolean;
        } & ({
            windowSeconds: number;
        } | {
            refundable?: unknown;
        } | {
            /** @enum {unknown} */
            windowSeconds: "forever";
            refundable?: unknown;
        });
        /**
         * @description A period of the calendar; a week begins on Monday.
         * @enum {string}
         */
        CalendarPeriod: "day" | "month" | "week";
        /** @description Passes if the amount fits into what is left of the budget, else fails. */
        Budgeted: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "budget";
            /** @description How much of which amount in which span. */
            budget: components["schemas"]["Budget"];
            /** @description What a failure asks for; `deny` if left out. */
            effect?: components["schemas"]["Effect"];
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
            /** @description What the rule asks of people if it escalates. */
            approval?: components["schemas"]["ApprovalTerms"];
        } & (unknown & (unknown | {
            /** @constant */
            effect: "escalate";
        }));
        /** @description At most `max` of an amount, summed over the admitted calls of any span of `window_seconds`, of a period, or all. */
        Budget: ({
            /** @description The span, 1 to 2,678,400 seconds (31 days); it ends now and does not start on the minute. Or `forever`: what was admitted counts for good; without `per` and `refundable`. */
            windowSeconds?: number | "forever";
            /** @description In place of `windowSeconds`: the current day, week (from Monday) or month of the calendar. */
            calendar?: components["schemas"]["CalendarPeriod"];
            /**
             * Format: iana-time-zone
             * @description The IANA time zone of the calendar; UTC if left out.
             */
            timezone?: string;
            /** @description Counts separately for each value of these: tool, key, agent, or paths. */
            per?: string[];
            /** @description What a call took is given back if the call is reported as not executed. */
            refundable?: boolean;
            /** @description The name of the parameter that is the amount; with `[*]` the sum of all elements. */
            parameter?: string;
            /** @description In place of `parameter`: the name of the field of the context, for what the caller knows of a call's cost. */
            context?: string;
            /** @description The largest sum in any span, up to 1,000,000,000 with six decimal places. */
            max: number;
        } | {
        } | {
        }) & ({
            windowSeconds: number;
        } | {
            refundable?: unknown;
        } | {
            /** @enum {unknown} */
            windowSeconds: "forever";
            refundable?: unknown;
        });
        /**
         * @description Passes if what must come before the call was allowed in the session, and nothing that forbids the call was.
         *
         *     The session is `context.session`, a string of 1 to 128 characters; a call without one fails.
         */
        Sequenced: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "sequence";
            /** @description What must have been allowed in the session before the call, and what must not have been. */
            sequence: components["schemas"]["CallSequence"];
            /** @description What a failure asks for; `deny` if left out. */
            effect?: components["schemas"]["Effect"];
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
            /** @description What the rule asks of people if it escalates. */
            approval?: components["schemas"]["ApprovalTerms"];
        } & (unknown & (unknown | {
            /** @constant */
            effect: "escalate";
        }));
        /** @description Tools that must, or must not, have been called earlier in the session; give at least one list. */
        CallSequence: {
            /** @description The rule fails once a call of one of these tools was allowed in the session, to whichever agent. */
            forbiddenAfter?: string[];
            /** @description The rule fails until a call of one of these tools was allowed to this agent in the session. */
            requiresBefore?: string[];
            /** @description How long an allowed call counts, 1 to 2,678,400 seconds; 31 days if left out. */
            withinSeconds?: number;
            /** @description True = each call that the rule lets pass uses up what came before it: the next needs another one. */
            once?: boolean;
        } | {
            once?: unknown;
        } | unknown;
        /** @description Passes if `context.request` is the request that was pinned for the session, else fails. */
        PinnedRequest: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "pinned_request";
            /** @description What a failure asks for; `deny` if left out. */
            effect?: components["schemas"]["Effect"];
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
            /** @description What the rule asks of people if it escalates. */
            approval?: components["schemas"]["ApprovalTerms"];
        } & (unknown & (unknown | {
            /** @constant */
            effect: "escalate";
        }));
        /** @description Passes inside the window, else fails. */
        TimeBased: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "time_based";
            /** @description When calls pass. */
            timeWindow: components["schemas"]["TimeWindow"];
            /** @description What a failure asks for; `deny` if left out. */
            effect?: components["schemas"]["Effect"];
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description The rule applies only to calls that meet all of these conditions, and skips the others. */
            when?: components["schemas"]["Circumstances"];
            /** @description The rule skips calls that meet all of these conditions, and applies to the others. */
            unless?: components["schemas"]["Circumstances"];
            /** @description What the rule asks of people if it escalates. */
            approval?: components["schemas"]["ApprovalTerms"];
        } & (unknown & (unknown | {
            /** @constant */
            effect: "escalate";
        }));
        /** @description Times in a zone; what is left out does not restrict. */
        TimeWindow: {
            /** @description Hours of the day, 0 to 23: hour h is h:00:00 to h:59:59 local time. */
            allowedHours?: number[];
            /** @description Days of the week: 1 is Monday, 0 and 7 are Sunday. */
            allowedDays?: number[];
            /** @description Spans of time, in place of the two; it is open in any of them. */
            windows?: components["schemas"]["OpenSpan"][];
            /** @description Local dates on which it does not open, such as 2026-12-25, or 2026-12-24/2027-01-02 with both ends. */
            except?: string[];
            /**
             * Format: iana-time-zone
             * @description IANA time zone; UTC if left out.
             */
            timezone?: string;
        } | unknown | unknown | unknown | unknown;
        /** @description From one time of day to another, on some days. If the second is the earlier one, it is on the day after. */
        OpenSpan: {
            /** @description The first minute, such as 22:00. */
            from: string;
            /** @description The minute before which it ends, such as 06:00; 24:00 is the end of the day. */
            to: string;
            /** @description The days on which it begins: 1 is Monday, 0 and 7 are Sunday; every day if left out. */
            days?: number[];
        };
        /**
         * @description Counts the denied calls of its tools, for each agent or value. Too many suspend the agent, or calls are stopped.
         *
         *     Only a guardrail has it.
         */
        DenialCounted: {
            /**
             * @description Which kind it is.
             * @enum {unknown}
             */
            type: "denial_breaker";
            /** @description How many denials in which span, and what then. */
            denialBreaker: components["schemas"]["DenialBreaker"];
            /** @description Which tools: names, `prefix*`, or `*` for all; case-sensitive. */
            tools: string[];
            /** @description What the rule asks of people if it escalates. */
            approval?: components["schemas"]["ApprovalTerms"];
        } & ((unknown | {
            denialBreaker?: {
                /** @constant */
                action?: "escalate";
            };
        }) & {
            denialBreaker: unknown | unknown;
        });
        /** @description Full once `max_denials` calls of one agent were denied in the last `window_seconds`, for whatever reason. */
        DenialBreaker: {
            /** @description Denied calls of one agent, or of one value of `per`, 1 to 1,000. */
            maxDenials: number;
            /** @description The span, 1 to 86,400 seconds (a day); it ends now and does not start on the minute. */
            windowSeconds: number;
            /** @description Whether the denial that fills it suspends the agent; or, while it is full, calls that would be allowed are denied, or people are asked about them. Only the last two go with `per`, because they concern no other value. */
            action: components["schemas"]["BreakerAction"];
            /** @description Counts separately for each value of these: tool, key, agent, or paths. */
            per?: string[];
        };
        /**
         * @description What a full breaker does: `suspend` the agent, or `deny` calls that would be allowed, or `escalate` them.
         * @enum {string}
         */
        BreakerAction: "deny" | "escalate" | "suspend";
        /**
         * @description A `grant` allows, denies or escalates, by tiers. A `guardrail` is evaluated for every call and never allows.
         * @enum {string}
         */
        PolicyKind: "grant" | "guardrail";
        /**
         * @description An `enforce` policy decides. A `shadow` policy never changes an answer: the log says where it would have.
         * @enum {string}
         */
        PolicyMode: "enforce" | "shadow";
        /** @description A new policy of an agent, of a group or, if neither is given, a guardrail of the whole workspace. */
        CreatePolicy: ({
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The rules, in order. Any that denies denies; else any that escalates escalates. */
            rules: (components["schemas"]["ToolGrant"] | components["schemas"]["ToolAllowlist"] | components["schemas"]["ToolDenylist"] | components["schemas"]["ApprovalRequired"] | components["schemas"]["ParameterConstraint"] | components["schemas"]["ParameterSchema"] | components["schemas"]["RateLimited"] | components["schemas"]["Budgeted"] | components["schemas"]["Sequenced"] | components["schemas"]["PinnedRequest"] | components["schemas"]["TimeBased"] | components["schemas"]["DenialCounted"])[];
            /**
             * @description A grant decides by tiers. A guardrail is evaluated on every call and never allows.
             * @default grant
             */
            kind?: components["schemas"]["PolicyKind"];
            /**
             * @description Higher values are evaluated first; policies of equal priority decide together.
             * @default 0
             */
            priority?: number;
            /**
             * @description A policy that is not enabled is skipped.
             * @default true
             */
            enabled?: boolean;
            /**
             * @description `enforce` decides; `shadow` changes no answer, and the log says where it would have.
             * @default enforce
             */
            mode?: components["schemas"]["PolicyMode"];
            /**
             * @description A name for programs, unique among the policies of the same agent, group or workspace; never in the form of a UUID.
             * @default null
             */
            key?: string | null;
            /**
             * @description A message for the agent, sent with the reason if the policy gives a result other than allowed. `agentMessage` is accepted, too.
             * @default null
             */
            agent_message?: string | null;
            /**
             * @description Where the policy is managed: the files or the repository that `remit policy apply` named. `managedBy` is accepted, too.
             * @default null
             */
            managed_by?: string | null;
            /**
             * @description Entries of the agents that it governs have the user's request (`request` in `context`), kept as other texts are, in place of its MAC. A policy in shadow mode keeps none. `keepsRequests` is accepted, too.
             * @default false
             */
            keeps_requests?: boolean;
            /**
             * @description The agent that owns it, by its id or its alias. `agentId` is accepted, too.
             * @default null
             */
            agent_id?: string | null;
            /**
             * @description The group of agents that owns it.
             * @default null
             */
            group?: string | null;
        } & (({
            /** @constant */
            kind: "guardrail";
            /** @constant */
            mode?: "enforce";
        } | {
            rules?: unknown;
        }) & ({
            /** @constant */
            kind?: "grant";
        } | {
            rules?: unknown;
        }))) & ({
            agent_id: string;
            group?: null;
        } | {
            agent_id?: null;
            group: string;
        } | {
            /** @constant */
            kind: "guardrail";
            agent_id?: null;
            group?: null;
        });
        /** @description What to change; fields that are left out stay. `rules` replaces the whole list. */
        UpdatePolicy: {
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name?: string;
            /** @description The rules, in order. Any that denies denies; else any that escalates escalates. */
            rules?: (components["schemas"]["ToolGrant"] | components["schemas"]["ToolAllowlist"] | components["schemas"]["ToolDenylist"] | components["schemas"]["ApprovalRequired"] | components["schemas"]["ParameterConstraint"] | components["schemas"]["ParameterSchema"] | components["schemas"]["RateLimited"] | components["schemas"]["Budgeted"] | components["schemas"]["Sequenced"] | components["schemas"]["PinnedRequest"] | components["schemas"]["TimeBased"] | components["schemas"]["DenialCounted"])[];
            /** @description A grant decides by tiers. A guardrail is evaluated on every call and never allows. */
            kind?: components["schemas"]["PolicyKind"];
            /** @description Higher values are evaluated first; policies of equal priority decide together. */
            priority?: number;
            /** @description A policy that is not enabled is skipped. */
            enabled?: boolean;
            /** @description `enforce` decides; `shadow` changes no answer, and the log says where it would have. */
            mode?: components["schemas"]["PolicyMode"];
            /** @description A name for programs, unique among the policies of the same agent, group or workspace; never in the form of a UUID. */
            key?: string | null;
            /** @description A message for the agent, sent with the reason if the policy gives a result other than allowed. `agentMessage` is accepted, too. */
            agent_message?: string | null;
            /** @description Where the policy is managed: the files or the repository that `remit policy apply` named. `managedBy` is accepted, too. */
            managed_by?: string | null;
            /** @description Entries of the agents that it governs have the user's request (`request` in `context`), kept as other texts are, in place of its MAC. A policy in shadow mode keeps none. `keepsRequests` is accepted, too. */
            keeps_requests?: boolean;
        };
        /** @description Policies of an agent, of a group or, if neither is given, of the workspace, as they might be written. */
        LintPolicies: {
            /** @description The policies, in the form of a set. Other stored policies of the same owner are taken into account. */
            policies: components["schemas"]["PolicyEntry"][];
            /**
             * @description The agent that they would govern, by its id or its alias. `agentId` is accepted, too.
             * @default null
             */
            agent_id?: string | null;
            /**
             * @description The group of agents that they would govern.
             * @default null
             */
            group?: string | null;
        } & ({
            agent_id: string;
            group?: null;
            policies?: unknown;
        } | {
            agent_id?: null;
            group: string;
            policies?: unknown;
        } | {
            agent_id?: null;
            group?: null;
            policies?: unknown;
        });
        /**
         * @description What to compare: policies of an agent, of a group or, if neither is given, of the workspace.
         *
         *     The policies of an agent's groups and of the workspace are beside both sides.
         */
        ComparePolicies: {
            /**
             * @description The agent, by its id or its alias. `agentId` is accepted, too.
             * @default null
             */
            agent_id?: string | null;
            /**
             * @description The group. Its agents, and those of the workspace, may have any other policies.
             * @default null
             */
            group?: string | null;
            /** @description All policies that the owner would have before the change; those in force if left out. */
            before?: components["schemas"]["PolicyEntry"][];
            /** @description All policies that it would have after it; those in force if left out. */
            after?: components["schemas"]["PolicyEntry"][];
        } & ({
            agent_id: string;
            group?: null;
            before?: unknown;
            after?: unknown;
        } | {
            agent_id?: null;
            group: string;
            before?: unknown;
            after?: unknown;
        } | {
            agent_id?: null;
            group?: null;
            before?: unknown;
            after?: unknown;
        });
        /** @description What to learn from. */
        ProposeBody: {
            /** @description The agent, by its id or its alias. `agentId` is accepted, too. */
            agent_id: string;
            /**
             * Format: date-time
             * @description The start of the span; 30 days before `to` if left out.
             * @default null
             */
            from?: string | null;
            /**
             * Format: date-time
             * @description The end of the span; now if left out.
             * @default null
             */
            to?: string | null;
            /**
             * @description The calls that a person vouches for; all if left out.
             * @default {
             *       "keyId": [],
             *       "user": [],
             *       "session": [],
             *       "excludeSession": []
             *     }
             */
            filter?: components["schemas"]["ProposalFilter"];
            /**
             * @description Which tools that change nothing are granted: those in the log if left out.
             * @default seen
             */
            reads?: components["schemas"]["Reads"];
        };
        /** @description The calls to learn from: those that fit every list that is given. */
        ProposalFilter: {
            /**
             * @description Only calls made with one of these API keys.
             * @default []
             */
            keyId?: string[];
            /**
             * @description Only calls with one of these as `context.user`.
             * @default []
             */
            user?: string[];
            /**
             * @description Only calls with one of these as `context.session`.
             * @default []
             */
            session?: string[];
            /**
             * @description Only calls with none of these as `context.session`.
             * @default []
             */
            excludeSession?: string[];
        };
        /**
         * @description Which of the tools that change nothing a proposal grants: `seen`, those in the log; `all` of the catalogue.
         * @enum {string}
         */
        Reads: "all" | "seen";
        /** @description All policies of an agent, of a group or of the workspace; the answer to GET is accepted unchanged. */
        PutPolicies: {
            /** @description The policies. Other stored policies stay, or are deleted with `prune`. */
            policies: components["schemas"]["PolicyEntry"][];
            /** @description As GET shows it. If given, and the current version is another one, nothing is changed and the answer is 412. */
            version?: string;
            /**
             * @description As GET shows them; another owner's is refused. `agentId` is accepted, too.
             * @default null
             */
            agent_id?: string | null;
            /**
             * @description As GET shows them; another owner's is refused.
             * @default null
             */
            group?: string | null;
        };
        /** @description Tests, in the form of those in files, and the agent that makes their calls. */
        TestPolicies: {
            /** @description The agent, by its id or its alias: all policies that govern it are tested. `agentId` is accepted, too. */
            agent_id: string;
            /**
             * @description The tests, with up to 10,000 calls in all. Each starts with empty counters and no history.
             * @default []
             */
            tests?: components["schemas"]["PolicyTest"][];
            /**
             * @description Claims: results that no call of some kind ever gets.
             * @default []
             */
            never?: components["schemas"]["Claim"][];
            /** @description Drafts. A draft with the id of a policy that governs the agent replaces it; one without an id is added. */
            policies?: components["schemas"]["PolicyEntry"][];
            /**
             * Format: date-time
             * @description The time at which each test begins.
             * @default 2026-11-20T12:00:00Z
             */
            start?: string;
        };
        /** @description One test. Every test starts with empty counters and no history. */
        PolicyTest: {
            /** @description What it claims. */
            name: string;
            /** @description The call that is judged. */
            call: components["schemas"]["TestedCall"];
            /** @description The expected result, or more details. */
            want: components["schemas"]["Result"] | components["schemas"]["ExpectedResult"];
            /**
             * @description Calls made before it.
             * @default []
             */
            before?: components["schemas"]["EarlierCall"][];
        };
        /** @description A call. */
        TestedCall: {
            /** @description The tool's name. */
            tool: string;
            /**
             * @description The call's parameters.
             * @default {}
             */
            parameters?: {
                [key: string]: unknown;
            };
            /** @description What the caller vouches for. */
            context?: {
                [key: string]: unknown;
            };
            /** @description When: a time, or a span after the start such as `90s`, `5m`, `1d`; the time of the preceding call if left out. */
            at?: string;
            /**
             * @description The API key that asks, for limits that are per key; any string.
             * @default a key
             */
            key?: string;
        };
        /** @description The expected result of a call; a field left out may be anything. */
        ExpectedResult: {
            /** @description allowed, denied or escalated. */
            result: components["schemas"]["Result"];
            /** @description The name of the policy that decides. */
            policy?: string;
            /** @description The type of the rule that decides, or its place in the policy, from 0. */
            rule?: string | number;
            /** @description A part of the reason. */
            reason?: string;
        };
        /**
         * @description `escalated` means a person must be asked; only `allowed` permits the call.
         * @enum {string}
         */
        Result: "allowed" | "denied" | "escalated";
        /** @description Preceding calls: if they are allowed, as they must be, they count in limits and leave their marks. */
        EarlierCall: {
            /** @description The tool's name. */
            tool: string;
            /**
             * @description The call's parameters.
             * @default {}
             */
            parameters?: {
                [key: string]: unknown;
            };
            /** @description What the caller vouches for. */
            context?: {
                [key: string]: unknown;
            };
            /** @description When: a time, or a span after the start such as `90s`, `5m`, `1d`; the time of the preceding call if left out. */
            at?: string;
            /**
             * @description The API key that asks, for limits that are per key; any string.
             * @default a key
             */
            key?: string;
            /**
             * @description How many such calls, one after the other.
             * @default 1
             */
            times?: number;
            /**
             * @description The time between them, such as `1s`; none if left out.
             * @default 0s
             */
            every?: string;
            /**
             * @description The expected result of each, if not allowed.
             * @default allowed
             */
            want?: components["schemas"]["Result"] | components["schemas"]["ExpectedResult"];
            /**
             * @description What the runtime reports of each one's result, as with the outcome of a call, when it is made.
             * @default {}
             */
            records?: {
                [key: string]: {
                    [key: string]: string | number | boolean | null;
                };
            };
        };
        /** @description Calls that never get some results: at no time, with no limits free or full, and after nothing. */
        Claim: {
            /** @description What it claims. */
            name: string;
            /** @description The calls that it is about. */
            call: components["schemas"]["ClaimedCalls"];
            /** @description The result, or the results, that none of them gets. */
            result: components["schemas"]["Result"] | components["schemas"]["Result"][];
        };
        /** @description The calls that a claim is about. */
        ClaimedCalls: {
            /** @description The tool, `prefix*` or `*`. */
            tool: string;
            /** @description What each named parameter is in these calls; all parameters if left out. */
            parameters?: {
                [key: string]: components["schemas"]["Constraint"];
            };
            /** @description The same for what the caller vouches for. */
            context?: {
                [key: string]: components["schemas"]["Constraint"];
            };
        };
        /** @description A note given with a verdict. */
        ReviewNote: {
            /**
             * @description For the trail of changes and for whoever asked; may contain line breaks.
             * @default
             */
            note?: string;
        };
        /** @description The version to restore. */
        RollBack: {
            /** @description One that `GET /v1/policies/{id}/versions` lists. */
            version: number;
        };
        /** @description A new agent. It is active at once. */
        CreateAgent: {
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /**
             * @description What the agent is for; may contain line breaks.
             * @default null
             */
            description?: string | null;
            /** @description Groups it belongs to; their policies govern it, too. */
            groups?: string[];
            /**
             * @description A name for programs, unique among the workspace's agents; accepted wherever an agent's id is. Never in the form of a UUID.
             * @default null
             */
            alias?: string | null;
            /**
             * @description What kind of principal it is, as AuthZEN's `subject.type` names it.
             * @default agent
             */
            type?: string;
        };
        /** @description What to change; fields that are left out stay. */
        UpdateAgent: {
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name?: string;
            /** @description What the agent is for; may contain line breaks. */
            description?: string | null;
            /** @description `revoked` is final. */
            status?: components["schemas"]["AgentStatus"];
            /** @description Groups it belongs to; their policies govern it, too. */
            groups?: string[];
            /** @description A name for programs, unique among the workspace's agents; accepted wherever an agent's id is. Never in the form of a UUID. */
            alias?: string | null;
            /** @description What kind of principal it is, as AuthZEN's `subject.type` names it. */
            type?: string;
        };
        /**
         * @description Only calls of an `active` agent can be allowed. `revoked` is final.
         * @enum {string}
         */
        AgentStatus: "active" | "revoked" | "suspended";
        /** @description Which tools to list. */
        NamedTools: {
            /** @description The tools, in the order of the answer, whether or not they are known. */
            names: string[];
        };
        /** @description An MCP server's answer to `tools/list`, unchanged: the whole message, or its result. */
        PutCatalog: {
            /** @description The tools. Other tools in the catalogue stay, or are deleted with `prune`. */
            tools?: components["schemas"]["ToolEntry"][];
            /** @description The result, if the whole message is sent. */
            result?: components["schemas"]["ToolList"];
            /**
             * @description Present if there is another page; not with `prune`.
             * @default null
             */
            nextCursor?: string | null;
        } & (unknown | unknown);
        /** @description A tool as an MCP server lists it. Fields that are not named here are ignored. */
        ToolEntry: {
            /** @description The tool_name of its calls. */
            name: string;
            /**
             * @description Its name for people.
             * @default null
             */
            title?: string | null;
            /**
             * @description What it does, as told to a model.
             * @default null
             */
            description?: string | null;
            /**
             * @description The JSON Schema of its parameters, as its server publishes it.
             * @default null
             */
            inputSchema?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description What its server says of its calls; only a suggestion to whoever marks it.
             * @default null
             */
            annotations?: components["schemas"]["ToolAnnotations"] | null;
        };
        /** @description What a server says of its own tool: only a suggestion to whoever marks it. Other annotations are ignored. */
        ToolAnnotations: {
            /**
             * @description Its calls change nothing.
             * @default null
             */
            readOnlyHint?: boolean | null;
            /**
             * @description They may destroy or overwrite something.
             * @default null
             */
            destructiveHint?: boolean | null;
            /**
             * @description They reach what is outside of the server's own domain, such as the web.
             * @default null
             */
            openWorldHint?: boolean | null;
        };
        /** @description The result of an MCP server's `tools/list`. Fields that are not named here are ignored. */
        ToolList: {
            /** @description The tools. */
            tools: components["schemas"]["ToolEntry"][];
            /**
             * @description Present if there is another page.
             * @default null
             */
            nextCursor?: string | null;
        };
        /** @description What a person says of tools of the catalogue. */
        MarkTools: {
            /** @description By name. */
            tools: {
                [key: string]: components["schemas"]["ToolMarks"];
            };
        };
        /** @description What a person says of a tool. A field that is left out stays as it is. */
        ToolMarks: {
            /** @description What its calls do to the world. */
            consequence?: components["schemas"]["Consequence"];
            /** @description Whether its results may hold text that strangers wrote: mail, pages, bills, tickets. */
            foreign?: boolean;
        };
        /**
         * @description What calls of a tool do to the world.
         *
         *     `none`: they only read. `discloses`: they read, but their arguments reach a stranger, as those of a web page do.
         *     `reversible`: the agent's user can undo them. `irreversible`: they pay, send, delete, publish, or show what must
         *     stay secret.
         * @enum {string}
         */
        Consequence: "discloses" | "irreversible" | "none" | "reversible";
        /** @description A tool as an MCP server lists it. Fields that are not named here are ignored. */
        PutTool: {
            /** @description As in the path, or left out. */
            name?: string;
            /**
             * @description Its name for people.
             * @default null
             */
            title?: string | null;
            /**
             * @description What it does, as told to a model.
             * @default null
             */
            description?: string | null;
            /**
             * @description The JSON Schema of its parameters, as its server publishes it.
             * @default null
             */
            inputSchema?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description What its server says of its calls; only a suggestion to whoever marks it.
             * @default null
             */
            annotations?: components["schemas"]["ToolAnnotations"] | null;
        };
        /** @description A resource, or a subject, that AuthZEN's searches shall know. */
        PutResource: {
            /**
             * @description Its name for people.
             * @default null
             */
            title?: string | null;
            /**
             * @description What it is.
             * @default null
             */
            description?: string | null;
            /**
             * @description The actions that there are on it.
             * @default []
             */
            actions?: string[];
            /**
             * @description Its attributes, which searches judge it by.
             * @default {}
             */
            properties?: {
                [key: string]: unknown;
            };
            /**
             * @description The JSON Schema of an action's properties.
             * @default null
             */
            inputSchema?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description What to replay. Without `agent_id` and `group`, the calls of every agent, and the workspace's policies. */
        ReplayBody: {
            /**
             * @description The agent, by its id or its alias, whose calls are replayed and whose own policies the draft replaces. `agentId` is accepted, too.
             * @default null
             */
            agent_id?: string | null;
            /**
             * @description The same for a group of agents.
             * @default null
             */
            group?: string | null;
            /**
             * Format: date-time
             * @description The start of the span; a week before `to` if left out.
             * @default null
             */
            from?: string | null;
            /**
             * Format: date-time
             * @description The end of the span; now if left out.
             * @default null
             */
            to?: string | null;
            /**
             * @description The draft: all policies that the agent, the group or the workspace would own. Left out: the policies as they were at the time of each call, which should change nothing.
             * @default null
             */
            policies?: components["schemas"]["PolicyEntry"][] | null;
        } & ({
            agent_id: string;
            group?: null;
            policies?: unknown;
        } | {
            agent_id?: null;
            group: string;
            policies?: unknown;
        } | {
            agent_id?: null;
            group?: null;
            policies?: unknown;
        });
        /** @description An empty body: `{}`. */
        AcceptFork: Record<string, never>;
        /** @description One verdict on several approvals. */
        DecideTogether: {
            /**
             * @description For the log and for whoever asked; may contain line breaks.
             * @default
             */
            note?: string;
            /** @description Those to decide, each once. */
            approvals: components["schemas"]["SeenApproval"][];
            /** @description The verdict on each. */
            decision: components["schemas"]["Verdict"];
            /** @description Those that are denied although the others are approved, such as calls of a plan that should not be made. `struckOut` is accepted, too. */
            struck_out?: components["schemas"]["SeenApproval"][];
        };
        /** @description An approval as the person saw it. */
        SeenApproval: {
            /** @description The approval. */
            id: string;
            /** @description Its version when it was read; if it has changed since, it is not decided. */
            version: number;
        };
        /**
         * @description What people say to a call that waits.
         * @enum {string}
         */
        Verdict: "approve" | "deny";
        /** @description An approval, and what it permits: at most what the rule that asked allows. */
        ApproveCall: {
            /**
             * @description For the log and for whoever asked; may contain line breaks.
             * @default
             */
            note?: string;
            /** @description How many calls it permits; as many as the rule allows if left out. */
            uses?: number;
            /** @description How long it can be used, in seconds; as long as the rule allows if left out. `validSeconds` is accepted, too. */
            valid_seconds?: number;
            /**
             * @description true confirms that the person knows they do not see everything the approval is bound to. `acceptHidden` is accepted, too.
             * @default false
             */
            accept_hidden?: boolean;
        };
        /** @description A note given with a denial or a cancellation. */
        ApprovalNote: {
            /**
             * @description For the log and for whoever asked; may contain line breaks.
             * @default
             */
            note?: string;
        };
        /** @description A new key. Without expiresAt it never expires. */
        CreateApiKey: {
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description What the key may do. */
            scopes: components["schemas"]["Scope"][];
            /**
             * @description The only agents for which it may request decisions, by id or alias; an alias is resolved now. Null or left out = all. Only with `authorize`, and without `read` and `admin`, whose keys may ask for every agent.
             * @default null
             */
            agents?: string[] | null;
            /**
             * @description `key` = all calls of the key belong to one separate session, whatever `context.session` says: for a runtime that cannot be trusted to name its sessions. Only with `authorize`, and without `read` and `admin`. `session_from` is accepted, too.
             * @default null
             */
            sessionFrom?: components["schemas"]["SessionFrom"] | null;
            /**
             * Format: date-time
             * @description When the key stops being valid; null or left out = never. A key with a past time is never valid. `expires_at` is accepted, too.
             * @default null
             */
            expiresAt?: string | null;
        } | {
            agents?: null;
            sessionFrom?: null;
        } | {
            scopes?: unknown;
        };
        /**
         * @description What a key may do. `admin` may do everything; `read` may ask for decisions and read all but keys and the trail.
         *
         *     `view` may read the same, and changes nothing: who only looks needs no more. The others each grant a part:
         *     `authorize` asks for decisions, `audit` reads and verifies log and trail, `policies` reads and writes agents and
         *     policies, `approve` reads and decides approvals, `request` pins what users asked for, `record` reports what calls
         *     resulted in.
         * @enum {string}
         */
        Scope: "admin" | "approve" | "audit" | "authorize" | "policies" | "read" | "record" | "request" | "view";
        /**
         * @description What defines a call's session, if not its context: `key` = all calls of a key are one session.
         * @enum {string}
         */
        SessionFrom: "key";
        /** @description How a key is replaced. */
        RotateApiKey: {
            /**
             * @description How long the old key stays valid; a day if left out. Its sessions end with it. `overlap_seconds` is accepted, too.
             * @default 86400
             */
            overlapSeconds?: number;
            /**
             * Format: date-time
             * @description When the new key stops being valid; null or left out = after the old key's original lifetime. `expires_at` is accepted, too.
             * @default null
             */
            expiresAt?: string | null;
        };
        /** @description Proof of who signs in: exactly one of key, code and id_token. */
        SignInBody: {
            /** @description An API key. The session has its scopes and ends with it. */
            key?: string;
            /** @description The one-time code that `remit console` prints. */
            code?: string;
            /** @description An ID token of the identity provider, ten minutes old at most, for the client of `remit login`. `idToken` is accepted, too. */
            id_token?: string;
            /** @description With id_token, for somebody with access to several, who must name one. */
            workspace?: string;
            /**
             * @description `cookie` = for a browser; `bearer` = the answer has the token.
             * @default cookie
             */
            transport?: components["schemas"]["Transport"];
        };
        /**
         * @description Where the token of a session goes: into a browser's cookie, or into the answer, for a program.
         * @enum {string}
         */
        Transport: "bearer" | "cookie";
        /** @description A new webhook. It receives events from now on. */
        CreateWebhook: {
            /** @description Where events go: https, and not an address of a private network unless a setting allows it. */
            url: string;
            /** @description The types of events to send. */
            events: components["schemas"]["WebhookEvent"][];
            /**
             * @description `standard` = JSON with type, timestamp and data; `slack` = a message for a channel of Slack; `teams` = a card for one of Teams.
             * @default standard
             */
            format?: components["schemas"]["WebhookFormat"];
            /**
             * @description Which of these events to send; null or left out = all.
             * @default null
             */
            only?: components["schemas"]["EventFilter"] | null;
            /** @description The signing secret: whsec_ and 24 to 64 bytes in base64. Generated if left out. */
            secret?: string;
        };
        /**
         * @description The events a webhook can receive.
         * @enum {string}
         */
        WebhookEvent: "access_request.completed" | "agent.suspended" | "approval.decided" | "approval.expired" | "approval.requested" | "approvals.filling" | "audit.verification_failed" | "decision.denied" | "policy.changed" | "policy_review.requested";
        /**
         * @description How an event is written: as Remit's own JSON, as a message for Slack, or as a card for Teams.
         * @enum {string}
         */
        WebhookFormat: "slack" | "standard" | "teams";
        /** @description Which events are sent; each field that is given narrows those that say such a thing, and leaves the others. */
        EventFilter: {
            /** @description Only those about these agents, by id or alias, or about reviews of their policies; an alias is resolved now. */
            agents?: string[];
            /** @description Only those about agents that are in one of these groups when the event is sent, or about reviews of their policies or of those of the group. */
            groups?: string[];
            /** @description Only those about calls of these tools: names, `prefix*`, or `*`. */
            tools?: string[];
            /** @description Only those about these policies or reviews of them, or about calls that a rule of theirs decided or asked about; by id. */
            policies?: string[];
            /** @description Only those about entries of the log with one of these codes, such as `approval_denied` or `quota_full`. */
            codes?: ("allowed" | "approval_required" | "default_deny" | "tool_denied" | "not_allowlisted" | "parameter_invalid" | "schema_invalid" | "quota_full" | "budget_spent" | "too_many_denials" | "outside_hours" | "sequence_forbidden" | "request_not_pinned" | "rule_failed" | "approvals_full" | "batch_refused" | "agent_suspended" | "agent_revoked" | "approval_approved" | "approval_denied" | "approval_cancelled" | "approval_expired")[];
            /** @description Only denials decided by rules of these types, and with `denial_breaker` also those that filled one. */
            ruleTypes?: string[];
            /** @description The share of denials to send, above 0 and up to 1, chosen by the entry's id; all if left out. */
            sample?: number;
        };
        /** @description What to change; fields that are left out stay. */
        UpdateWebhook: {
            /** @description Where events go, including those already waiting. */
            url?: string;
            /** @description The types of events to send. */
            events?: components["schemas"]["WebhookEvent"][];
            /** @description How an event is written. */
            format?: components["schemas"]["WebhookFormat"];
            /** @description Which of these events to send, instead of what narrowed them before; null = all. */
            only?: components["schemas"]["EventFilter"] | null;
            /** @description Whether it receives events. When enabled again, it receives events from then on. */
            enabled?: boolean;
        };
        /** @description Another secret for a webhook. */
        RotateSecret: {
            /**
             * @description How long the previous secrets also sign; a day if left out. `overlap_seconds` is accepted, too.
             * @default 86400
             */
            overlapSeconds?: number;
            /** @description The new one; generated if left out. */
            secret?: string;
        };
        /** @description An empty body: `{}`. */
        SendTest: Record<string, never>;
        /** @description Which events to retry. */
        RetryEvents: {
            /** @description The id of one event, parked or not; all parked ones if left out. */
            event?: string;
        };
        /** @description A request for access that was denied. Fields that are not named here are ignored. */
        AccessRequestBody: {
            /** @description The subject of the denied evaluation. */
            subject: components["schemas"]["Subject"];
            /** @description The resource of the denied evaluation, unless there are items. */
            resource?: components["schemas"]["Resource"];
            /** @description The action of the denied evaluation, unless there are items. */
            action?: components["schemas"]["Action"];
            /** @description Several requests, each for a denial of its own. */
            items?: components["schemas"]["RequestedItem"][];
            /** @description The context of the denied evaluation, and whatever people should know, such as a justification. */
            context?: {
                [key: string]: unknown;
            };
            /** @description The denial. */
            denial?: components["schemas"]["Denial"];
            /** @description What is requested, such as `requested_until` or `emergency`; people see it, but it grants nothing. */
            requested_access?: {
                [key: string]: unknown;
            };
            /** @description Who is told how it ended. */
            callback?: components["schemas"]["Callback"];
            /** @description Who requests it, and from where; an `actor` must be an agent for which the key may ask. */
            client?: {
                [key: string]: unknown;
            };
        };
        /** @description Who asks: an agent. */
        Subject: {
            /** @description The agent's type, unless `context.agent` names the agent. */
            type: string;
            /** @description The agent's id or alias, unless `context.agent` names the agent. */
            id: string;
            /** @description Attributes that policies can read. */
            properties?: {
                [key: string]: unknown;
            };
        };
        /** @description What it is attempted on. */
        Resource: {
            /** @description `tool` if the resource is a tool by itself. */
            type: string;
            /** @description The parameter `id` of the call; of a tool, its name. */
            id: string;
            /** @description Further parameters of the call. */
            properties?: {
                [key: string]: unknown;
            };
        };
        /** @description What is attempted. */
        Action: {
            /** @description With the resource's type, the name of the tool: `record.read`. */
            name: string;
            /** @description Attributes that policies can read. */
            properties?: {
                [key: string]: unknown;
            };
        };
        /** @description One of several requests. */
        RequestedItem: {
            /** @description The resource of the denied evaluation. */
            resource: components["schemas"]["Resource"];
            /** @description The action of the denied evaluation. */
            action: components["schemas"]["Action"];
            /** @description What is requested; its members replace those of the same names beside the items. */
            requested_access?: {
                [key: string]: unknown;
            };
            /** @description The denial of this item; the one beside the items if left out. */
            denial?: components["schemas"]["Denial"];
        };
        /** @description The denial on which an access request rests, with the values from the context of that decision. */
        Denial: {
            /** @description The evaluation's id. */
            evaluation_id?: string;
            /**
             * Format: date-time
             * @description `access_request.expires_at`. What counts is the time that was recorded.
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description When it was denied.
             */
            evaluated_at?: string;
            /** @description The reason. */
            reason?: string;
            /** @description `access_request.template`. */
            template?: string;
            /** @description Never given out here, so one that comes back binds nothing. */
            binding_token?: string;
        };
        /** @description Who is told how a request ended. */
        Callback: {
            /** @description The URL of one of the workspace's webhooks for `access_request.completed`. */
            endpoint: string;
            /** @description Returned in the callback, as it is. */
            state?: unknown;
            /** @description The status values that are told: `approved`, `denied`, `expired`, `cancelled`, `partial`; all if left out. */
            events?: string[];
        };
        /** @description Several questions. Without `evaluations`, a single one. Fields that are not named here are ignored. */
        EvaluationsBody: {
            /** @description Of every evaluation that has none. */
            subject?: components["schemas"]["Subject"];
            /** @description Of every evaluation that has none. */
            action?: components["schemas"]["Action"];
            /** @description Of every evaluation that has none. */
            resource?: components["schemas"]["Resource"];
            /** @description Of every evaluation that has none. */
            context?: {
                [key: string]: unknown;
            };
            /** @description The questions; each may have its own entities, which replace those beside this list as a whole. */
            evaluations?: {
                [key: string]: unknown;
            }[];
            /** @description How they are executed. */
            options?: components["schemas"]["EvaluationOptions"];
        };
        /** @description How the evaluations are executed. */
        EvaluationOptions: {
            /**
             * @description Which of them are decided; `execute_all` if left out.
             * @default execute_all
             * @enum {unknown}
             */
            evaluations_semantic?: "deny_on_first_deny" | "execute_all" | "permit_on_first_permit";
        };
        /** @description An issuer of workload tokens, in full: what is left out does not stay. */
        PutIssuer: {
            /** @description The `iss` of its tokens, compared as a whole. */
            issuer: string;
            /** @description The only `aud` that its tokens may have; no other workspace may have the same issuer with it. */
            audience: string;
            /** @description How it signs. */
            algorithms: components["schemas"]["Algorithm"][];
            /** @description What its tokens may do; the first that matches counts, and without one a token is refused. */
            rules: components["schemas"]["IssuerRule"][];
            /** @description Where its public keys are: https, and not at an address of a private network unless a setting allows it. `jwks_uri` is accepted, too. */
            jwksUri?: string;
            /** @description Its public keys, a JWK Set, in place of `jwks_uri`. */
            jwks?: {
                [key: string]: unknown;
            };
        };
        /**
         * @description How tokens are signed; none is symmetric.
         * @enum {string}
         */
        Algorithm: "ES256" | "EdDSA" | "RS256";
        /** @description What a token may do whose claims match. */
        IssuerRule: {
            /** @description Claims by name, each with the value that it must have: exact, or ending in `:*` or `/*`, for anything after that. */
            match: {
                [key: string]: string;
            };
            /** @description Of `authorize`, `read` and `view`; none = such a token is refused. */
            scopes: components["schemas"]["Scope"][];
            /** @description The only agents for which it may ask decisions, by id or alias; left out = all. */
            agents?: string[];
        };
        /** @description May the subject do this? Fields that are not named here are ignored. */
        EvaluationBody: {
            /** @description Who asks. */
            subject: components["schemas"]["Subject"];
            /** @description What is attempted. */
            action: components["schemas"]["Action"];
            /** @description What it is attempted on. */
            resource: components["schemas"]["Resource"];
            /** @description What the caller vouches for besides the entities. `agent` names the agent instead of the subject, and `approval` the approval of an access request's result. */
            context?: {
                [key: string]: unknown;
            };
        };
        /** @description Which subjects may do this? */
        SubjectSearch: {
            /** @description What the caller vouches for besides the entities. */
            context?: {
                [key: string]: unknown;
            };
            /** @description Which part of the results to answer with. */
            page?: components["schemas"]["PageRequest"];
            /** @description The type of subjects to find. */
            subject: components["schemas"]["OfType"];
            /** @description What they may do. */
            action: components["schemas"]["Action"];
            /** @description On what; a resource that the catalogue does not have is unknown. */
            resource: components["schemas"]["Resource"];
        };
        /** @description Which part of the results to answer with. */
        PageRequest: {
            /** @description The `next_token` of the page before; everything else must be as it was there. */
            token?: string;
            /** @description The most results, a whole number; 1,000 if left out. */
            limit?: number;
            /** @description Not used here. */
            properties?: {
                [key: string]: unknown;
            };
        };
        /** @description The entities that are searched for. An id is ignored. */
        OfType: {
            /** @description Their type. */
            type: string;
        };
        /** @description On which resources may the subject do this? */
        ResourceSearch: {
            /** @description What the caller vouches for besides the entities. */
            context?: {
                [key: string]: unknown;
            };
            /** @description Which part of the results to answer with. */
            page?: components["schemas"]["PageRequest"];
            /** @description Who. */
            subject: components["schemas"]["Subject"];
            /** @description What. */
            action: components["schemas"]["Action"];
            /** @description The type of resources to find, in the catalogue. */
            resource: components["schemas"]["OfType"];
        };
        /** @description What may the subject do on the resource? */
        ActionSearch: {
            /** @description What the caller vouches for besides the entities. */
            context?: {
                [key: string]: unknown;
            };
            /** @description Which part of the results to answer with. */
            page?: components["schemas"]["PageRequest"];
            /** @description Who. */
            subject: components["schemas"]["Subject"];
            /** @description On what. Its actions, or those of its type, are in the catalogue. */
            resource: components["schemas"]["Resource"];
        };
        /** @description Why a request is cancelled; the body may be left out. */
        CancelTask: {
            /**
             * @description For programs.
             * @default
             */
            reason?: string;
            /**
             * @description For people; part of the log.
             * @default
             */
            comment?: string;
        };
        /** @description The answer, in the words of the audit entry whose id it carries; only `allowed` permits the call. */
        DecisionView: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description True if and only if result is `allowed`: only then may the call be made. */
            allowed: boolean;
            /** @description What was decided. */
            result: components["schemas"]["Result"];
            /**
             * Format: uuid
             * @description The policy that gave the result; null if none did: a default deny, or an agent not active.
             */
            policyId: string | null;
            /** @description The rule that decided; null if none did. */
            rule: components["schemas"]["RuleRef"] | null;
            /** @description A sentence for people. */
            reason: string;
            /** @description Why it was decided this way, for programs. */
            code: components["schemas"]["DecisionCode"];
            /** @description What could lead to another answer. */
            nextAction: components["schemas"]["NextAction"];
            /** @description The seconds after which the same call may be answered differently; null if waiting does not help, or the time is unknown. */
            retryAfterSeconds: number | null;
            /** @description From the request's arrival to the decision, in milliseconds. */
            latencyMs: number;
            /**
             * Format: date-time
             * @description When it was decided, by the store's clock.
             */
            timestamp: string;
            /** @description The approval that waits for a person, or that made it allowed; left out if there is none. */
            approval?: components["schemas"]["ApprovalRef"];
            /** @description The message to the agent from the policy that gave the result; left out if it has none. */
            agentMessage?: string;
        };
        /** @description The deciding rule. */
        RuleRef: {
            /** @description Its place in the policy's rules, from 0. */
            index: number;
            /** @description The kind of rule. */
            type: string;
        };
        /**
         * @description Why it was decided this way, for programs. Codes may be added; their meanings do not change.
         * @enum {string}
         */
        DecisionCode: "agent_revoked" | "agent_suspended" | "allowed" | "approval_required" | "approvals_full" | "batch_refused" | "budget_spent" | "default_deny" | "not_allowlisted" | "outside_hours" | "parameter_invalid" | "quota_full" | "request_not_pinned" | "rule_failed" | "schema_invalid" | "sequence_forbidden" | "too_many_denials" | "tool_denied";
        /**
         * @description What could lead to another answer: nothing, waiting, other parameters, or a person.
         * @enum {string}
         */
        NextAction: "change_parameters" | "none" | "request_approval" | "retry";
        /** @description The approval of a call. */
        ApprovalRef: {
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Its current state. */
            status: string;
            /**
             * Format: date-time
             * @description When it can no longer be decided or, once approved, used.
             */
            expiresAt: string;
        };
        /** @description The answers to a batch. */
        BatchResults: {
            /** @description In the order of the calls; fewer than these if the semantics end the batch early. */
            results: components["schemas"]["BatchResult"][];
        };
        /** @description The answer to one call of a batch: one of the two. */
        BatchResult: {
            /** @description The decision, as `POST /v1/authorize` answers it; its entry is in the audit log. */
            decision?: components["schemas"]["DecisionView"];
            /** @description Why there is none for this call. */
            error?: components["schemas"]["Problem"];
        };
        /** @description What went wrong: a code for programs, a sentence for people, and the places at fault. */
        Problem: {
            /**
             * @description For programs; codes may be added within /v1, but none changes.
             * @enum {string}
             */
            code: "BATCH_TOO_LARGE" | "INVALID_DENIAL_BINDING" | "NOT_REQUESTABLE" | "VALIDATION_ERROR" | "API_KEY_EXPIRED" | "UNAUTHORIZED" | "CALL_REFUSED" | "CROSS_SITE" | "INSUFFICIENT_SCOPE" | "NOT_AN_APPROVER" | "NO_ACCESS" | "OWN_APPROVAL" | "OWN_POLICY_REVIEW" | "SIGN_IN_TOO_OLD" | "AGENT_NOT_FOUND" | "API_KEY_NOT_FOUND" | "APPROVAL_NOT_FOUND" | "AUDIT_ENTRY_NOT_FOUND" | "CHECKPOINT_NOT_FOUND" | "DECISION_NOT_FOUND" | "ISSUER_NOT_FOUND" | "NOT_FOUND" | "POLICY_NOT_FOUND" | "POLICY_REVIEW_NOT_FOUND" | "POLICY_VERSION_NOT_FOUND" | "REQUEST_NOT_FOUND" | "RESOURCE_NOT_FOUND" | "SESSION_NOT_FOUND" | "TOOL_NOT_FOUND" | "UNKNOWN_TASK" | "WEBHOOK_EVENT_NOT_FOUND" | "WEBHOOK_NOT_FOUND" | "METHOD_NOT_ALLOWED" | "REQUEST_TIMEOUT" | "AGENT_REVOKED" | "ALIAS_TAKEN" | "APPROVAL_CHANGED" | "APPROVAL_DECIDED" | "APPROVAL_MISMATCH" | "DUPLICATE_REQUEST" | "IDEMPOTENCY_CONFLICT" | "IDEMPOTENCY_STALE" | "INVALID_TASK_STATE" | "ISSUER_TAKEN" | "LAST_ADMIN_KEY" | "LIMIT_REACHED" | "NOTHING_TO_LEARN" | "NOT_A_SESSION" | "OUTCOME_CONFLICT" | "POLICY_KEY_TAKEN" | "POLICY_REVIEW_DECIDED" | "POLICY_REVIEW_STALE" | "REQUEST_PINNED" | "SEVERAL_WORKSPACES" | "EXPIRED_DENIAL" | "TASK_EXPIRED" | "VERSION_NOT_KEPT" | "VERSION_CONFLICT" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_ENCODING" | "LOCKED_OUT" | "RATE_LIMITED" | "TOO_MANY_MISMATCHES" | "TOO_MANY_REPLAYS" | "TOO_MANY_STREAMS" | "HEAD_TOO_LARGE" | "AUDIT_LOG_DAMAGED" | "INTERNAL_ERROR" | "OVERLOADED" | "PROVIDER_UNAVAILABLE" | "STORE_UNAVAILABLE";
            /** @description For people. */
            message: string;
            /** @description The places at fault, if there are any. */
            details: components["schemas"]["Detail"][];
        };
        /** @description One thing that was wrong. */
        Detail: {
            /** @description Where: a JSON path such as `$.rules[0].tools`, or the name of a query parameter. */
            path: string;
            /** @description For people. */
            message: string;
        };
        /** @description The answer to the hook. */
        HookAnswer: {
            /**
             * @description The part that the coding agent obeys. Left out if the call is allowed and the request says `X-Remit-Allowed: continue`: its own permissions then decide.
             * @default null
             */
            hookSpecificOutput?: components["schemas"]["HookDecision"] | null;
        };
        /** @description The decision in the hook's own words. */
        HookDecision: {
            /** @description As in the request. */
            hookEventName: string;
            /**
             * @description `ask` if a person must approve; the coding agent then asks its user.
             * @enum {unknown}
             */
            permissionDecision: "allow" | "ask" | "deny";
            /** @description Why; shown to the model on a denial, to the user when asked. */
            permissionDecisionReason: string;
        };
        /** @description The outcome of a call, as logged. */
        CallOutcome: {
            /**
             * Format: uuid
             * @description The log entry that records it.
             */
            id: string;
            /**
             * Format: uuid
             * @description The decision that allowed the call.
             */
            decisionId: string;
            /** @description The reported status. */
            status: components["schemas"]["CallStatus"];
            /** @description How many limits and budgets of rules with `refundable` have given back what the call took. */
            refunded: number;
            /**
             * Format: date-time
             * @description When it was reported, by the store's clock.
             */
            timestamp: string;
        };
        /** @description The request that was pinned for a session. Its text is not stored. */
        SessionRequest: {
            /**
             * Format: uuid
             * @description Of this pinned request, for the trail.
             */
            id: string;
            /** @description What calls of the session give as `context.session`. */
            session: string;
            /** @description Characters of the request. */
            length: number;
            /** @description A MAC of the request, the same as in audit entries of calls that give this request. */
            hmac: string;
            /**
             * Format: date-time
             * @description When it was pinned, by the store's clock.
             */
            pinnedAt: string;
            /**
             * Format: uuid
             * @description The API key or session with which it was pinned.
             */
            pinnedBy: string;
            /**
             * Format: date-time
             * @description When it counts no more.
             */
            expiresAt: string;
        };
        /** @description What authorize would answer, and why. */
        Explanation: {
            /** @description True if and only if result is `allowed`. */
            allowed: boolean;
            /** @description What would be decided. */
            result: components["schemas"]["Result"];
            /**
             * Format: uuid
             * @description The policy that gives the result; null if none does, or if it is a draft without an id.
             */
            policyId: string | null;
            /** @description The policy's name; null if there is no policy. */
            policyName: string | null;
            /** @description The rule that decides; null if none does. */
            rule: components["schemas"]["RuleRef"] | null;
            /** @description A sentence for people. */
            reason: string;
            /** @description Why it would be decided this way, for programs. */
            code: components["schemas"]["DecisionCode"];
            /** @description What could lead to another answer. */
            nextAction: components["schemas"]["NextAction"];
            /** @description The seconds until every full rate limit has room again; null if none is full. */
            retryAfterSeconds: number | null;
            /**
             * Format: date-time
             * @description The time used for time windows, rate limits and budgets.
             */
            at: string;
            /** @description The agent that would call. */
            agent: components["schemas"]["ExplainedAgent"];
            /** @description Every policy that governs the agent, with its part in the answer. */
            policies: components["schemas"]["PolicyPart"][];
            /** @description The approval that the call would wait for or use; left out if there is none. */
            approval?: components["schemas"]["ApprovalRef"];
            /** @description The message to the agent from the policy that gives the result; left out if it has none. */
            agentMessage?: string;
            /** @description What would be answered with the shadow policies; only if they apply to the call. */
            shadow?: components["schemas"]["ShadowExplanation"];
        };
        /** @description The agent that the explanation is about. */
        ExplainedAgent: {
            /**
             * Format: uuid
             * @description The agent's id.
             */
            id: string;
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description Its alias; null if it has none. */
            alias: string | null;
            /** @description Only an active agent is ever allowed anything. */
            status: components["schemas"]["AgentStatus"];
            /** @description Groups it belongs to; their policies govern it, too. */
            groups: string[];
        };
        /** @description One policy's part in the answer. Tiers are listed in their order, then guardrails. */
        PolicyPart: {
            /**
             * Format: uuid
             * @description Its id; null for a draft without one.
             */
            id: string | null;
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The version evaluated; null for a draft. */
            version: number | null;
            /** @description A grant decides in its tier. A guardrail is evaluated for every call and never allows. */
            kind: components["schemas"]["PolicyKind"];
            /** @description For grants: higher ones are evaluated first; those of equal priority are one tier. */
            priority: number;
            /** @description A shadow policy is shown as if all were enforced; it changes no answer. */
            mode: components["schemas"]["PolicyMode"];
            /** @description Its owner: the agent, a group, or the whole workspace. */
            governs: string;
            /** @description The group's name; null if no group owns it. */
            group: string | null;
            /** @description `failed` if one of its rules failed, `abstained` if all of them did, `off` if it is not enabled. */
            part: components["schemas"]["app.model.explanations.Part"];
            /** @description Every rule, in order. */
            rules: components["schemas"]["RulePart"][];
        };
        /**
         * @description The part that a rule or policy plays in an answer.
         *
         *     `unknown` occurs only in explanations of the past: the log does not contain what the rule reads.
         * @enum {string}
         */
        "app.model.explanations.Part": "abstained" | "failed" | "not_reached" | "off" | "passed" | "unknown";
        /** @description One rule's part in the answer. */
        RulePart: {
            /** @description The rule's place in the policy, from 0. */
            index: number;
            /** @description The kind of rule. */
            type: string;
            /** @description The outcome of evaluating it. */
            part: components["schemas"]["app.model.explanations.Part"];
            /** @description The result if it fails. */
            onFailure: components["schemas"]["Result"];
            /** @description The first of its tool patterns that covers the tool; null if none does. */
            pattern: string | null;
            /**
             * @description Why it failed or abstained; null if there is nothing to say.
             * @default null
             */
            reason?: string | null;
            /**
             * @description The values of the call that it reads.
             * @default []
             */
            values?: components["schemas"]["SeenValue"][];
            /** @description How full its bucket is; only for rate limits, budgets and denial breakers that apply to this call. */
            quota?: components["schemas"]["QuotaLevel"];
            /** @description Which of the calls it looks for were allowed in the call's session; only for sequence rules that apply to this call. */
            session?: components["schemas"]["SeenMark"][];
            /** @description What was reported of the record that it reads; only if it reads one. */
            record?: components["schemas"]["RecordRead"];
            /** @description Who must approve if it fails, in words; only for rules that escalate. */
            approvedBy?: string;
        };
        /** @description A value of the call that a rule reads, as it would be logged. */
        SeenValue: {
            /** @description The path of the value, such as `parameters.amount` or `context.user`. */
            name: string;
            /** @description The value found: a list if there are several, left out if there is none. */
            value?: unknown;
        };
        /** @description How full a rate limit or a budget is, not counting the call itself. */
        QuotaLevel: {
            /** @description The number of calls, or the sum, that the window may hold. */
            most: number;
            /** @description How much of `most` is used up. */
            taken: number;
            /** @description How much of `most` is left. */
            left: number;
            /** @description The length of the window; null if it never ends. */
            windowSeconds: number | null;
            /** @description When the oldest counted call leaves the window; null if none is, or it never does. */
            freesInSeconds: number | null;
        };
        /** @description Whether an earlier call that a sequence rule looks for was allowed in the call's session. */
        SeenMark: {
            /** @description The tool pattern in the rule that covers the earlier call. */
            tool: string;
            /** @description True if the earlier call forbids this one; false if this one requires it. */
            forbids: boolean;
            /** @description How long ago such a call was last allowed; null if none was within the rule's time. */
            allowedSecondsAgo: number | null;
        };
        /** @description What a rule read of a record. */
        RecordRead: {
            /** @description The record's name, as the rule has it. */
            of: string;
            /** @description Those of the rule's fields that it has; null if no such record was found. */
            fields: {
                [key: string]: string | number | boolean | null;
            } | null;
        };
        /** @description What would be answered if the shadow policies were enforced, too. */
        ShadowExplanation: {
            /** @description Whether the result would differ; if so, the entry of such a call would record it. */
            changes: boolean;
            /** @description What would be decided. */
            result: components["schemas"]["Result"];
            /**
             * Format: uuid
             * @description The shadow policy that makes the difference, if there is one; null for a draft without an id.
             */
            policyId: string | null;
            /** @description Its name. */
            policyName: string | null;
            /** @description The rule of it that decides, or that leaves the decision to others. */
            rule: components["schemas"]["RuleRef"];
        };
        /** @description A policy in the answer to the request that wrote it. */
        WrittenPolicyView: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /**
             * Format: uuid
             * @description The agent that owns it; null for a group, or every agent of the workspace.
             */
            agentId: string | null;
            /** @description The group of agents that owns it; null for an agent, or every agent. */
            group: string | null;
            /** @description A name for programs, unique among the policies of the same agent, group or workspace; never in the form of a UUID. */
            key: string | null;
            /** @description A grant decides by tiers. A guardrail is evaluated on every call and never allows. */
            kind: components["schemas"]["PolicyKind"];
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The rules, in order. Any that denies denies; else any that escalates escalates. */
            rules: (components["schemas"]["ToolGrant"] | components["schemas"]["ToolAllowlist"] | components["schemas"]["ToolDenylist"] | components["schemas"]["ApprovalRequired"] | components["schemas"]["ParameterConstraint"] | components["schemas"]["ParameterSchema"] | components["schemas"]["RateLimited"] | components["schemas"]["Budgeted"] | components["schemas"]["Sequenced"] | components["schemas"]["PinnedRequest"] | components["schemas"]["TimeBased"] | components["schemas"]["DenialCounted"])[];
            /** @description Higher values are evaluated first; policies of equal priority decide together. */
            priority: number;
            /** @description A policy that is not enabled is skipped. */
            enabled: boolean;
            /** @description `enforce` decides; `shadow` changes no answer, and the log says where it would have. */
            mode: components["schemas"]["PolicyMode"];
            /** @description A message for the agent, sent with the reason if the policy gives a result other than allowed. */
            agentMessage: string | null;
            /** @description Where the policy is managed: the files or the repository that `remit policy apply` named. */
            managedBy: string | null;
            /** @description Entries of the agents that it governs have the user's request (`request` in `context`), kept as other texts are, in place of its MAC. A policy in shadow mode keeps none. */
            keepsRequests: boolean;
            /** @description 1 on creation, one more with every change; the same number as in ETag. */
            version: number;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updatedAt: string;
            /** @description What is valid but probably not meant, judged together with everything that governs the same agents; left out if there is nothing to warn about. */
            warnings?: components["schemas"]["PolicyWarning"][];
        };
        /** @description Something a policy does that its author may not have meant. */
        PolicyWarning: {
            /** @description For programs. */
            code: components["schemas"]["Code"];
            /** @description Where: a JSON path below the policy, such as `$.rules[0].tools`. */
            path: string;
            /** @description For people: what happens, and what would be right. */
            message: string;
        };
        /**
         * @description Kinds of warnings. Kinds may be added; their meanings do not change.
         * @enum {string}
         */
        Code: "allowlist_shadows" | "allowlists_disjoint" | "allows_everything" | "breaker_never_full" | "breaker_on_first_denial" | "descriptive_is_bound" | "free_beside_request" | "grants_by_restriction" | "grants_by_trick" | "group_cannot_approve" | "hours_not_a_span" | "irreversible_unasked" | "managed_elsewhere" | "min_missing" | "never_decides" | "nobody_can_approve" | "not_in_requests" | "path_in_other_case" | "pattern_lets_commands_join" | "prefix_without_its_name" | "regex_on_path_or_host" | "regex_unanchored" | "sequence_never_begins" | "silences_below" | "star_in_path" | "too_much_to_compare" | "unknown_parameter" | "unknown_tool" | "window_never_opens";
        /** @description A policy as the API shows it; rules are returned as they were given. */
        PolicyView: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /**
             * Format: uuid
             * @description The agent that owns it; null for a group, or every agent of the workspace.
             */
            agentId: string | null;
            /** @description The group of agents that owns it; null for an agent, or every agent. */
            group: string | null;
            /** @description A name for programs, unique among the policies of the same agent, group or workspace; never in the form of a UUID. */
            key: string | null;
            /** @description A grant decides by tiers. A guardrail is evaluated on every call and never allows. */
            kind: components["schemas"]["PolicyKind"];
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The rules, in order. Any that denies denies; else any that escalates escalates. */
            rules: (components["schemas"]["ToolGrant"] | components["schemas"]["ToolAllowlist"] | components["schemas"]["ToolDenylist"] | components["schemas"]["ApprovalRequired"] | components["schemas"]["ParameterConstraint"] | components["schemas"]["ParameterSchema"] | components["schemas"]["RateLimited"] | components["schemas"]["Budgeted"] | components["schemas"]["Sequenced"] | components["schemas"]["PinnedRequest"] | components["schemas"]["TimeBased"] | components["schemas"]["DenialCounted"])[];
            /** @description Higher values are evaluated first; policies of equal priority decide together. */
            priority: number;
            /** @description A policy that is not enabled is skipped. */
            enabled: boolean;
            /** @description `enforce` decides; `shadow` changes no answer, and the log says where it would have. */
            mode: components["schemas"]["PolicyMode"];
            /** @description A message for the agent, sent with the reason if the policy gives a result other than allowed. */
            agentMessage: string | null;
            /** @description Where the policy is managed: the files or the repository that `remit policy apply` named. */
            managedBy: string | null;
            /** @description Entries of the agents that it governs have the user's request (`request` in `context`), kept as other texts are, in place of its MAC. A policy in shadow mode keeps none. */
            keepsRequests: boolean;
            /** @description 1 on creation, one more with every change; the same number as in ETag. */
            version: number;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updatedAt: string;
        };
        /** @description A change of policies that waits for a second person, or did. */
        PolicyReviewView: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description How it stands. */
            status: components["schemas"]["ReviewStatus"];
            /**
             * Format: uuid
             * @description The agent that owns the policies; null for a group, or every agent of the workspace.
             */
            agentId: string | null;
            /** @description The group of agents that owns them; null for an agent, or every agent. */
            group: string | null;
            /** @description The policies that change. */
            policies: components["schemas"]["ReviewedPolicy"][];
            /** @description Why; null if no reason was given. */
            reason: string | null;
            /** @description Who asked for the change. */
            askedBy: components["schemas"]["Person"];
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Until when it can be approved.
             */
            expiresAt: string;
            /**
             * Format: date-time
             * @description When it was applied, denied or cancelled, or found to be stale; null before.
             */
            endedAt: string | null;
            /** @description Who approved, denied or cancelled it; null if nobody did. */
            decidedBy: components["schemas"]["Person"] | null;
            /** @description What they said. */
            note: string;
            /** @description Only in the answer to the request that asked: what is valid in these policies but probably not meant. */
            warnings?: components["schemas"]["PolicyWarning"][];
        };
        /**
         * @description How a review stands. `applied`: approved, and the policies are written. `stale`: policies that it was compared
         *     with have changed since; ask again.
         * @enum {string}
         */
        ReviewStatus: "applied" | "cancelled" | "denied" | "expired" | "pending" | "stale";
        /** @description A policy that a review would change. */
        ReviewedPolicy: {
            /** @description What would become of it. */
            kind: components["schemas"]["app.model.changes.ChangeKind"];
            /**
             * Format: uuid
             * @description Its id, also before it exists.
             */
            policyId: string;
            /** @description Its name after the change; before it, if the change deletes it. */
            name: string;
        };
        /**
         * @description What was done. A key that was revoked has been deleted.
         * @enum {string}
         */
        "app.model.changes.ChangeKind": "created" | "deleted" | "updated";
        /** @description Who asked or decided, with their name at that time. */
        Person: {
            /**
             * Format: uuid
             * @description The API key or session that they used.
             */
            keyId: string;
            /** @description Of the key, or of who had signed in. */
            name: string;
            /** @description How: `console` or `cli` = in a session of a browser or of a program; `key` = with an API key; `slack` = in Slack, by the session that this person has here; left out = it was not recorded. */
            via?: components["schemas"]["Via"];
            /**
             * Format: uuid
             * @description Who had signed in with the identity provider, the same at every sign-in; left out = nobody.
             */
            person?: string;
        };
        /**
         * @description How somebody makes a request: in a session of a browser (`console`) or of a program (`cli`), with a `key`, or in
         *     `slack`, where whoever has signed in elsewhere decides.
         * @enum {string}
         */
        Via: "cli" | "console" | "key" | "slack";
        /** @description The warnings. */
        PolicyWarnings: {
            /** @description Empty if there is nothing to warn about. */
            warnings: components["schemas"]["PolicyWarning"][];
        };
        /** @description What a change means for calls. */
        PolicyComparison: {
            /** @description For each tool and each kind of flip a call, those that are loosened first. */
            flips: components["schemas"]["PolicyFlip"][];
            /** @description The same for kinds that only occur once a limit is full, or after what a session was or was not allowed. */
            limits: components["schemas"]["PolicyFlip"][];
            /** @description How many kinds of tools the rules tell apart. */
            tools: number;
            /** @description How many classes of calls they tell apart. */
            classes: number;
            /** @description How many calls were judged. */
            tried: number;
            /** @description True if no other call is answered otherwise. */
            complete: boolean;
            /** @description Why it is not complete, by tool; empty if it is. */
            because: components["schemas"]["Doubt"][];
        };
        /** @description A call that is answered otherwise: made from what the rules say, and judged by both sides. */
        PolicyFlip: {
            /** @description The result before the change. */
            from: components["schemas"]["Result"];
            /** @description The result after it. */
            to: components["schemas"]["Result"];
            /** @description The tool that is called. */
            tool: string;
            /** @description Other tools for which the same holds. */
            like: string[];
            /** @description The parameters of the call. */
            parameters: {
                [key: string]: unknown;
            };
            /** @description What the caller vouches for. */
            context: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description The time of the call; null if it does not matter.
             */
            at: string | null;
            /** @description Which limits are full in this case, and what the session has been allowed or not; empty if it is as usual. */
            limits: string[];
            /** @description The reason before the change. */
            before: string;
            /** @description The reason after it. */
            after: string;
        };
        /** @description Why there may be other flips. */
        Doubt: {
            /** @description The tool, or one of those that all rules treat alike. */
            tool: string;
            /** @description What of its rules is tried, but not compared completely. */
            reason: string;
        };
        /** @description One line of the answer; each has one of these fields. */
        ProposalLine: {
            /** @description How far the log has been read; about once a second. */
            progress?: components["schemas"]["ReplayProgress"];
            /** @description The whole result; the last line of a complete answer. */
            proposal?: components["schemas"]["Proposal"];
            /** @description Why there is no result; then it is the last line. */
            error?: string;
        };
        /** @description How far a replay has come. */
        ReplayProgress: {
            /** @description Entries read so far. */
            entries: number;
            /** @description How much of the log was read, in sequence numbers. */
            done: number;
            /** @description How much there is to read, in sequence numbers. */
            of: number;
        };
        /** @description Policies for an agent, made from its log and the marks of its tools. Nothing is applied. */
        Proposal: {
            /**
             * Format: date-time
             * @description The start of the span that was read.
             */
            from: string;
            /**
             * Format: date-time
             * @description The end of the span that was read.
             */
            to: string;
            /** @description The policies, as PUT of the agent's policies takes them. */
            policies: {
                [key: string]: unknown;
            }[];
            /** @description What each of their rules and constraints was made from. */
            evidence: components["schemas"]["RuleEvidence"][];
            /** @description What they do about each tool. */
            tools: components["schemas"]["ProposedTool"][];
            /** @description The calls that they were made from. */
            learned: components["schemas"]["LearnedCalls"];
            /** @description What these calls would get. */
            replay: components["schemas"]["ResultCounts"];
            /** @description What the calls of each fifth of the users would get from policies made of the others; null for fewer than five users. */
            unseen: components["schemas"]["ResultCounts"] | null;
            /** @description What hostile variations of the calls would get. */
            hostile: components["schemas"]["HostileCalls"];
            /** @description Examples, as a file of tests has them. */
            tests: {
                [key: string]: unknown;
            }[];
            /** @description Claims, as a file of tests has them: no call of a tool that cannot be undone is allowed without a person. */
            never: {
                [key: string]: unknown;
            }[];
            /** @description What the log or the catalogue could not say. */
            warnings: string[];
            /**
             * @description The changes that make these policies of the agent's own; null if they were made anew, because it has none, or one that grants a pattern of tools such as `*`.
             * @default null
             */
            changes?: components["schemas"]["ProposedChange"][] | null;
        };
        /** @description What a rule, or a constraint of it, was made from. */
        RuleEvidence: {
            /** @description Its place, such as `policies[1].rules[0].parameters.cabin`. */
            path: string;
            /** @description How many calls it was made from. */
            calls: number;
            /** @description Whose they were: how many users, or sessions without one. */
            units: number;
            /** @description How it was made: `seen`, `catalogue`, `list`, `pattern`, `bounds`, `items`, `length`, `type`, `absent`, `names`, `count`, `before`, `marked`, or why the tool asks. */
            form: string;
            /**
             * @description Values that it asks about, because too few users had them.
             * @default []
             */
            leftOut?: components["schemas"]["ProposedValue"][];
        };
        /** @description A value of the log, and an entry that has it. */
        ProposedValue: {
            /** @description The value as JSON, shortened; the name of the tool for a rule that looks at no value. */
            value: string;
            /** @description How many users, or sessions without one, had it. */
            units: number;
            /**
             * Format: uuid
             * @description The oldest entry with it.
             */
            entry: string;
        };
        /** @description A tool of the catalogue or of the log. */
        ProposedTool: {
            /** @description The tool_name of its calls. */
            name: string;
            /** @description What the proposal does about it. */
            use: components["schemas"]["ToolUse"];
            /** @description How many of its calls were learned from. */
            calls: number;
            /** @description Whose they were: how many users, or sessions without one. */
            units: number;
            /** @description Why it asks; null if it does not. */
            why: string | null;
        };
        /**
         * @description What a proposal does about a tool.
         *
         *     `free`: all its calls are allowed. `named`: those whose texts the user named. `bounded`: those within what enough
         *     users did. `asks`: none without a person. `unseen`: as `asks`, only because the log has no call of it. `unknown`:
         *     denied, because the catalogue does not have it.
         * @enum {string}
         */
        ToolUse: "asks" | "bounded" | "free" | "named" | "unknown" | "unseen";
        /** @description The calls that a proposal was made from, and those that it was not. */
        LearnedCalls: {
            /** @description How many calls. */
            calls: number;
            /** @description Whose they were: how many users, or sessions without one. */
            units: number;
            /** @description In how many sessions they were made. */
            sessions: number;
            /** @description How many of them name neither a user nor a session; all of these count as one user's. */
            unnamed: number;
            /** @description Calls that were reported as failed or not executed, and not learned. */
            failed: number;
            /** @description Sessions that were left out, because a person denied a call or a breaker tripped. */
            sessionsLeftOut: number;
            /** @description The calls of these sessions. */
            callsLeftOut: number;
            /** @description Entries that could not be read. */
            unreadable: number;
        };
        /** @description How many calls would get each result. */
        ResultCounts: {
            /**
             * @description Calls that would be allowed.
             * @default 0
             */
            allowed?: number;
            /**
             * @description Calls about which a person would be asked.
             * @default 0
             */
            escalated?: number;
            /**
             * @description Calls that would be denied.
             * @default 0
             */
            denied?: number;
        };
        /** @description Hostile variations of the learned calls, judged by the proposal. */
        HostileCalls: {
            /** @description How many were judged. */
            calls: number;
            /** @description Of how many kinds they were. */
            kinds: number;
            /** @description How many would be allowed. */
            allowed: number;
        };
        /** @description A hostile variation of a call that would be allowed. */
        HostileCall: {
            /** @description What was changed. */
            kind: string;
            /** @description The tool. */
            tool: string;
            /** @description Its parameters, as JSON. */
            parameters: string;
        };
        /** @description One change of policies that the agent has. */
        ProposedChange: {
            /** @description What it does. */
            kind: components["schemas"]["app.model.proposals.ChangeKind"];
            /** @description The tool that it is about. */
            tool: string;
            /** @description How many calls of it people approved, if it widens. */
            calls: number;
            /** @description Whose they were: how many users, or sessions without one. */
            units: number;
            /** @description Which calls it would answer otherwise, made by itself. */
            meaning: components["schemas"]["PolicyComparison"];
        };
        /**
         * @description What a proposed change does: `narrows` makes a tool ask that was granted and is unused, `widens` the opposite.
         * @enum {string}
         */
        "app.model.proposals.ChangeKind": "narrows" | "widens";
        /** @description A change of policies that waits for a second person, or did, with the policies. */
        WholePolicyReviewView: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description How it stands. */
            status: components["schemas"]["ReviewStatus"];
            /**
             * Format: uuid
             * @description The agent that owns the policies; null for a group, or every agent of the workspace.
             */
            agentId: string | null;
            /** @description The group of agents that owns them; null for an agent, or every agent. */
            group: string | null;
            /** @description The policies that change, as they were and as they would be. */
            policies: components["schemas"]["PolicyToReview"][];
            /** @description Why; null if no reason was given. */
            reason: string | null;
            /** @description Who asked for the change. */
            askedBy: components["schemas"]["Person"];
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Until when it can be approved.
             */
            expiresAt: string;
            /**
             * Format: date-time
             * @description When it was applied, denied or cancelled, or found to be stale; null before.
             */
            endedAt: string | null;
            /** @description Who approved, denied or cancelled it; null if nobody did. */
            decidedBy: components["schemas"]["Person"] | null;
            /** @description What they said. */
            note: string;
            /** @description Only in the answer to the request that asked: what is valid in these policies but probably not meant. */
            warnings?: components["schemas"]["PolicyWarning"][];
            /** @description All policies that the owner would have, in evaluation order, as `/v1/policies/compare` takes them for `after` and `/v1/replay` for `policies`. */
            after: components["schemas"]["PlannedPolicyView"][];
        };
        /** @description What becomes of one policy. */
        PolicyToReview: {
            /** @description What would become of it. */
            kind: components["schemas"]["app.model.changes.ChangeKind"];
            /**
             * Format: uuid
             * @description Its id, also before it exists.
             */
            policyId: string;
            /** @description Its name after the change; before it, if the change deletes it. */
            name: string;
            /** @description The policy as it was when the change was asked for; null if the change creates it. */
            before: components["schemas"]["PolicyView"] | null;
            /** @description The policy as it would be; null if the change deletes it. */
            after: components["schemas"]["PlannedPolicyView"] | null;
        };
        /** @description A policy of a set as it would be. */
        PlannedPolicyView: {
            /**
             * Format: uuid
             * @description Of the policy that would change; left out if it would be new.
             */
            id?: string;
            /** @description A name for programs, unique among the policies of the same agent, group or workspace; never in the form of a UUID. */
            key: string | null;
            /** @description A grant decides by tiers. A guardrail is evaluated on every call and never allows. */
            kind: components["schemas"]["PolicyKind"];
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The rules, in order. Any that denies denies; else any that escalates escalates. */
            rules: (components["schemas"]["ToolGrant"] | components["schemas"]["ToolAllowlist"] | components["schemas"]["ToolDenylist"] | components["schemas"]["ApprovalRequired"] | components["schemas"]["ParameterConstraint"] | components["schemas"]["ParameterSchema"] | components["schemas"]["RateLimited"] | components["schemas"]["Budgeted"] | components["schemas"]["Sequenced"] | components["schemas"]["PinnedRequest"] | components["schemas"]["TimeBased"] | components["schemas"]["DenialCounted"])[];
            /** @description Higher values are evaluated first; policies of equal priority decide together. */
            priority: number;
            /** @description A policy that is not enabled is skipped. */
            enabled: boolean;
            /** @description `enforce` decides; `shadow` changes no answer, and the log says where it would have. */
            mode: components["schemas"]["PolicyMode"];
            /** @description A message for the agent, sent with the reason if the policy gives a result other than allowed. */
            agentMessage: string | null;
            /** @description Where the policy is managed: the files or the repository that `remit policy apply` named. */
            managedBy: string | null;
            /** @description Entries of the agents that it governs have the user's request (`request` in `context`), kept as other texts are, in place of its MAC. A policy in shadow mode keeps none. */
            keepsRequests: boolean;
        };
        /** @description All policies of an agent, of a group or of the workspace. It can be sent back unchanged. */
        PolicySetView: {
            /**
             * Format: uuid
             * @description The agent that owns them; null for a group, or every agent of the workspace.
             */
            agentId: string | null;
            /** @description The group of agents that owns them; null for an agent, or every agent. */
            group: string | null;
            /** @description Changes with every change of these policies; the same string as in ETag. */
            version: string;
            /** @description The policies, in evaluation order. */
            policies: components["schemas"]["PolicyView"][];
        };
        /** @description All policies of an owner after a write, and the ids of those that it changed. */
        AppliedSetView: {
            /**
             * Format: uuid
             * @description The agent that owns them; null for a group, or every agent of the workspace.
             */
            agentId: string | null;
            /** @description The group of agents that owns them; null for an agent, or every agent. */
            group: string | null;
            /** @description Changes with every change of these policies; the same string as in ETag. */
            version: string;
            /** @description The policies, in evaluation order. */
            policies: components["schemas"]["PolicyView"][];
            /** @description Ids of new policies. */
            created: string[];
            /** @description Ids of policies that were changed. */
            updated: string[];
            /** @description Ids of policies that were deleted. */
            deleted: string[];
            /** @description What is valid but probably not meant in the policies that were sent. */
            warnings: components["schemas"]["PolicyWarning"][];
        };
        /** @description The results of all tests and claims. */
        PolicyTestResults: {
            /** @description How many tests passed. */
            passed: number;
            /** @description How many did not. */
            failed: number;
            /** @description The result of each, in the order of the request. */
            tests: components["schemas"]["PolicyTestResult"][];
            /** @description What was found about each claim, in the order of the request. */
            never: components["schemas"]["ClaimResult"][];
        };
        /** @description The result of one test. */
        PolicyTestResult: {
            /** @description The test's name. */
            name: string;
            /** @description Whether the result was as wanted. */
            passed: boolean;
            /** @description What differs, in words; null if it passed. */
            problem: string | null;
            /** @description What the call got, or the earlier call that did not get what the test wants. */
            got: components["schemas"]["ActualResult"];
        };
        /** @description The result of a call. */
        ActualResult: {
            /** @description What was decided. */
            result: components["schemas"]["Result"];
            /** @description The name of the policy that decided; null for a default deny. */
            policy: string | null;
            /** @description The place of the rule that decided, from 0. */
            ruleIndex: number | null;
            /** @description Its type. */
            ruleType: string | null;
            /** @description A sentence for people. */
            reason: string;
            /**
             * Format: date-time
             * @description When the call was made, in the time of its test.
             */
            at: string;
            /** @description The names of policies that have a rule for its tool that depends on the time, while no test of such a tool says `at`: they were judged at that one time only. */
            untimed: string[];
        };
        /** @description What was found about a claim. */
        ClaimResult: {
            /** @description The claim's name. */
            name: string;
            /** @description True if no call breaks it; false if one does; null if none was found and that is no proof. */
            holds: boolean | null;
            /** @description A call that breaks it; null if none was found. */
            broken_by: components["schemas"]["BreakingCall"] | null;
            /** @description How many calls were judged. */
            tried: number;
            /** @description Why it is no proof; empty otherwise. */
            because: string[];
        };
        /** @description A call that breaks a claim. */
        BreakingCall: {
            /** @description The result. */
            result: components["schemas"]["Result"];
            /** @description The parameters of the call. */
            parameters: {
                [key: string]: unknown;
            };
            /** @description What the caller vouches for. */
            context: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description The time of the call; null if it does not matter.
             */
            at: string | null;
            /** @description Which limits are full in this case, and what the session was allowed or not; empty if it is as usual. */
            limits: string[];
            /** @description Why it gets the result. */
            reason: string;
            /** @description The tool that is called. */
            tool: string;
        };
        /** @description A version of a policy, and who made it. */
        PolicyVersionView: {
            /** @description 1 on creation, one more with every change; the same number as in ETag. */
            version: number;
            /**
             * Format: date-time
             * @description When it was made, by the store's clock. This and the next three are null if the change is no longer known.
             */
            timestamp: string | null;
            /** @description The API key that made the change, or `console`. */
            actorId: string | null;
            /** @description The key's name at that time, or `console`. */
            actorName: string | null;
            /** @description The reason given for the change; null if none was given. */
            reason: string | null;
            /** @description The fields that differ from the previous version. */
            changed: string[];
            /** @description The whole policy, as GET showed it then. */
            policy: components["schemas"]["PolicyView"];
        };
        /** @description How often a shadow policy would have changed the result since its last change; the counts are exact. */
        DivergenceView: {
            /**
             * Format: uuid
             * @description The policy.
             */
            policyId: string;
            /** @description The version that was counted: the current one. Every change resets the counts. */
            version: number;
            /** @description The policy's mode now; an enforced policy has no counts. */
            mode: components["schemas"]["PolicyMode"];
            /** @description Whether the policy is enabled; if not, nothing is counted. */
            enabled: boolean;
            /**
             * Format: date-time
             * @description When it got its current version.
             */
            since: string;
            /** @description The sum of `counts`. */
            total: number;
            /** @description By the actual result and the result that there would have been; none is zero. */
            counts: components["schemas"]["DivergenceCount"][];
        };
        /** @description How many calls with one result would have had another. */
        DivergenceCount: {
            /** @description The actual result. */
            result: components["schemas"]["Result"];
            /** @description The result if the shadow policies had been enforced. */
            shadowResult: components["schemas"]["Result"];
            /** @description How many calls. */
            count: number;
        };
        /** @description An agent as the API shows it. */
        AgentView: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description A name for programs, unique among the workspace's agents; accepted wherever an agent's id is. Never in the form of a UUID. */
            alias: string | null;
            /** @description What kind of principal it is, as AuthZEN's `subject.type` names it. */
            type: string;
            /** @description What the agent is for; may contain line breaks. */
            description: string | null;
            /** @description Only an active agent is ever allowed anything. */
            status: components["schemas"]["AgentStatus"];
            /** @description Groups it belongs to; their policies govern it, too. */
            groups: string[];
            /** @description 1 on creation, one more with every change; the same number as in ETag. */
            version: number;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updatedAt: string;
            /** @description The denial breaker that suspended it; left out if none did. */
            tripped?: components["schemas"]["Trip"];
        };
        /** @description The denial breaker that suspended an agent. */
        Trip: {
            /**
             * Format: uuid
             * @description The policy that it is in.
             */
            policyId: string;
            /**
             * Format: uuid
             * @description The denied decision that filled it.
             */
            decisionId: string;
        };
        /** @description What an agent's calls were answered in a span of time, and what was changed meanwhile. */
        AgentHistory: {
            /**
             * Format: uuid
             * @description The agent.
             */
            agentId: string;
            /** @description Its decisions by result and code, the most frequent of each result first. */
            counts: components["schemas"]["AnsweredCount"][];
            /** @description The changes that concerned it, newest first. */
            changes: components["schemas"]["Change"][];
            /** @description The `cursor` of the next page of changes; null on the last page. */
            nextCursor: string | null;
            /** @description Whether the trail was read as far back as the span asks; if not, older changes are missing. */
            complete: boolean;
        };
        /** @description How many calls got a result for one reason. */
        AnsweredCount: {
            /** @description The result. */
            result: components["schemas"]["Result"];
            /** @description Why, as the decisions' `code`; null: the entry has none. */
            code: string | null;
            /** @description How many. */
            count: number;
        };
        /** @description One change as the trail keeps it. Entries never change. */
        Change: {
            /** @description Its place in the trail: it sorts by time. */
            id: string;
            /**
             * Format: date-time
             * @description When it was made, by the store's clock.
             */
            timestamp: string;
            /** @description The API key or session that made it, or, of a sign-in with the identity provider, the person; `console`: made with `remit` or by a setting, without a key; `breaker`: a denial breaker suspended an agent. */
            actorId: string;
            /** @description The name of the key or of who had signed in, at that time, or `console` or `breaker`. */
            actorName: string;
            /** @description What was done; revoking a key is deleting it. */
            kind: components["schemas"]["app.model.changes.ChangeKind"];
            /** @description The type of thing that changed. */
            resourceType: components["schemas"]["ResourceType"];
            /**
             * Format: uuid
             * @description Its id; for the catalogue and for signed checkpoints, the workspace's.
             */
            resourceId: string;
            /** @description The changed fields with their old values; for a deletion all fields, for a creation null. For the catalogue, the changed tools by name. */
            before: {
                [key: string]: unknown;
            } | null;
            /** @description The same fields with their new values; for a creation all fields, for a deletion null. */
            after: {
                [key: string]: unknown;
            } | null;
            /** @description For agents and policies: the number of the newest audit entry then. Every later entry was decided with the change in effect. */
            sequence?: number;
            /** @description The reason given for it; left out if none was given. */
            reason?: string;
            /** @description Of a change made in a session: `console` = in a browser; `cli` = with a program; otherwise left out. */
            via?: components["schemas"]["Via"];
            /**
             * Format: uuid
             * @description Who had signed in with the identity provider and made it, the same at every sign-in; otherwise left out.
             */
            person?: string;
            /** @description Of a change that waited for a second person: who approved it; otherwise left out. */
            approvedBy?: components["schemas"]["Person"];
            /** @description The breaker that made the change, and the decision that filled it; left out if it was not a breaker. */
            tripped?: components["schemas"]["Trip"];
        };
        /**
         * @description What kind of thing was changed.
         * @enum {string}
         */
        ResourceType: "agent" | "api_key" | "catalog" | "checkpoint" | "issuer" | "policy" | "policy_review" | "request" | "session" | "webhook" | "workload";
        /** @description How full an agent's limits are. */
        AgentQuotas: {
            /** @description The agent. */
            agent: components["schemas"]["ExplainedAgent"];
            /**
             * Format: date-time
             * @description When they began to be read, by the store's clock.
             */
            at: string;
            /** @description Each limit, budget and denial breaker in force, in the order in which policies are evaluated. */
            quotas: components["schemas"]["AgentQuota"][];
        };
        /** @description A rule that counts the agent's calls, and how full it is. */
        AgentQuota: {
            /**
             * Format: uuid
             * @description Its policy.
             */
            policyId: string;
            /** @description The policy's name. */
            policyName: string;
            /** @description The rule's place and type. */
            rule: components["schemas"]["RuleRef"];
            /** @description What happens to a call for which it has no room: the call is denied, or a person is asked. */
            effect: components["schemas"]["Effect"];
            /** @description What it requires, in words. */
            text: string;
            /** @description Whose calls it counts. */
            tools: string[];
            /** @description Of what it counts each value separately; left out unless the rule has it. */
            per?: string[];
            /** @description How full its bucket is; left out if it has one for each value. */
            quota?: components["schemas"]["QuotaLevel"];
            /** @description Its buckets; only if it has one for each value. `per: ["agent"]` alone has one bucket for an agent. */
            values?: components["schemas"]["CountedValues"];
        };
        /** @description The values for which the agent's calls count under one rule. */
        CountedValues: {
            /** @description How many have something taken from their bucket at present. */
            total: number;
            /** @description Those of which the largest share is taken, up to 20, the fullest first. */
            fullest: components["schemas"]["CountedValue"][];
        };
        /** @description How much of a limit with `per` is used up for one value, or for one combination of values. */
        CountedValue: {
            /** @description How full its bucket is. */
            quota: components["schemas"]["QuotaLevel"];
            /** @description The value of each name in `per`, from the log's entry of the agent's newest call that counted for it; null if that is redacted, shortened, or dropped by retention, and for keys that may not read the log. */
            values: components["schemas"]["SeenValue"][] | null;
        };
        /** @description What an agent may call. */
        AgentTools: {
            /** @description The agent that would call. */
            agent: components["schemas"]["ExplainedAgent"];
            /**
             * Format: date-time
             * @description The time used for time windows and limits.
             */
            at: string;
            /** @description How many tools are known. */
            total: number;
            /** @description The tools, sorted by name. */
            tools: components["schemas"]["ToolAccess"][];
        };
        /** @description The result of an agent's calls of one tool. */
        ToolAccess: {
            /** @description The tool_name of its calls. */
            name: string;
            /** @description Whether it is in the catalogue; if not, it was seen in the log, or asked for by name. */
            catalogued: boolean;
            /** @description What its calls do to the world, as a person says in the catalogue; null if nobody does. */
            consequence: components["schemas"]["Consequence"] | null;
            /** @description The result of its calls. */
            status: components["schemas"]["ToolStatus"];
            /** @description Why every call is denied; null unless all are. */
            reason: string | null;
            /** @description What the rules that may affect the result require, guardrails first. */
            conditions: components["schemas"]["ToolCondition"][];
            /** @description A JSON Schema that accepts the parameters of every call that is not denied. A gateway can combine it with the tool's own. */
            parameterSchema: {
                [key: string]: unknown;
            } | boolean;
            /** @description Whether it rejects the parameters of every call that is denied for its parameters, except for the     spelling of their names. */
            schemaIsExact: boolean;
        };
        /**
         * @description The result of a tool's calls.
         *
         *     `allowed`: every call is allowed at present. `denied`: no call is, whatever its parameters, context and time, until
         *     policies change, and no person is asked. `escalated`: no call is, unless a person approves it. `conditional`: it
         *     depends on the call.
         * @enum {string}
         */
        ToolStatus: "allowed" | "conditional" | "denied" | "escalated";
        /** @description What one rule requires of a tool's calls. */
        ToolCondition: {
            /**
             * Format: uuid
             * @description Its policy.
             */
            policyId: string;
            /** @description The policy's name. */
            policyName: string;
            /** @description The rule's place and type. */
            rule: components["schemas"]["RuleRef"];
            /** @description What happens if it fails: the call is denied, or a person is asked. */
            effect: components["schemas"]["Effect"];
            /** @description What it requires, in words. */
            text: string;
            /** @description Whether it is met now: true for every call, false for none; null if it depends on the call. */
            holds: boolean | null;
            /** @description How full its bucket is; only for limits that all calls of the tool by this agent share. */
            quota?: components["schemas"]["QuotaLevel"];
        };
        /** @description A value of a parameter that people have approved. Only its MAC is stored; the approval shows the call. */
        Remembered: {
            /**
             * Format: uuid
             * @description The policy whose rule remembers it.
             */
            policyId: string;
            /** @description The rule. */
            rule: components["schemas"]["RuleRef"];
            /** @description The parameter's name. */
            parameter: string;
            /** @description The MAC of the value, with the agent, the tool, the parameter and the values beside it. */
            digest: string;
            /**
             * Format: uuid
             * @description The approval that it was last used with.
             */
            approvalId: string;
            /**
             * Format: date-time
             * @description When people approved that.
             */
            approvedAt: string;
            /**
             * Format: date-time
             * @description When it counts no more.
             */
            expiresAt: string;
        };
        /** @description What an agent can ever do under the policies in force. */
        AgentBounds: {
            /** @description Each kind of tool that the rules tell apart; names that no rule covers are one of them. */
            tools: components["schemas"]["ToolBounds"][];
            /** @description Rules without which no call would be answered otherwise. */
            idleRules: components["schemas"]["IdleRule"][];
            /** @description Rules of which that could not be decided. */
            notJudged: components["schemas"]["IdleRule"][];
            /** @description True if no call of any tool gets another result than those that are listed. */
            complete: boolean;
            /** @description Why it is not complete, by tool; empty if it is. */
            because: components["schemas"]["Doubt"][];
        };
        /** @description What the calls of a tool can get. */
        ToolBounds: {
            /** @description The tool. */
            tool: string;
            /** @description Other tools for which the same holds. */
            like: string[];
            /** @description What its calls can get. */
            calls: components["schemas"]["Reachable"];
            /** @description The rules that bound them. */
            bounds: components["schemas"]["Bound"][];
        };
        /**
         * @description What calls of a tool can get: `never` = all are denied; `asks` = none is allowed without a person; `bounded` =
         *     some are allowed; `any` = all are allowed; `undecided` = what was tried is no proof.
         * @enum {string}
         */
        Reachable: "any" | "asks" | "bounded" | "never" | "undecided";
        /** @description A rule that bounds the calls of a tool. */
        Bound: {
            /** @description The policy's name. */
            policy: string;
            /** @description What happens to a call that fails it: `deny` or `escalate`. */
            effect: components["schemas"]["Effect"];
            /** @description What a call must satisfy so that it does not fail. */
            text: string;
        };
        /** @description A call with a result that calls of the tool can get. */
        ExampleCall: {
            /** @description The result. */
            result: components["schemas"]["Result"];
            /** @description The parameters of the call. */
            parameters: {
                [key: string]: unknown;
            };
            /** @description What the caller vouches for. */
            context: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description The time of the call; null if it does not matter.
             */
            at: string | null;
            /** @description Which limits are full in this case, and what the session was allowed or not; empty if it is as usual. */
            limits: string[];
            /** @description Why it gets the result. */
            reason: string;
        };
        /** @description A rule without which nothing would be answered otherwise. */
        IdleRule: {
            /** @description The policy's name. */
            policy: string;
            /** @description The place of the rule, from 0. */
            ruleIndex: number;
            /** @description Its type. */
            ruleType: string;
        };
        /** @description What a write changed in the catalogue. */
        ChangedCatalogView: {
            /** @description Changes with every change of the catalogue, the same string as in ETag; empty if it has no tools. */
            version: string;
            /** @description How many tools it has now. */
            tools: number;
            /** @description Names of new tools. */
            added: string[];
            /** @description Names of tools that were changed. */
            changed: string[];
            /** @description Names of tools that were removed. */
            removed: string[];
            /** @description Names of tools whose schema or description changed, so that nothing holds any longer that a person said of     them. */
            unmarked: string[];
        };
        /** @description A known tool. */
        CatalogToolView: {
            /**
             * @description `tool`.
             * @default tool
             */
            type?: string;
            /** @description The tool_name of its calls. */
            name: string;
            /**
             * @description false for a tool known only from the log; only its name is known.
             * @default true
             */
            catalogued?: boolean;
            /**
             * @description Its name for people; null if there is none.
             * @default null
             */
            title?: string | null;
            /**
             * @description What it does, as its server describes it; null if there is none.
             * @default null
             */
            description?: string | null;
            /**
             * @description The JSON Schema of its parameters, as its server publishes it; null if there is none.
             * @default null
             */
            inputSchema?: {
                [key: string]: unknown;
            } | null;
            /**
             * @description What its calls do to the world, as a person said; null if nobody has said, and it counts as     `irreversible`.
             * @default null
             */
            consequence?: components["schemas"]["Consequence"] | null;
            /**
             * @description Whether its results may hold text that strangers wrote, as a person said; null if nobody has said, and it     counts as true.
             * @default null
             */
            foreign?: boolean | null;
            /**
             * @description What annotations and name suggest of it, for a person to confirm; null if it is not in the catalogue.
             * @default null
             */
            suggested?: components["schemas"]["Suggestion"] | null;
            /**
             * Format: date-time
             * @description When it was added to the catalogue; null if it is not in it.
             * @default null
             */
            createdAt?: string | null;
            /**
             * Format: date-time
             * @description When it last changed there; null if it is not in it.
             * @default null
             */
            updatedAt?: string | null;
            /**
             * @description 1 when added, incremented by every change; null if it is not in the catalogue.
             * @default null
             */
            version?: number | null;
        };
        /** @description What a tool's annotations and name suggest of it; no suggestion counts before a person has confirmed it. */
        Suggestion: {
            /** @description What its calls may do to the world; null if nothing suggests it. */
            consequence: components["schemas"]["Consequence"] | null;
            /** @description Whether its results may hold text that strangers wrote; null if nothing suggests it. */
            foreign: boolean | null;
        };
        /** @description A resource of the catalogue. */
        ResourceView: {
            /** @description Its type. */
            type: string;
            /** @description Its id, unique within its type. */
            id: string;
            /** @description Its name for people; null if there is none. */
            title: string | null;
            /** @description What it is; null if there is none. */
            description: string | null;
            /** @description The actions that there are on it. */
            actions: string[];
            /** @description Its attributes, which searches judge it by. */
            properties: {
                [key: string]: unknown;
            };
            /** @description The JSON Schema of an action's properties; null if there is none. */
            inputSchema: {
                [key: string]: unknown;
            } | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updatedAt: string;
            /** @description 1 on creation, one more with every change; the same number as in ETag. */
            version: number;
        };
        /** @description One decision as the log keeps it. Entries never change. */
        AuditEntry: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /**
             * Format: uuid
             * @description The agent's id.
             */
            agentId: string;
            /**
             * Format: uuid
             * @description The API key that asked.
             */
            keyId: string;
            /** @description The attempted action. */
            action: string;
            /** @description The tool that the agent wanted to call. */
            toolName: string;
            /** @description The call's parameters; values under secret names are "[REDACTED]", and a string of more than 2 KiB, or that would take too long to search for secrets, is an object with its `beginning`, its `length` and its `hmac`. */
            parameters: {
                [key: string]: unknown;
            };
            /** @description The result; null only if the entry is not a decision, or is unreadable because no commit wrote it. */
            result: components["schemas"]["Result"] | null;
            /**
             * Format: uuid
             * @description The policy that gave the result; null if none did: a default deny, or an agent not active.
             */
            policyId: string | null;
            /** @description The rule that decided; null if none did. */
            rule: components["schemas"]["RuleRef"] | null;
            /** @description A sentence for people. */
            reason: string;
            /** @description From the request's arrival to the commit, in milliseconds, by the store's clock. */
            latencyMs: number;
            /**
             * Format: date-time
             * @description When it was decided, by the store's clock.
             */
            timestamp: string;
            /** @description What the caller vouched for in `context`, secrets redacted; left out if nothing was given. */
            context?: {
                [key: string]: unknown;
            };
            /** @description The version at which the policy decided; left out if no policy did. */
            policyVersion?: number;
            /** @description The type of an entry that is not a decision: `approval` or `outcome`. */
            type?: string;
            /** @description Why it was decided this way, for programs. The log's own lines, which an NDJSON export copies byte for byte, leave it out where it follows from the result and the type of the rule. In an entry that is not a decision it says what happened, such as `approval_approved` or `executed`. */
            code?: string;
            /**
             * Format: uuid
             * @description The approval that the entry is about, or that the call requested or used.
             */
            approvalId?: string;
            /**
             * Format: uuid
             * @description The decision whose outcome an `outcome` entry reports.
             */
            decisionId?: string;
            /** @description What would have been decided if the shadow policies had been enforced; only if that is another result. */
            shadow?: components["schemas"]["ShadowOutcome"];
            /**
             * Format: uuid
             * @description The policy whose denial breaker suspended the agent on this denial.
             */
            suspendedBy?: string;
            /**
             * Format: uuid
             * @description The policy whose denial breaker this denial filled, without suspending the agent.
             */
            trippedBy?: string;
            /** @description Who decided the approval; only of entries that say so. */
            decidedBy?: components["schemas"]["Person"];
            /** @description Of a call made with a workload's token: its `sub`; `key_id` is then the UUIDv5 of issuer and subject. */
            subject?: string;
            /** @description What rules read of [records](records.md), only if one does. */
            records?: components["schemas"]["RecordRead"][];
            /** @description Of a call with whose approval four fifths are open of those that may be: `rule`, `agent`, `key` or `workspace` says whose. */
            filling?: string;
        };
        /** @description What would have been decided if the shadow policies had been enforced, too. */
        ShadowOutcome: {
            /**
             * Format: uuid
             * @description The shadow policy that makes the difference.
             */
            policyId: string;
            /** @description The result that there would have been. */
            result: components["schemas"]["Result"];
            /** @description Its rule that decides, or that leaves the decision to others. */
            rule: components["schemas"]["RuleRef"];
            /** @description What only rules of shadow policies read of [records](records.md), if one does. It binds no approval. */
            records?: components["schemas"]["RecordRead"][];
        };
        /** @description One line of the answer; each has one of these fields. */
        ReplayLine: {
            /** @description How far it has come; about once a second. */
            progress?: components["schemas"]["ReplayProgress"];
            /** @description A sample of a flip, as soon as it is found. */
            flip?: components["schemas"]["Flip"];
            /** @description The whole result; the last line of a complete answer. */
            report?: components["schemas"]["ReplayReport"];
            /** @description Why there is no result; then it is the last line. */
            error?: string;
        };
        /** @description Calls of a tool whose result changes in the same way, decided by the same rules. */
        Flip: {
            /** @description The recorded result. */
            was: components["schemas"]["Result"];
            /** @description The draft's result. */
            becomes: components["schemas"]["Result"];
            /** @description The tool that they call. */
            toolName: string;
            /** @description The policy and rule that decided. */
            by: components["schemas"]["Decider"];
            /** @description The policy and rule that decide in the draft. */
            nowBy: components["schemas"]["Decider"];
            /**
             * @description How many calls.
             * @default 0
             */
            count?: number;
            /**
             * @description Some of them.
             * @default []
             */
            samples?: components["schemas"]["FlipSample"][];
        };
        /** @description The policy and rule that gave a result; all null for a default deny. */
        Decider: {
            /** @description The policy; null for one that the draft adds. */
            policyId: string | null;
            /** @description Its name in the draft or, if the draft does not have it, at the time of the call. */
            policyName: string | null;
            /** @description The rule that decided. */
            rule: components["schemas"]["RuleRef"] | null;
        };
        /** @description One logged decision whose result the draft changes. */
        FlipSample: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /**
             * Format: uuid
             * @description The agent's id.
             */
            agentId: string;
            /**
             * Format: date-time
             * @description When it was decided.
             */
            timestamp: string;
            /** @description The recorded reason. */
            reason: string;
            /** @description The draft's reason. */
            newReason: string;
        };
        /** @description What a draft would have changed. */
        ReplayReport: {
            /**
             * Format: date-time
             * @description The start of the replayed span, inclusive.
             */
            from: string;
            /**
             * Format: date-time
             * @description The end of the replayed span, inclusive.
             */
            to: string;
            /**
             * @description Calls for which the draft's result is certain.
             * @default 0
             */
            judged?: number;
            /**
             * @description Judged calls with the same result.
             * @default 0
             */
            unchanged?: number;
            /**
             * @description Judged calls with another result.
             * @default 0
             */
            flipped?: number;
            /**
             * @description Calls that flip, in groups; `denied` to `allowed` first, then the largest.
             * @default []
             */
            flips?: components["schemas"]["Flip"][];
            /**
             * @description Calls that flip but are in no group, because there would be too many groups.
             * @default 0
             */
            notListed?: number;
            /** @description Calls for which the draft's result cannot be determined. */
            unjudged?: components["schemas"]["Unjudged"];
            /**
             * @description Calls that people had approved and that the draft escalates, too; counted as approved.
             * @default 0
             */
            approved?: number;
            /**
             * @description Calls of an agent that was not active; no policy changes that.
             * @default 0
             */
            inactive?: number;
            /**
             * @description How often a denial breaker would have suspended an agent.
             * @default 0
             */
            trips?: number;
            /**
             * @description Entries before the span that were read to fill the limits' windows.
             * @default 0
             */
            warmedUp?: number;
        };
        /** @description Calls for which the draft's result cannot be determined. No other number includes them. */
        Unjudged: {
            /**
             * @description A rule reads a value that the log redacts or shortens.
             * @default 0
             */
            hidden?: number;
            /**
             * @description Whether a limit had room depends on a call that cannot be judged, or on a fraction of a millisecond.
             * @default 0
             */
            limits?: number;
            /**
             * @description An older release changed what governs the agent in the same millisecond.
             * @default 0
             */
            edited?: number;
            /**
             * @description The policies of that time are no longer kept.
             * @default 0
             */
            unknown?: number;
            /**
             * @description The entry itself cannot be read.
             * @default 0
             */
            unreadable?: number;
        };
        /** @description The extent of the log, and how far sealing lags. */
        Backlog: {
            /** @description Entries that are not sealed and chained yet. */
            unsealed: number;
            /** @description Age of the oldest unsealed entry; 0 if there is none. */
            lagSeconds: number;
            /** @description The newest entry's number; numbers have no gaps. */
            lastSequence: number;
            /** @description The newest sealed entry's number. */
            sealedSequence: number;
            /** @description The number of the oldest entry that retention has not dropped. */
            firstSequence: number;
            /** @description Number of segments sealed so far, dropped ones included. */
            segments: number;
            /** @description Entries that could not be sealed unchanged; each is replaced in the log by a placeholder. */
            poison: number;
            /** @description The last round of the background verification; null before the first one. */
            verification: components["schemas"]["LastVerification"] | null;
            /**
             * Format: date-time
             * @description When the last verification began that found the whole log intact, in the background or on request; null if none has yet.
             */
            intactAt: string | null;
            /** @description The newest entry that this verification covered; 0 if none has yet. */
            intactUpTo: number;
            /** @description What is signed no more until an admin accepts it; empty if checkpoints are signed, or no key signs any. */
            forks: components["schemas"]["Fork"][];
        };
        /** @description The last background verification of the whole log, with the trail of changes. */
        LastVerification: {
            /**
             * Format: date-time
             * @description When it began, by the store's clock.
             */
            beganAt: string;
            /** @description The newest entry that it found intact. */
            upTo: number;
            /** @description The first fault, which stays here until a later round finds none; null if everything was intact. */
            finding: components["schemas"]["Finding"] | null;
        };
        /** @description The first point at which the log differs from what was sealed. */
        Finding: {
            /** @description How it was altered. */
            fault: components["schemas"]["Fault"];
            /** @description The first segment concerned; for the stream, the segment that its entries would be sealed into; for the changes and the Merkle trees, 0; for an archive, the file's, or 0 for its manifest. */
            segment: number;
            /** @description What is wrong, for people. */
            message: string;
            /**
             * @description Which part was altered; a segment includes its index. Only `remit audit verify --archive` reads an archive.
             * @default segments
             */
            part?: components["schemas"]["app.model.checkpoints.Part"];
        };
        /**
         * @description Kinds of alterations of a log.
         * @enum {string}
         */
        Fault: "changed" | "inserted" | "removed" | "reordered" | "rewritten" | "truncated";
        /**
         * @description The parts of a log that can be altered.
         * @enum {string}
         */
        "app.model.checkpoints.Part": "archive" | "changes" | "segments" | "stream" | "tree";
        /** @description A log or a trail of changes that does not continue what was signed before, and is signed no more. */
        Fork: {
            /** @description Which of them: `log`, or `changes` for the trail of changes. */
            tree: components["schemas"]["SignedTree"];
            /**
             * Format: date-time
             * @description When that was found, by the store's clock: what came later is in no checkpoint.
             */
            since: string;
            /** @description What does not continue what, for people. */
            message: string;
        };
        /**
         * @description What checkpoints are signed of.
         * @enum {string}
         */
        SignedTree: "changes" | "log";
        /** @description How far the log is archived, and the lines that its archive's manifest has for the segments still in the store. */
        ArchiveManifest: {
            /** @description The newest archived segment, as the last run of `remit audit archive` noted; 0 before the first run. */
            archivedUpTo: number;
            /**
             * Format: date-time
             * @description The latest time of that segment's entries; null if retention has dropped it, or none is archived.
             */
            archivedAt: string | null;
            /** @description The newest sealed segment; 0 if none is. */
            sealedUpTo: number;
            /** @description The oldest segment still in the store: only an archive has those before it. */
            firstSegment: number;
            /** @description The lines, oldest first; with the number of the last one as `after`, the next answer goes on. */
            segments: components["schemas"]["ArchivedSegment"][];
        };
        /** @description A line of the manifest. */
        ArchivedSegment: {
            /** @description The segment's number. */
            segment: number;
            /** @description The name of its file in an archive. */
            file: string;
            /** @description The number of its first entry. */
            firstSequence: number;
            /** @description The number of its last entry. */
            lastSequence: number;
            /** @description The earliest time of its entries. */
            firstTime: string;
            /** @description The latest time of its entries. */
            lastTime: string;
            /** @description How many entries it has. */
            count: number;
            /** @description The hash of the segment before, in the chain. */
            previous: string;
            /** @description Its hash in the chain. */
            sha256: string;
            /** @description The SHA-256 of the compressed file. */
            fileSha256: string;
        };
        /** @description The result of a verification. */
        VerificationView: {
            /** @description Whether everything that was checked is intact. */
            intact: boolean;
            /** @description Whether the newest entry was reached; if not, ask again with `checkpoint`. */
            complete: boolean;
            /** @description The first fault; null if there is none. */
            finding: components["schemas"]["Finding"] | null;
            /** @description The state that was found intact, as a line to keep elsewhere; null if there is none. */
            checkpoint: string | null;
            /** @description The segment with which it began. */
            firstSegment: number;
            /** @description Segments that were checked. */
            segments: number;
            /** @description Entries in them. */
            entries: number;
            /** @description Entries that are not sealed and chained yet. */
            unsealed: number;
            /** @description Changes of the trail that were checked. */
            changes: number;
            /** @description What was checked, in words. */
            checked: string[];
            /** @description What was not checked, in words. */
            unchecked: string[];
        };
        /** @description Entries counted by value. */
        Counts: {
            /** @description What was counted. */
            by: components["schemas"]["CountBy"];
            /** @description All entries that match. */
            total: number;
            /** @description The most frequent values, by count, then by value. */
            values: components["schemas"]["ValueCount"][];
            /** @description Entries with any other value. */
            others: number;
            /**
             * Format: date-time
             * @description Where the first interval begins; null if the query has no `from`.
             */
            from: string | null;
            /** @description The length of an interval; null without intervals. */
            stepSeconds: number | null;
        };
        /**
         * @description What entries can be counted by.
         * @enum {string}
         */
        CountBy: "agent" | "code" | "policy" | "result" | "tool";
        /** @description How many entries have a value. */
        ValueCount: {
            /** @description The result, the agent's id, the tool, the policy's id or the code; null: entries that have none. */
            value: string | null;
            /** @description Entries that have it. */
            count: number;
            /** @description The same for each interval, the first of which begins at `from`; only with `step`. */
            counts?: number[];
        };
        /** @description Why a logged decision was made: what the entry says, and its call evaluated by the policies of that time. */
        PastExplanation: {
            /**
             * Format: uuid
             * @description The decision's, and the entry's.
             */
            id: string;
            /** @description What was decided. */
            result: components["schemas"]["Result"] | null;
            /**
             * Format: uuid
             * @description The policy that gave the result; null if none did.
             */
            policyId: string | null;
            /** @description The policy's name then; null if there was no policy. */
            policyName: string | null;
            /** @description The rule that decided; null if none did. */
            rule: components["schemas"]["RuleRef"] | null;
            /** @description The entry's reason. */
            reason: string;
            /** @description Why it was decided this way, for programs. */
            code: components["schemas"]["DecisionCode"];
            /**
             * Format: date-time
             * @description When it was decided.
             */
            at: string;
            /** @description The agent as it was then. */
            agent: components["schemas"]["ExplainedAgent"];
            /** @description Every policy that governed it then, and its part in the answer. */
            policies: components["schemas"]["PolicyPart"][];
            /** @description Names of values that a rule reads but the log lacks, because they were redacted or shortened. A rule that reads one is `unknown`, and rules after it may be. */
            unknown: string[];
            /**
             * Format: uuid
             * @description The approval that was requested or used; left out if there was none.
             */
            approvalId?: string;
            /** @description What would have been decided with the shadow policies; only if the result would have differed. */
            shadow?: components["schemas"]["ShadowOutcome"];
        };
        /** @description A call that waits for people, or did. */
        Approval: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description Its current state. */
            status: components["schemas"]["ApprovalStatus"];
            /** @description 1 on creation, one more with every change; the same number as in ETag. */
            version: number;
            /**
             * Format: uuid
             * @description The agent's id.
             */
            agentId: string;
            /**
             * @description Its name now; null if it was deleted.
             * @default null
             */
            agentName?: string | null;
            /** @description The tool that the agent wants to call. */
            toolName: string;
            /**
             * @description What its calls do to the world, as a person says in the catalogue now; null if nobody does.
             * @default null
             */
            consequence?: components["schemas"]["Consequence"] | null;
            /** @description The attempted action. */
            action: string;
            /** @description The call's parameters, secrets redacted: whole up to 16 KiB of JSON, otherwise as logged. */
            parameters: {
                [key: string]: unknown;
            };
            /** @description What the caller vouched for, as logged. */
            context: {
                [key: string]: unknown;
            };
            /** @description Paths of the context that it is bound to, besides who asks, agent, tool, action and `parameters`. */
            boundContext: string[];
            /** @description True if a person does not see everything that is bound: something is redacted or shortened. */
            hides: boolean;
            /** @description A MAC of the complete call and of who asked. A call with a different one needs its own approval. */
            parametersDigest: string;
            /**
             * Format: uuid
             * @description The policy that escalated the call.
             */
            policyId: string | null;
            /**
             * @description Its name now; null if it was deleted.
             * @default null
             */
            policyName?: string | null;
            /** @description Every policy with a rule that asked. */
            policies: string[];
            /** @description The rule that escalated the call. */
            rule: components["schemas"]["RuleRef"] | null;
            /** @description Why a person must approve. */
            reason: string;
            /** @description Who asked. */
            requestedBy: components["schemas"]["Person"];
            /** @description How often it has been requested. */
            requests: number;
            /** @description How many people must approve. */
            required: number;
            /** @description Who must approve, in words, such as `2 people in finance who have signed in within 300 seconds`. */
            needs: string;
            /** @description Who may decide: a person who meets all of these; left out = whoever has the scope `approve`. */
            approvers?: components["schemas"]["Approvers"][];
            /** @description How long ago, in seconds, their sign-in may be; left out = it does not matter. */
            fresh?: number;
            /** @description The verdicts so far. */
            approvals: components["schemas"]["Said"][];
            /** @description Why access is requested, as whoever asked says; null if they said nothing. */
            accessRequest: components["schemas"]["AccessRequest"] | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When the time to decide ends.
             */
            expiresAt: string;
            /**
             * Format: date-time
             * @description When the approval stops being usable; null before it is approved.
             */
            usableUntil: string | null;
            /** @description How many more calls it permits. */
            usesLeft: number;
            /** @description Ids of the decisions that requested or used it. */
            decisions: string[];
            /** @description Where each value of the parameters came from when it was requested; the first 200. Empty for older ones. */
            values: components["schemas"]["CallValue"][];
            /**
             * @description Of a shell line that a rule judges: its commands, as they were judged when it was requested.
             * @default []
             */
            commands?: components["schemas"]["LineCommand"][];
            /**
             * @description What the agent says of the call in parameters that the rules call `descriptive`: no part of what is approved, nor of `parameters`. Secrets are redacted, and a text ends after 200 characters.
             * @default {}
             */
            agentSays?: {
                [key: string]: string;
            };
            /**
             * @description What rules read of records when it was asked for; if they read something else later, it is asked anew.
             * @default []
             */
            records?: components["schemas"]["RecordRead"][];
            /** @description The plan that it was first requested with; left out if the call came alone. */
            plan?: components["schemas"]["PlanPlace"];
        };
        /**
         * @description `pending` waits for people; `approved` can be used; every other status is final.
         * @enum {string}
         */
        ApprovalStatus: "approved" | "cancelled" | "consumed" | "denied" | "expired" | "pending";
        /** @description One person's verdict. */
        Said: {
            /** @description Who gave it. */
            by: components["schemas"]["Person"];
            /** @description The verdict. */
            verdict: components["schemas"]["ApprovalStatus"];
            /**
             * Format: date-time
             * @description When, by the store's clock.
             */
            at: string;
            /** @description The note given with it. */
            note: string;
        };
        /** @description Why access is requested, in the requester's words, secrets redacted. Nothing in it binds or grants anything. */
        AccessRequest: {
            /** @description What was added to the context of the call, such as a justification. */
            context: {
                [key: string]: unknown;
            };
            /** @description What is requested, such as until when, or as an emergency. */
            requestedAccess: {
                [key: string]: unknown;
            };
            /** @description Who requests it, and from where. */
            client: {
                [key: string]: unknown;
            };
        };
        /** @description A value of the call's parameters. */
        CallValue: {
            /** @description Its place, such as `payment.amount` or `recipients[0]`. */
            path: string;
            /** @description `request` = it stands in the user's request, in any ASCII case and white space; `approved_before` = people approved it, as a rule asks; `unverified` = neither. */
            origin: components["schemas"]["Origin"];
            /** @description Of a longer text: its links, addresses and words with digits that are not in the user's request. */
            notInRequest?: string[];
        };
        /**
         * @description Where a value comes from: the user's request, a call that people approved, or anywhere.
         * @enum {string}
         */
        Origin: "approved_before" | "request" | "unverified";
        /** @description One command of a shell line that people are asked about. */
        LineCommand: {
            /** @description The command as it stands in the line, secrets redacted. */
            text: string;
            /** @description Whether it may run unasked. */
            passed: boolean;
            /** @description Why it may not; null if it may. */
            why: string | null;
        };
        /** @description The place of a call among those that were sent together, as the plan of an agent. */
        PlanPlace: {
            /**
             * Format: uuid
             * @description The plan.
             */
            id: string;
            /** @description The call's place, from 0. */
            index: number;
            /** @description How many calls the plan has; those that needed nobody have no approval. */
            calls: number;
        };
        /** @description What waits, and how long people take. */
        ApprovalSummary: {
            /** @description How many calls wait. */
            waiting: number;
            /** @description Those that have waited longest, as many as were asked for. */
            oldest: components["schemas"]["WaitingCall"][];
            /** @description How many of the latest that people decided the next field is about: 50 at most. */
            decided: number;
            /** @description Half of those were decided within this time; null if none was. */
            halfWithinSeconds: number | null;
        };
        /** @description A call that waits for people, in brief: without anything that it says. */
        WaitingCall: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /**
             * Format: uuid
             * @description The agent's id.
             */
            agentId: string;
            /** @description The agent's name now; null if it was deleted. */
            agentName: string | null;
            /** @description The tool that the agent wants to call. */
            toolName: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
        };
        /** @description What became of one approval: either it was decided, or there is an error. */
        DecidedApproval: {
            /** @description As it was given. */
            id: string;
            /** @description The approval, decided. */
            approval?: components["schemas"]["Approval"];
            /** @description Why it was not decided, as `…/approve` or `…/deny` would answer. */
            error?: components["schemas"]["Problem"];
        };
        /** @description A call that waits or did, compared with what its agent was allowed to do with the tool besides. */
        Usual: {
            /** @description How many other calls it is compared with: the latest allowed ones of this agent and tool, at most 50, and as many that the same rule asked about and people approved; the first 1,000 values of each. */
            calls: number;
            /** @description How many of them people approved. If there are three, numbers and new values are compared with these alone. */
            asked: number;
            /** @description Every value of its parameters, in their order, at most 200. */
            values: components["schemas"]["UsualValue"][];
            /** @description How many more values it has. */
            omitted: number;
        };
        /** @description One value of the call, and what other calls had there. All elements of a list count as one place. */
        UsualValue: {
            /** @description Where it is, such as `amount`, `payment.amount` or `recipients[0]`; an unusual name stands in brackets. */
            path: string;
            /** @description How many of the other calls had a value there. */
            calls: number;
            /** @description What is unusual about it, in words; left out if nothing is, or if it cannot be compared because the log hides it. */
            unusual?: string;
            /** @description The same for programs, left out with it. `look_alike` = nearly the value of earlier calls, `nearest`; `other_pairing` = another value of this call always came with `nearest` here; `other_unit` = another type, sign or currency, or 100 times the usual; `new` = in no earlier call; `more` = at least twice the most so far. */
            difference?: components["schemas"]["Difference"];
            /** @description The value of earlier calls that it is to be held against. */
            nearest?: components["schemas"]["UsualText"];
            /** @description The least number there; left out, like the next two, if there was none. */
            least?: number;
            /** @description The middle one of the numbers there; of two, the lower. */
            median?: number;
            /** @description The most. */
            most?: number;
            /**
             * @description The most frequent other values there, at most five, the most frequent first; none with over 200 characters.
             * @default []
             */
            top?: components["schemas"]["UsualText"][];
        };
        /**
         * @description How a value differs from what earlier calls had there, the gravest first.
         * @enum {string}
         */
        Difference: "look_alike" | "more" | "new" | "other_pairing" | "other_unit";
        /** @description A value that other calls had. */
        UsualText: {
            /** @description The text; anything but a text as JSON. */
            value: string;
            /** @description How often they had it. */
            count: number;
        };
        /** @description A new key: `key` is the raw key, shown only here. */
        CreatedApiKey: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The raw key's first 12 characters, to tell keys apart. */
            prefix: string;
            /** @description What the key may do. */
            scopes: components["schemas"]["Scope"][];
            /** @description The only agents for which it may ask decisions; left out = all. */
            agents?: string[];
            /** @description `key` = its calls are one session, whatever they say; left out = `context.session` says. */
            sessionFrom?: components["schemas"]["SessionFrom"];
            /**
             * Format: date-time
             * @description When the key stops being valid; null or left out = never.
             */
            expiresAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /** @description The raw key. Shown only here. */
            key: string;
        };
        /** @description A key in lists, which never show the raw key. */
        ApiKeyView: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The raw key's first 12 characters, to tell keys apart. */
            prefix: string;
            /** @description What the key may do. */
            scopes: components["schemas"]["Scope"][];
            /** @description The only agents for which it may ask decisions; left out = all. */
            agents?: string[];
            /** @description `key` = its calls are one session, whatever they say; left out = `context.session` says. */
            sessionFrom?: components["schemas"]["SessionFrom"];
            /**
             * Format: date-time
             * @description When the key stops being valid; null or left out = never.
             */
            expiresAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When a request was last authenticated by it, to the second; null = never.
             */
            lastUsedAt: string | null;
        };
        /** @description The successor of a key: `key` is its raw key, shown only here. */
        RotatedApiKey: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The raw key's first 12 characters, to tell keys apart. */
            prefix: string;
            /** @description What the key may do. */
            scopes: components["schemas"]["Scope"][];
            /** @description The only agents for which it may ask decisions; left out = all. */
            agents?: string[];
            /** @description `key` = its calls are one session, whatever they say; left out = `context.session` says. */
            sessionFrom?: components["schemas"]["SessionFrom"];
            /**
             * Format: date-time
             * @description When the key stops being valid; null or left out = never.
             */
            expiresAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /** @description The raw key. Shown only here. */
            key: string;
            /**
             * Format: uuid
             * @description The key that it succeeds.
             */
            replaces: string;
            /**
             * Format: date-time
             * @description Until when that key is still valid.
             */
            replacedUntil: string;
        };
        /** @description A new session. Its token is in the cookie, or here if it was asked for. */
        NewSession: {
            /**
             * Format: uuid
             * @description Its id, which the log and the trail have as the id of a key.
             */
            id: string;
            /** @description Who signed in: the name of the API key, or of the person. */
            name: string;
            /** @description What it was given at sign-in; it may use those of them that the settings still give its groups. */
            scopes: components["schemas"]["Scope"][];
            /** @description `console` = its token is in the cookie of a browser; `cli` = a program sends it as a bearer token. */
            via: components["schemas"]["Via"];
            /**
             * Format: uuid
             * @description The API key that it was made from and ends with; left out = none.
             */
            keyId?: string;
            /** @description Who signed in with the identity provider; left out = somebody with a key or a code. */
            person?: components["schemas"]["SignedInPerson"];
            /**
             * Format: date-time
             * @description When it was made.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When a request was last authenticated by it, to the second; null = never.
             */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description When it ends if it is not used before.
             */
            idleUntil: string;
            /**
             * Format: date-time
             * @description When it ends in any case.
             */
            until: string;
            /** @description The token, to be sent as `Authorization: Bearer ses_…`. Shown only here, and only if `transport` is `bearer`. */
            token?: string;
        };
        /** @description Somebody who signed in with the identity provider. */
        SignedInPerson: {
            /**
             * Format: uuid
             * @description The same at every sign-in.
             */
            id: string;
            /** @description The groups that they had when they signed in. */
            groups: string[];
            /**
             * Format: date-time
             * @description When the provider last saw their credentials; left out = it did not say.
             */
            authenticatedAt?: string;
        };
        /** @description Who makes the request. */
        WhoAmI: {
            /** @description Of the API key, or of who signed in. */
            name: string;
            /** @description The workspace that all requests are about. */
            workspace: components["schemas"]["WorkspaceName"];
            /** @description What the caller may do. */
            scopes: components["schemas"]["Scope"][];
            /** @description The only agents for which the caller may ask decisions; left out = all. */
            agents?: string[];
            /**
             * Format: uuid
             * @description The API key in use: of a session, the one that it was made from; left out = the session was made without.
             */
            keyId?: string;
            /**
             * Format: uuid
             * @description The session in use; left out = the request was made with an API key.
             */
            sessionId?: string;
            /** @description Of a session that was made with the identity provider: who it is. */
            person?: components["schemas"]["SignedInPerson"];
            /** @description Of a session, where it is used: `console` or `cli`. */
            via?: components["schemas"]["Via"];
            /**
             * Format: date-time
             * @description When the session ends if it is not used before.
             */
            idleUntil?: string;
            /**
             * Format: date-time
             * @description When the session ends in any case, or the API key expires; null = never.
             */
            until: string | null;
            /** @description Numbers for the first screen. */
            totals: components["schemas"]["Totals"];
        };
        /** @description The workspace of a session. */
        WorkspaceName: {
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Its name. */
            name: string;
        };
        /** @description How much there is of what the scopes may read; the rest is left out. */
        Totals: {
            /** @description Approvals that wait for a person. */
            pendingApprovals?: number;
            /** @description Agents of the workspace. */
            agents?: number;
            /** @description Policies of the workspace. */
            policies?: number;
        };
        /** @description The session has ended. */
        SignedOut: {
            /** @description Where a browser goes next to sign out at the identity provider, too; null = nowhere. */
            providerUrl: string | null;
        };
        /** @description A session. */
        SessionView: {
            /**
             * Format: uuid
             * @description Its id, which the log and the trail have as the id of a key.
             */
            id: string;
            /** @description Who signed in: the name of the API key, or of the person. */
            name: string;
            /** @description What it was given at sign-in; it may use those of them that the settings still give its groups. */
            scopes: components["schemas"]["Scope"][];
            /** @description `console` = its token is in the cookie of a browser; `cli` = a program sends it as a bearer token. */
            via: components["schemas"]["Via"];
            /**
             * Format: uuid
             * @description The API key that it was made from and ends with; left out = none.
             */
            keyId?: string;
            /** @description Who signed in with the identity provider; left out = somebody with a key or a code. */
            person?: components["schemas"]["SignedInPerson"];
            /**
             * Format: date-time
             * @description When it was made.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When a request was last authenticated by it, to the second; null = never.
             */
            lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description When it ends if it is not used before.
             */
            idleUntil: string;
            /**
             * Format: date-time
             * @description When it ends in any case.
             */
            until: string;
        };
        /** @description How people can sign in, besides with an API key. */
        SignInOptions: {
            /** @description The identity provider, at `/console/sign-in?to=/console`; null = none. */
            provider: components["schemas"]["ProviderView"] | null;
            /**
             * @description True if people sign in to the console in no other way.
             * @default false
             */
            only?: boolean;
        };
        /** @description The identity provider. */
        ProviderView: {
            /** @description What people call it. */
            name: string;
            /** @description Its issuer. */
            issuer: string;
            /** @description The client with which `remit login` signs in; left out = it cannot. */
            cliClientId?: string;
        };
        /** @description A webhook and its state. */
        WebhookView: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description Where events go. */
            url: string;
            /** @description The types of events it receives. */
            events: components["schemas"]["WebhookEvent"][];
            /** @description How an event is written. */
            format: components["schemas"]["WebhookFormat"];
            /** @description Which of these events it receives; null = all. */
            only: components["schemas"]["EventFilter"] | null;
            /** @description Whether it receives events. */
            enabled: boolean;
            /** @description Those that sign, the newest last. */
            secrets: components["schemas"]["SecretView"][];
            /** @description The newest secret. Shown only when the webhook is created and when its secret is rotated. */
            secret?: string;
            /** @description Events that could not be delivered and will be retried. */
            waiting: number;
            /** @description Events that were retried for a day, and now wait for a manual retry. */
            parked: number;
            /** @description Events that were delivered since it was created. */
            delivered: number;
            /** @description Parked events that were dropped because a thousand newer ones were parked. */
            lost: number;
            /** @description The error of the last failed attempt; null if none has failed. */
            lastError: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updatedAt: string;
            /** @description 1 on creation, one more with every change; the same number as in ETag. */
            version: number;
        };
        /** @description A secret that signs, without its value. */
        SecretView: {
            /** @description Its number, from 1. */
            number: number;
            /**
             * Format: date-time
             * @description When it stops signing; null = never.
             */
            signsUntil: string | null;
        };
        /** @description The result of one attempt. */
        Attempt: {
            /** @description Whether the receiver answered with a status from 200 to 299. */
            delivered: boolean;
            /** @description The status of its answer; null if there was none. */
            status: number | null;
            /** @description Why it was not delivered; empty if it was. */
            error: string;
            /** @description How long it took. */
            milliseconds: number;
            /**
             * @description The wait that the receiver asked for with 429 or 503; null if it did not.
             * @default null
             */
            retryAfterSeconds?: number | null;
        };
        /** @description An event that has not been delivered so far. */
        UnsentView: {
            /** @description As in the header webhook-id. */
            id: string;
            /** @description What happened. */
            type: string;
            /**
             * @description `waiting` = it will be retried; `parked` = it was tried for a day, and waits for a manual retry.
             * @enum {string}
             */
            status: "waiting" | "parked";
            /** @description How often it was tried. */
            attempts: number;
            /** @description The error of the last attempt. */
            error: string;
            /**
             * Format: date-time
             * @description When it was first tried.
             */
            since: string | null;
            /**
             * Format: date-time
             * @description When it will be retried; null if it is parked.
             */
            nextAttemptAt: string | null;
        };
        /** @description One attempt to deliver an event; neither the event's content nor the receiver's answer is kept. */
        DeliveryView: {
            /** @description The event's id, as in the header webhook-id. */
            eventId: string;
            /** @description What happened. */
            type: string;
            /**
             * Format: date-time
             * @description When the attempt ended, by the store's clock.
             */
            at: string;
            /** @description Whether the receiver answered with a status from 200 to 299. */
            delivered: boolean;
            /** @description The status of its answer; null if there was none. */
            status: number | null;
            /** @description The number of the attempt for this event, from 1. */
            attempt: number;
            /** @description How long it took. */
            milliseconds: number;
            /** @description Why it was not delivered; empty if it was. */
            error: string;
        };
        /** @description What will be tried again now. */
        Retried: {
            /** @description How many events. */
            events: number;
        };
        /** @description `ok`; otherwise the request is answered with an error. */
        Health: {
            /** @description `ok`. */
            status: string;
            /** @description Only if the store is slow: how long its fastest reply took just now, for which each decision waits. */
            store?: string;
        };
        /** @description A decision point's identifier and endpoints. One that is left out does not exist. */
        Metadata: {
            /** @description Its identifier: the URL into which the well-known path was inserted. */
            policy_decision_point: string;
            /** @description Where a single question is asked. */
            access_evaluation_endpoint: string;
            /** @description Where several are asked at once. */
            access_evaluations_endpoint?: string;
            /** @description Where subjects are searched. */
            search_subject_endpoint?: string;
            /** @description Where resources are searched. */
            search_resource_endpoint?: string;
            /** @description Where actions are searched. */
            search_action_endpoint?: string;
            /** @description Where access is requested that was denied, and can be. */
            access_request_endpoint?: string;
            /** @description What it can besides the standard itself, as URNs. */
            capabilities?: string[];
        };
        /** @description Whose tokens count, and what they may ask. */
        IssuerView: {
            /**
             * Format: uuid
             * @description Identifier.
             */
            id: string;
            /** @description Display name; no control, bidirectional or zero-width characters. */
            name: string;
            /** @description The `iss` of its tokens. */
            issuer: string;
            /** @description The only `aud` of its tokens. */
            audience: string;
            /** @description How it signs. */
            algorithms: components["schemas"]["Algorithm"][];
            /** @description Where its public keys are; left out = they are in `jwks`. */
            jwksUri?: string;
            /** @description Its public keys; left out = they are at `jwks_uri`. */
            jwks?: {
                [key: string]: unknown;
            };
            /** @description What its tokens may do; the first that matches counts. */
            rules: components["schemas"]["IssuerRule"][];
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @description When its keys were last read; null = not yet, or they are in `jwks`.
             */
            keysReadAt: string | null;
            /** @description What is valid but probably not meant; left out if there is nothing to warn about. */
            warnings?: components["schemas"]["IssuerWarning"][];
        };
        /** @description Something that an issuer lets in, or does not, and that its author may not have meant. */
        IssuerWarning: {
            /** @description For programs. */
            code: components["schemas"]["IssuerCode"];
            /** @description Where: a JSON path below the issuer, such as `$.rules[0].match.sub`. */
            path: string;
            /** @description For people: what happens, and what would be right. */
            message: string;
        };
        /**
         * @description Kinds of warnings about issuers. Kinds may be added; their meanings do not change.
         * @enum {string}
         */
        IssuerCode: "audience_of_others" | "keys_elsewhere" | "matches_anybody" | "never_matches" | "never_reached" | "too_wide";
        /** @description An access request, and its result. */
        TaskView: {
            /** @description The access request. */
            task: components["schemas"]["Task"];
            /** @description How to complete it, if it is approved and has no items. */
            result?: components["schemas"]["TaskResult"];
        };
        /** @description An access request. */
        Task: {
            /** @description Opaque. */
            id: string;
            /** @description `pending`, or how it ended: `approved`, `denied`, `expired`, `cancelled`, or `partial` if items differ. */
            status: components["schemas"]["TaskStatus"];
            /** @description Where to read it. */
            status_endpoint: string;
            /** @description How many people have approved, if more than one must. */
            progress?: components["schemas"]["TaskProgress"];
            /**
             * Format: date-time
             * @description When it expires if it is still pending then.
             */
            expires_at?: string;
            /** @description What can be done with it while it is pending. */
            links?: components["schemas"]["TaskLinks"];
            /** @description Each of several requests. */
            items?: components["schemas"]["TaskItem"][];
        };
        /**
         * @description The status of a task or an item; all but `pending` are final, and `partial` is only of several items.
         * @enum {string}
         */
        TaskStatus: "approved" | "cancelled" | "denied" | "expired" | "partial" | "pending";
        /** @description How many people have approved. */
        TaskProgress: {
            /** @description The number of the person who is awaited, from 1. */
            current_step: number;
            /** @description How many people must approve. */
            total_steps: number;
        };
        /** @description Related URLs. */
        TaskLinks: {
            /** @description Where to cancel the request, by POST. */
            cancel: string;
        };
        /** @description One of several requests, in the order in which they were submitted. */
        TaskItem: {
            /** @description The resource that was asked about, as in the log. */
            resource: {
                [key: string]: unknown;
            };
            /** @description The action that was asked about, as in the log. */
            action: {
                [key: string]: unknown;
            };
            /** @description Its own status. */
            status: components["schemas"]["TaskStatus"];
            /** @description How to complete it, if it is approved. */
            result?: components["schemas"]["TaskResult"];
        };
        /** @description How to complete an approved request: evaluate again. */
        TaskResult: {
            /**
             * @description Always `reevaluate`: the decision point decides again.
             * @enum {unknown}
             */
            mode: "reevaluate";
            /** @description What to carry in the context. */
            approval: components["schemas"]["ApprovalResult"];
        };
        /** @description The approval to carry in `context.approval` of the next evaluation. */
        ApprovalResult: {
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /**
             * Format: date-time
             * @description When it was approved.
             */
            approved_at: string;
            /**
             * Format: date-time
             * @description Until when it can be used.
             */
            approved_until: string;
        };
        /** @description The decisions; a request without evaluations is answered with an `EvaluationView` by itself. */
        EvaluationsView: {
            /** @description In the order of the request; fewer if its semantic ends it early. */
            evaluations: components["schemas"]["EvaluationView"][];
        };
        /** @description An AuthZEN decision; only `true` permits the action. */
        EvaluationView: {
            /** @description True if and only if the call is allowed. */
            decision: boolean;
            /** @description Why, and the evaluation's id. */
            context: components["schemas"]["EvaluationContext"];
        };
        /** @description Why it was decided so. */
        EvaluationContext: {
            /** @description The id of the decision's entry in the audit log; left out if nothing was decided. */
            evaluation_id?: string;
            /**
             * Format: date-time
             * @description When it was decided, by the store's clock.
             */
            evaluated_at?: string;
            /** @description Why, for programs: a decision's code, or `unknown_subject`. */
            reason?: string;
            /** @description Why, for administrators: a sentence, under "200" if the decision is true and "403" otherwise. */
            reason_admin?: {
                [key: string]: string;
            };
            /** @description The message to the agent from the policy that gave the result; left out if it has none. */
            reason_user?: {
                [key: string]: string;
            };
            /**
             * @description Of a denial although the request carried an approval: `request` = submit the access request of this answer, `retry` = ask the same again later, `none` = neither will help.
             * @enum {unknown}
             */
            next_action?: "none" | "request" | "retry";
            /** @description The seconds after which the same request may be answered differently. */
            retry_after?: number;
            /** @description The approval that waits for a person, or that made it true. */
            approval?: components["schemas"]["EvaluationApproval"];
            /** @description How to request the access that was denied; left out if it cannot be requested. */
            access_request?: components["schemas"]["Requestable"];
            /** @description Why there is no decision; only in batches. */
            error?: components["schemas"]["EvaluationError"];
        };
        /** @description The approval of the request. */
        EvaluationApproval: {
            /**
             * Format: uuid
             * @description Its id.
             */
            id: string;
            /** @description Its current state. */
            status: string;
            /**
             * Format: date-time
             * @description When it can no longer be decided or, once approved, used.
             */
            expires_at: string;
            /**
             * Format: date-time
             * @description The latter, if it is approved.
             */
            approved_until?: string;
        };
        /** @description Access can be requested: submit an access request. */
        Requestable: {
            /** @description Where. */
            endpoint: string;
            /**
             * Format: date-time
             * @description Until when.
             */
            expires_at: string;
            /** @description What for; the same as the reason of the first denial. */
            template: string;
        };
        /** @description Why an evaluation of a batch was not decided. */
        EvaluationError: {
            /** @description As the HTTP status of a single evaluation would be. */
            status: number;
            /** @description For people. */
            message: string;
        };
        /** @description What a search has found. */
        FoundEntities: {
            /** @description Where this page is. */
            page: components["schemas"]["PageView"];
            /** @description In the order of their ids. */
            results: components["schemas"]["FoundEntity"][];
        };
        /** @description Where a page is. */
        PageView: {
            /** @description For the next page; empty if this is the last. */
            next_token: string;
            /** @description How many results this page has. */
            count: number;
        };
        /** @description A subject or a resource. */
        FoundEntity: {
            /** @description Its type. */
            type: string;
            /** @description Its id; an agent's is its alias, if it has one. */
            id: string;
        };
        /** @description What a search for actions has found. */
        FoundActions: {
            /** @description Where this page is. */
            page: components["schemas"]["PageView"];
            /** @description In the order of their names. */
            results: components["schemas"]["FoundAction"][];
        };
        /** @description An action. */
        FoundAction: {
            /** @description Its name. */
            name: string;
        };
        /** @description The body of every answer whose status is 400 or above. */
        ErrorBody: {
            /** @description What went wrong. */
            error: components["schemas"]["Problem"];
        };
        /** @description What went wrong with an access request: problem details of RFC 9457. */
        ProblemDetails: {
            /** @description The URN of the access request and approval profile, or `about:blank` for any other error. */
            type: string;
            /** @description The kind of problem. */
            title: string;
            /** @description As the status of the answer. */
            status: number;
            /** @description For people. */
            detail: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    post_authorize: {
        parameters: {
            header?: {
                /** @description A name for this request, chosen by the caller. If the request is repeated with it within 24 hours, the first answer is returned again: no second entry, and limits count the call once. Another request with the same name is answered 409, and so is the same one once the agent, or what governs it, has changed: then use a new name. */
                "Idempotency-Key"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AuthorizeBody"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionView"];
                };
            };
        };
    };
    post_authorize_batch: {
        parameters: {
            header?: {
                /** @description A name for this batch, chosen by the caller. If the batch is repeated with it within 24 hours, each call that was decided gets its first answer again, and the others are decided. Another batch with the same name is answered 409. A call whose agent, or what governs it, has changed since is `IDEMPOTENCY_STALE`: in the place of its answer if other calls were decided now, otherwise the whole batch is 409. Each call counts as one key. */
                "Idempotency-Key"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AuthorizeBatch"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchResults"];
                };
            };
        };
    };
    post_hooks_claude_code: {
        parameters: {
            header?: {
                /** @description The agent whose calls these are, by its id or its alias. Required exactly once; without it every call is denied. */
                "X-Remit-Agent"?: string;
                /** @description The project's folder, as `context.project`: what the hook's settings say, and no model. At most once. */
                "X-Remit-Project"?: string;
                /** @description What the answer to an allowed call is: `allow` (also without the header), after which the coding agent runs the tool, or `continue`, after which its own permissions are asked, too. At most once; also as `context.allowed`. */
                "X-Remit-Allowed"?: "allow" | "continue";
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HookCall"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HookAnswer"];
                };
            };
        };
    };
    post_decisions_decision_outcome: {
        parameters: {
            path: {
                decision_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportOutcome"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CallOutcome"];
                };
            };
        };
    };
    get_sessions_session_request: {
        parameters: {
            path: {
                session_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionRequest"];
                };
            };
        };
    };
    post_sessions_session_request: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                session_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PinRequest"];
            };
        };
        responses: {
            /** @description The answer. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionRequest"];
                };
            };
        };
    };
    post_explain: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExplainBody"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
        };
    };
    get_policies: {
        parameters: {
            query?: {
                /** @description Only those of this agent, by its id or its alias. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description Only policies that this group owns. */
                group?: string;
                /** @description Only those of this kind. */
                kind?: "grant" | "guardrail";
                /** @description Only policies with this key. */
                key?: string;
                /** @description The most to return; all if left out. */
                limit?: number;
                /** @description How many to skip first. */
                offset?: number;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyView"][];
                };
            };
        };
    };
    post_policies: {
        parameters: {
            query?: {
                /** @description A warning is an error (400), and nothing is written. */
                strict?: "true" | "false";
            };
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreatePolicy"];
            };
        };
        responses: {
            /** @description The answer. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenPolicyView"];
                };
            };
            /** @description Nothing has changed yet: the change waits for a second person. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
        };
    };
    get_policy_reviews: {
        parameters: {
            query?: {
                /** @description Only those in this state, or in one of several, comma-separated. */
                status?: string;
                /** @description Only those of policies of this agent, by its id or its alias. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description Only those of policies of this group. */
                group?: string;
                /** @description The most to return. */
                limit?: number;
                /** @description X-Next-Cursor of the page before: pages chained by it neither repeat nor skip a review. A page with this header may have fewer reviews than the limit, or none: it looks through at most 1,000. */
                cursor?: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"][];
                };
            };
        };
    };
    get_policies_policy: {
        parameters: {
            query?: {
                /** @description The agent that owns the policy; needed if it is named by its key. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description The group that owns the policy; if neither is given, the workspace owns it. */
                group?: string;
            };
            path: {
                policy_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyView"];
                };
            };
        };
    };
    delete_policies_policy: {
        parameters: {
            query?: {
                /** @description The agent that owns the policy; needed if it is named by its key. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description The group that owns the policy; if neither is given, the workspace owns it. */
                group?: string;
            };
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                policy_id: string;
            };
        };
        responses: {
            /** @description Nothing has changed yet: the change waits for a second person. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    patch_policies_policy: {
        parameters: {
            query?: {
                /** @description The agent that owns the policy; needed if it is named by its key. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description The group that owns the policy; if neither is given, the workspace owns it. */
                group?: string;
                /** @description A warning is an error (400), and nothing is written. */
                strict?: "true" | "false";
            };
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                policy_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdatePolicy"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenPolicyView"];
                };
            };
            /** @description Nothing has changed yet: the change waits for a second person. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
        };
    };
    post_policies_lint: {
        parameters: {
            query?: {
                /** @description A warning is an error (400), and nothing is written. */
                strict?: "true" | "false";
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LintPolicies"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyWarnings"];
                };
            };
        };
    };
    post_policies_compare: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ComparePolicies"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyComparison"];
                };
            };
        };
    };
    post_policies_propose: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProposeBody"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["ProposalLine"];
                };
            };
        };
    };
    get_policy_reviews_review: {
        parameters: {
            path: {
                review_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholePolicyReviewView"];
                };
            };
        };
    };
    get_workspace_policies: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicySetView"];
                };
            };
        };
    };
    put_workspace_policies: {
        parameters: {
            query?: {
                /** @description Delete the policies that are not in the body; otherwise they stay. */
                prune?: "true" | "false";
                /** @description A warning is an error (400), and nothing is written. */
                strict?: "true" | "false";
                /** @description Where the policies in the body are managed from now on; if left out, as before. They, and policies that `prune` deletes, are changed without the warning `managed_elsewhere` if they were managed there already. `managedBy` is accepted, too. */
                managed_by?: string;
            };
            header?: {
                /** @description The version of these policies, as their ETag showed it. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutPolicies"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppliedSetView"];
                };
            };
            /** @description Nothing has changed yet: the change waits for a second person. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
        };
    };
    post_policies_test: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TestPolicies"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyTestResults"];
                };
            };
        };
    };
    post_policy_reviews_review_approve: {
        parameters: {
            path: {
                review_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReviewNote"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
        };
    };
    post_policy_reviews_review_deny: {
        parameters: {
            path: {
                review_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReviewNote"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
        };
    };
    post_policy_reviews_review_cancel: {
        parameters: {
            path: {
                review_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReviewNote"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
        };
    };
    get_agents_agent_policies: {
        parameters: {
            path: {
                agent_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicySetView"];
                };
            };
        };
    };
    put_agents_agent_policies: {
        parameters: {
            query?: {
                /** @description Delete the policies that are not in the body; otherwise they stay. */
                prune?: "true" | "false";
                /** @description A warning is an error (400), and nothing is written. */
                strict?: "true" | "false";
                /** @description Where the policies in the body are managed from now on; if left out, as before. They, and policies that `prune` deletes, are changed without the warning `managed_elsewhere` if they were managed there already. `managedBy` is accepted, too. */
                managed_by?: string;
            };
            header?: {
                /** @description The version of these policies, as their ETag showed it. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                agent_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutPolicies"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppliedSetView"];
                };
            };
            /** @description Nothing has changed yet: the change waits for a second person. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
        };
    };
    get_groups_group_policies: {
        parameters: {
            path: {
                group: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicySetView"];
                };
            };
        };
    };
    put_groups_group_policies: {
        parameters: {
            query?: {
                /** @description Delete the policies that are not in the body; otherwise they stay. */
                prune?: "true" | "false";
                /** @description A warning is an error (400), and nothing is written. */
                strict?: "true" | "false";
                /** @description Where the policies in the body are managed from now on; if left out, as before. They, and policies that `prune` deletes, are changed without the warning `managed_elsewhere` if they were managed there already. `managedBy` is accepted, too. */
                managed_by?: string;
            };
            header?: {
                /** @description The version of these policies, as their ETag showed it. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                group: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutPolicies"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppliedSetView"];
                };
            };
            /** @description Nothing has changed yet: the change waits for a second person. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
        };
    };
    get_policies_policy_versions: {
        parameters: {
            query?: {
                /** @description The agent that owns the policy; needed if it is named by its key. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description The group that owns the policy; if neither is given, the workspace owns it. */
                group?: string;
                /** @description The most to return; all if left out. */
                limit?: number;
            };
            path: {
                policy_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyVersionView"][];
                };
            };
        };
    };
    post_policies_policy_rollback: {
        parameters: {
            query?: {
                /** @description The agent that owns the policy; needed if it is named by its key. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description The group that owns the policy; if neither is given, the workspace owns it. */
                group?: string;
                /** @description A warning is an error (400), and nothing is written. */
                strict?: "true" | "false";
            };
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                policy_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RollBack"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WrittenPolicyView"];
                };
            };
            /** @description Nothing has changed yet: the change waits for a second person. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyReviewView"];
                };
            };
        };
    };
    get_policies_policy_divergence: {
        parameters: {
            query?: {
                /** @description The agent that owns the policy; needed if it is named by its key. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description The group that owns the policy; if neither is given, the workspace owns it. */
                group?: string;
            };
            path: {
                policy_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DivergenceView"];
                };
            };
        };
    };
    get_agents: {
        parameters: {
            query?: {
                /** @description Only the agent with this alias. */
                alias?: string;
                /** @description Only agents with this name. */
                name?: string;
                /** @description Only agents in this state. */
                status?: "active" | "suspended" | "revoked";
                /** @description The most to return; all if left out. */
                limit?: number;
                /** @description How many to skip first. */
                offset?: number;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"][];
                };
            };
        };
    };
    post_agents: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAgent"];
            };
        };
        responses: {
            /** @description The answer. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
        };
    };
    get_agents_agent: {
        parameters: {
            path: {
                agent_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
        };
    };
    delete_agents_agent: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                agent_id: string;
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    patch_agents_agent: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                agent_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateAgent"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
        };
    };
    get_agents_agent_history: {
        parameters: {
            query?: {
                /** @description Only what was at or after this time; without an offset it is UTC, and a date means its start. */
                from?: string;
                /** @description Only what was at or before this time; a date means its end. */
                to?: string;
                /** @description The most changes to return. */
                limit?: number;
                /** @description The `nextCursor` of the page before: pages chained by it neither repeat nor skip a change. */
                cursor?: string;
            };
            path: {
                agent_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentHistory"];
                };
            };
        };
    };
    get_agents_agent_quotas: {
        parameters: {
            path: {
                agent_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentQuotas"];
                };
            };
        };
    };
    get_agents_agent_tools: {
        parameters: {
            query?: {
                /** @description Only this tool, whether or not it is known. */
                tool?: string;
                /** @description The most to return; all if left out. */
                limit?: number;
                /** @description How many to skip first. */
                offset?: number;
            };
            path: {
                agent_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentTools"];
                };
            };
        };
    };
    post_agents_agent_tools: {
        parameters: {
            path: {
                agent_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NamedTools"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentTools"];
                };
            };
        };
    };
    get_agents_agent_remembered: {
        parameters: {
            path: {
                agent_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Remembered"][];
                };
            };
        };
    };
    delete_agents_agent_remembered: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                agent_id: string;
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    get_agents_agent_bounds: {
        parameters: {
            path: {
                agent_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentBounds"];
                };
            };
        };
    };
    get_catalog: {
        parameters: {
            query?: {
                /** @description The most to return; all if left out. */
                limit?: number;
                /** @description How many to skip first. */
                offset?: number;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogToolView"][];
                };
            };
        };
    };
    put_catalog: {
        parameters: {
            query?: {
                /** @description Remove the tools that are not in the body; otherwise they stay. */
                prune?: "true" | "false";
            };
            header?: {
                /** @description The version of the catalogue, as its ETag showed it. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutCatalog"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedCatalogView"];
                };
            };
        };
    };
    patch_catalog: {
        parameters: {
            header?: {
                /** @description The version of the catalogue, as its ETag showed it. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MarkTools"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedCatalogView"];
                };
            };
        };
    };
    get_catalog_tool_tool: {
        parameters: {
            path: {
                tool: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogToolView"];
                };
            };
        };
    };
    put_catalog_tool_tool: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                tool: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutTool"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogToolView"];
                };
            };
        };
    };
    delete_catalog_tool_tool: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                tool: string;
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    get_catalog_resource_type_resource_name: {
        parameters: {
            path: {
                resource_type: string;
                resource_name: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResourceView"];
                };
            };
        };
    };
    put_catalog_resource_type_resource_name: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                resource_type: string;
                resource_name: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutResource"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResourceView"];
                };
            };
        };
    };
    delete_catalog_resource_type_resource_name: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                resource_type: string;
                resource_name: string;
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    get_audit_logs: {
        parameters: {
            query?: {
                /** @description Only those of this agent, by its id or its alias. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description Only entries with this action. */
                action?: string;
                /** @description Only entries for this tool. `toolName` is accepted, too. */
                tool_name?: string;
                /** @description Only entries with this result. */
                result?: "allowed" | "denied" | "escalated";
                /** @description Only the entry with this id. */
                id?: string;
                /** @description Only entries of calls made with this API key. `keyId` is accepted, too. */
                key_id?: string;
                /** @description Only entries that this policy decided. `policyId` is accepted, too. */
                policy_id?: string;
                /** @description Only entries that a rule of this type decided. `ruleType` is accepted, too. */
                rule_type?: string;
                /** @description Only entries of calls with this `context.session`. */
                session?: string;
                /** @description Only entries of calls with this `context.user`. */
                user?: string;
                /** @description Only entries of calls made with a workload's token whose `sub` is this. */
                subject?: string;
                /** @description Only entries where the shadow policy with this id, or any, would have given another result. */
                shadow?: string | unknown | "any";
                /** @description Only entries that contain this text in a value or in the name of a parameter, exactly as written; redacted values cannot be found. */
                q?: string;
                /** @description Only entries at or after this time; without an offset it is UTC, and a date means its start. */
                from?: string;
                /** @description Only entries at or before this time; a date means its end. */
                to?: string;
                /** @description The most entries to return. */
                limit?: number;
                /** @description How many entries to skip first. */
                offset?: number;
                /** @description X-Next-Cursor of the page before: pages chained by it neither repeat nor skip an entry. */
                cursor?: number;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntry"][];
                };
            };
        };
    };
    post_replay: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReplayBody"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["ReplayLine"];
                };
            };
        };
    };
    get_audit_logs_export: {
        parameters: {
            query?: {
                /** @description Only those of this agent, by its id or its alias. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description Only entries with this action. */
                action?: string;
                /** @description Only entries for this tool. `toolName` is accepted, too. */
                tool_name?: string;
                /** @description Only entries with this result. */
                result?: "allowed" | "denied" | "escalated";
                /** @description Only the entry with this id. */
                id?: string;
                /** @description Only entries of calls made with this API key. `keyId` is accepted, too. */
                key_id?: string;
                /** @description Only entries that this policy decided. `policyId` is accepted, too. */
                policy_id?: string;
                /** @description Only entries that a rule of this type decided. `ruleType` is accepted, too. */
                rule_type?: string;
                /** @description Only entries of calls with this `context.session`. */
                session?: string;
                /** @description Only entries of calls with this `context.user`. */
                user?: string;
                /** @description Only entries of calls made with a workload's token whose `sub` is this. */
                subject?: string;
                /** @description Only entries where the shadow policy with this id, or any, would have given another result. */
                shadow?: string | unknown | "any";
                /** @description Only entries that contain this text in a value or in the name of a parameter, exactly as written; redacted values cannot be found. */
                q?: string;
                /** @description Only entries at or after this time; without an offset it is UTC, and a date means its start. */
                from?: string;
                /** @description Only entries at or before this time; a date means its end. */
                to?: string;
                /** @description The format of the file. */
                format?: "ndjson" | "csv";
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv; charset=utf-8": string;
                };
            };
        };
    };
    get_audit_logs_entry: {
        parameters: {
            path: {
                entry_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntry"];
                };
            };
        };
    };
    get_audit_logs_status: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Backlog"];
                };
            };
        };
    };
    get_audit_logs_archive: {
        parameters: {
            query?: {
                /** @description Only segments after this one. */
                after?: number;
                /** @description The most segments to return. */
                limit?: number;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveManifest"];
                };
            };
        };
    };
    get_audit_logs_verify: {
        parameters: {
            query?: {
                /** @description The line of an earlier verification: start there, and require the log to match it. */
                checkpoint?: string;
                /** @description The checkpoint is that of the answer before, in a verification of several requests; what it covers is not looked at again. */
                continues?: "true" | "false";
                /** @description A signed checkpoint of the log or of the trail of changes, which its Merkle tree must continue. The three lines suffice: whoever asks checks the signatures. */
                note?: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerificationView"];
                };
            };
        };
    };
    get_audit_logs_counts: {
        parameters: {
            query?: {
                /** @description Only those of this agent, by its id or its alias. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description Only entries with this action. */
                action?: string;
                /** @description Only entries for this tool. `toolName` is accepted, too. */
                tool_name?: string;
                /** @description Only entries with this result. */
                result?: "allowed" | "denied" | "escalated";
                /** @description Only the entry with this id. */
                id?: string;
                /** @description Only entries of calls made with this API key. `keyId` is accepted, too. */
                key_id?: string;
                /** @description Only entries that this policy decided. `policyId` is accepted, too. */
                policy_id?: string;
                /** @description Only entries that a rule of this type decided. `ruleType` is accepted, too. */
                rule_type?: string;
                /** @description Only entries of calls with this `context.session`. */
                session?: string;
                /** @description Only entries of calls with this `context.user`. */
                user?: string;
                /** @description Only entries of calls made with a workload's token whose `sub` is this. */
                subject?: string;
                /** @description Only entries where the shadow policy with this id, or any, would have given another result. */
                shadow?: string | unknown | "any";
                /** @description Only entries that contain this text in a value or in the name of a parameter, exactly as written; redacted values cannot be found. */
                q?: string;
                /** @description Only entries at or after this time; without an offset it is UTC, and a date means its start. */
                from?: string;
                /** @description Only entries at or before this time; a date means its end. */
                to?: string;
                /** @description The values to count: each result, agent, tool, deciding policy or code. */
                by?: "result" | "agent" | "tool" | "policy" | "code";
                /** @description Also count per interval of so many seconds, the first of which begins at `from`, which must be given too; at most 1,000. */
                step?: number;
                /** @description The most values to return, the most frequent first. */
                limit?: number;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Counts"];
                };
            };
        };
    };
    get_audit_logs_checkpoint: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    post_audit_logs_accept_fork: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptFork"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fork"][];
                };
            };
        };
    };
    get_audit_logs_stream: {
        parameters: {
            query?: {
                /** @description Only those of this agent, by its id or its alias. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description Only entries with this action. */
                action?: string;
                /** @description Only entries for this tool. `toolName` is accepted, too. */
                tool_name?: string;
                /** @description Only entries with this result. */
                result?: "allowed" | "denied" | "escalated";
                /** @description Only the entry with this id. */
                id?: string;
                /** @description Only entries of calls made with this API key. `keyId` is accepted, too. */
                key_id?: string;
                /** @description Only entries that this policy decided. `policyId` is accepted, too. */
                policy_id?: string;
                /** @description Only entries that a rule of this type decided. `ruleType` is accepted, too. */
                rule_type?: string;
                /** @description Only entries of calls with this `context.session`. */
                session?: string;
                /** @description Only entries of calls with this `context.user`. */
                user?: string;
                /** @description Only entries of calls made with a workload's token whose `sub` is this. */
                subject?: string;
                /** @description Only entries where the shadow policy with this id, or any, would have given another result. */
                shadow?: string | unknown | "any";
                /** @description Only entries that contain this text in a value or in the name of a parameter, exactly as written; redacted values cannot be found. */
                q?: string;
                /** @description Only entries at or after this time; without an offset it is UTC, and a date means its start. */
                from?: string;
                /** @description Only entries at or before this time; a date means its end. */
                to?: string;
            };
            header?: {
                /** @description The id of the last event received. */
                "Last-Event-ID"?: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    get_audit_logs_entry_proof: {
        parameters: {
            path: {
                entry_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    get_audit_logs_entry_explanation: {
        parameters: {
            path: {
                entry_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PastExplanation"];
                };
            };
        };
    };
    get_approvals: {
        parameters: {
            query?: {
                /** @description Only those in this state, or in one of several, comma-separated. */
                status?: string;
                /** @description Only those of this agent, by its id or its alias. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description Only those of calls of this tool. `toolName` is accepted, too. */
                tool_name?: string;
                /** @description Only those of calls that were sent together, as this plan. `planId` is accepted, too. */
                plan_id?: string;
                /** @description Only those that wait and that whoever asks may decide. */
                mine?: "true" | "false";
                /** @description The most to return. */
                limit?: number;
                /** @description X-Next-Cursor of the page before: pages chained by it neither repeat nor skip an approval. A page with this header may have fewer approvals than the limit, or none: it looks through at most 1,000. */
                cursor?: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"][];
                };
            };
        };
    };
    post_slack: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    get_approvals_stream: {
        parameters: {
            query?: {
                /** @description Only the id of the approval: what is in it is not read. */
                brief?: "true" | "false";
            };
            header?: {
                /** @description The id of the last event received. */
                "Last-Event-ID"?: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    get_approvals_summary: {
        parameters: {
            query?: {
                /** @description Only of this agent's approvals, by its id or its alias. `agentId` is accepted, too. */
                agent_id?: string;
                /** @description How many of the calls that have waited longest it names. */
                calls?: number;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalSummary"];
                };
            };
        };
    };
    get_approvals_approval: {
        parameters: {
            query?: {
                /** @description Answer as soon as it is no longer pending, or after this many seconds. */
                wait?: number;
            };
            path: {
                approval_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    post_approvals_decide: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecideTogether"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecidedApproval"][];
                };
            };
        };
    };
    post_approvals_approval_approve: {
        parameters: {
            header?: {
                /** @description The version that the person has seen, as its ETag showed it; 409 if the current version is another one. */
                "If-Match"?: string;
            };
            path: {
                approval_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApproveCall"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    post_approvals_approval_deny: {
        parameters: {
            header?: {
                /** @description The version that the person has seen, as its ETag showed it; 409 if the current version is another one. */
                "If-Match"?: string;
            };
            path: {
                approval_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApprovalNote"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    post_approvals_approval_cancel: {
        parameters: {
            header?: {
                /** @description The version that the person has seen, as its ETag showed it; 409 if the current version is another one. */
                "If-Match"?: string;
            };
            path: {
                approval_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApprovalNote"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
        };
    };
    get_approvals_approval_usual: {
        parameters: {
            path: {
                approval_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usual"];
                };
            };
        };
    };
    get_changes: {
        parameters: {
            query?: {
                /** @description Only changes made with this API key, without one (`console`), or by denial breakers (`breaker`). `actorId` is accepted, too. */
                actor_id?: string;
                /** @description Only changes made by the person with this id, in any of their sessions. */
                person?: string;
                /** @description Only changes to this type of thing; several, separated by commas, mean any of them. `resourceType` is accepted, too. */
                resource_type?: string;
                /** @description Only changes to the thing with this id. `resourceId` is accepted, too. */
                resource_id?: string;
                /** @description Only changes at or after this time; without an offset it is UTC, and a date means its start. */
                from?: string;
                /** @description Only changes at or before this time; a date means its end. */
                to?: string;
                /** @description The most changes to return. */
                limit?: number;
                /** @description X-Next-Cursor of the page before: pages chained by it neither repeat nor skip a change. */
                cursor?: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Change"][];
                };
            };
        };
    };
    get_changes_checkpoint: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    get_api_keys: {
        parameters: {
            query?: {
                /** @description The most to return; all if left out. */
                limit?: number;
                /** @description How many to skip first. */
                offset?: number;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyView"][];
                };
            };
        };
    };
    post_api_keys: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateApiKey"];
            };
        };
        responses: {
            /** @description The answer. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedApiKey"];
                };
            };
        };
    };
    delete_api_keys_key: {
        parameters: {
            query?: {
                /** @description Revoke it even if it is the last valid key with the scope `admin`. */
                force?: "true" | "false";
            };
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                key_id: string;
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    post_api_keys_key_rotate: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                key_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotateApiKey"];
            };
        };
        responses: {
            /** @description The answer. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedApiKey"];
                };
            };
        };
    };
    get_session: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoAmI"];
                };
            };
        };
    };
    post_session: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInBody"];
            };
        };
        responses: {
            /** @description The answer. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewSession"];
                };
            };
        };
    };
    delete_session: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedOut"];
                };
            };
        };
    };
    get_sessions: {
        parameters: {
            query?: {
                /** @description The most to return; all if left out. */
                limit?: number;
                /** @description How many to skip first. */
                offset?: number;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"][];
                };
            };
        };
    };
    get_sign_in: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInOptions"];
                };
            };
        };
    };
    get_console_sign_in: {
        parameters: {
        };
        responses: never;
    };
    get_console_callback: {
        parameters: {
        };
        responses: never;
    };
    post_console_workspace: {
        parameters: {
        };
        responses: never;
    };
    post_console_backchannel_logout: {
        parameters: {
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    delete_sessions_session: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                session_id: string;
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    get_webhooks: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"][];
                };
            };
        };
    };
    post_webhooks: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhook"];
            };
        };
        responses: {
            /** @description The answer. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
        };
    };
    get_webhooks_webhook: {
        parameters: {
            path: {
                webhook_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
        };
    };
    delete_webhooks_webhook: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                webhook_id: string;
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    patch_webhooks_webhook: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                webhook_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateWebhook"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
        };
    };
    post_webhooks_webhook_rotate_secret: {
        parameters: {
            header?: {
                /** @description The version to change, as its ETag showed it, or several, comma-separated. If the current version is another one, nothing is changed and the answer is 412. `*` or left out: any version. */
                "If-Match"?: string;
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                webhook_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RotateSecret"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
        };
    };
    post_webhooks_webhook_test: {
        parameters: {
            path: {
                webhook_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SendTest"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attempt"];
                };
            };
        };
    };
    get_webhooks_webhook_events: {
        parameters: {
            path: {
                webhook_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnsentView"][];
                };
            };
        };
    };
    get_webhooks_webhook_deliveries: {
        parameters: {
            path: {
                webhook_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryView"][];
                };
            };
        };
    };
    post_webhooks_webhook_retry: {
        parameters: {
            path: {
                webhook_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RetryEvents"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Retried"];
                };
            };
        };
    };
    get_livez: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    get_readyz: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    get_metrics: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain; version=0.0.4; charset=utf-8": string;
                };
            };
        };
    };
    get_openapi_json: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    get: {
        parameters: {
        };
        responses: never;
    };
    get_docs_api: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html; charset=utf-8": string;
                };
            };
        };
    };
    get_policies_schema_json: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/schema+json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    get_well_known_authzen_configuration: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metadata"];
                };
            };
        };
    };
    get_issuers: {
        parameters: {
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuerView"][];
                };
            };
        };
    };
    post_access_v_requests: {
        parameters: {
            header?: {
                /** @description A name for this submission, chosen by the caller. The same submission with it gets the same task, as long as the access can be decided and for a day longer; another one is answered 409. */
                "Idempotency-Key"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AccessRequestBody"];
            };
        };
        responses: {
            /** @description The answer. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskView"];
                };
            };
        };
    };
    post_access_v_evaluations: {
        parameters: {
            header?: {
                /** @description A name for this batch, chosen by the caller. If the batch is repeated with it within 24 hours, each call that was decided gets its first answer again, and the others are decided. Another batch with the same name is answered 409. A call whose agent, or what governs it, has changed since is `IDEMPOTENCY_STALE`: in the place of its answer if other calls were decided now, otherwise the whole batch is 409. Each call counts as one key. */
                "Idempotency-Key"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EvaluationsBody"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvaluationsView"] | components["schemas"]["EvaluationView"];
                };
            };
        };
    };
    get_well_known_authzen_configuration_workspace: {
        parameters: {
            path: {
                workspace_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metadata"];
                };
            };
        };
    };
    get_issuers_issuer_name: {
        parameters: {
            path: {
                issuer_name: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuerView"];
                };
            };
        };
    };
    put_issuers_issuer_name: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                issuer_name: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutIssuer"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuerView"];
                };
            };
        };
    };
    delete_issuers_issuer_name: {
        parameters: {
            header?: {
                /** @description The reason of the change, for readers of the trail of changes. Encode characters beyond ASCII in UTF-8. */
                "Change-Reason"?: string;
            };
            path: {
                issuer_name: string;
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
            };
        };
    };
    post_access_v_evaluation: {
        parameters: {
            header?: {
                /** @description A name for this request, chosen by the caller. If the request is repeated with it within 24 hours, the first answer is returned again: no second entry, and limits count the call once. Another request with the same name is answered 409, and so is the same one once the agent, or what governs it, has changed: then use a new name. */
                "Idempotency-Key"?: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EvaluationBody"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvaluationView"];
                };
            };
        };
    };
    get_access_v_requests_task: {
        parameters: {
            path: {
                task_id: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskView"];
                };
            };
        };
    };
    post_access_v_search_subject: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubjectSearch"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundEntities"];
                };
            };
        };
    };
    post_access_v_search_resource: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResourceSearch"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundEntities"];
                };
            };
        };
    };
    post_access_v_search_action: {
        parameters: {
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ActionSearch"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundActions"];
                };
            };
        };
    };
    post_access_v_ext_authz_path: {
        parameters: {
            header?: {
                /** @description The agent that sends the request, by its id or its alias. Left out, the agent is the only one that the key is bound to. */
                "X-Remit-Agent"?: string;
            };
            path: {
                path: string;
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvaluationView"];
                };
            };
        };
    };
    post_access_v_requests_task_cancel: {
        parameters: {
            path: {
                task_id: string;
            };
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CancelTask"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskView"];
                };
            };
        };
    };
}
