"""The Litestar application: every route, and what surrounds them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.handlers import HTTPRouteHandler
from litestar.types import ControllerRouterHandler

from app.errors import LockedOut, TooManyRequests
from app.http.answers import send_answer, with_headers
from app.http.api import (
    agent_tools,
    agents,
    api_keys,
    approval_stream,
    approvals,
    audit_export,
    audit_log,
    audit_stream,
    catalog,
    changes,
    decisions,
    explain,
    health,
    metrics,
    past_explanations,
    policies,
    policy_divergence,
    policy_lint,
    policy_sets,
    policy_versions,
    replay,
    webhooks,
)
from app.http.authentication import peer_of, provide_caller
from app.http.bodies import MAX_BODY_BYTES
from app.http.change_reasons import provide_changed_by
from app.http.doors import DOORS, route_of
from app.http.etag import provide_if_match
from app.http.hot_path import AsgiCall, respond
from app.http.litestar_bodies import BodyRequest
from app.http.methods import options_handler
from app.http.open_streams import close_stream
from app.http.openapi import document, page, policy_schema
from app.http.paths import served_path
from app.http.problems import EXCEPTION_HANDLERS, error_answer, nothing_here
from app.http.request_ids import answer_with_request_id, request_id_header, request_id_of
from app.http.throttle import check_rate, has_bounds
from app.replica import Services

ROUTES: list[ControllerRouterHandler] = [
    *map(route_of, DOORS.values()),
    explain.explain,
    api_keys.create_key,
    api_keys.list_keys,
    api_keys.revoke_key,
    agents.create_agent,
    agents.list_agents,
    agents.get_agent,
    agents.update_agent,
    agents.delete_agent,
    agent_tools.list_agent_tools,
    policies.create_policy,
    policy_lint.lint_policies,
    policies.list_policies,
    policies.get_policy,
    policies.update_policy,
    policies.delete_policy,
    policy_sets.get_agent_policies,
    policy_sets.put_agent_policies,
    policy_sets.get_group_policies,
    policy_sets.put_group_policies,
    policy_sets.get_workspace_policies,
    policy_sets.put_workspace_policies,
    policy_versions.list_versions,
    policy_versions.roll_back,
    policy_divergence.get_divergence,
    catalog.put_catalog,
    catalog.list_catalog,
    catalog.get_tool,
    catalog.put_tool,
    catalog.delete_tool,
    audit_log.query_audit_log,
    audit_log.get_audit_entry,
    past_explanations.explain_entry,
    audit_log.audit_log_status,
    audit_log.verify_audit_log,
    audit_export.export_audit_log,
    replay.replay_log,
    audit_stream.stream_audit_log,
    changes.query_changes,
    decisions.report_outcome,
    approvals.list_approvals,
    approval_stream.stream_approvals,
    approvals.get_approval,
    approvals.approve_call,
    approvals.deny_call,
    approvals.cancel_approval,
    webhooks.create_webhook,
    webhooks.list_webhooks,
    webhooks.get_webhook,
    webhooks.update_webhook,
    webhooks.delete_webhook,
    webhooks.rotate_webhook_secret,
    webhooks.send_test,
    webhooks.list_unsent_events,
    webhooks.retry_events,
    health.livez,
    health.readyz,
    metrics.metrics,
    document.openapi_document,
    policy_schema.policy_schema,
    page.docs_page,
    page.root,
]

PUBLIC = frozenset(
    path for route in ROUTES if isinstance(route, HTTPRouteHandler) and not route.guards for path in route.paths
)
"""The paths that need no key. What bounds callers holds for all others, even if nothing is served there."""


class Application(Litestar):
    """Litestar, except that calls are answered before routing."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one ASGI event."""
        if scope["type"] != "http":
            return await super().__call__(scope, receive, send)
        services, path = self.state.services, served_path(scope["path"], scope["raw_path"])
        if path is None:
            refusal = error_answer(nothing_here(), request_id_header(request_id_of(scope["headers"])))
            return await send_answer(send, refusal)
        # As the router does. Whether this second spelling is served is decided here alone, for doors and all others.
        scope["path"] = path = path.rstrip("/") or "/"
        if scope["method"] == "POST" and (door := DOORS.get(path)) is not None:
            return await send_answer(send, await respond(services, door, AsgiCall(scope, receive)))
        if path not in PUBLIC and has_bounds(services):
            try:
                send = with_headers(send, check_rate(services, peer_of(scope), scope["headers"]))
            except (LockedOut, TooManyRequests) as error:
                refusal = error_answer(error, request_id_header(request_id_of(scope["headers"])))
                return await send_answer(send, refusal)
        try:
            return await answer_with_request_id(super().__call__, scope, receive, send)
        finally:
            close_stream(services, scope)


def build_application(open_services: Callable[[], AbstractAsyncContextManager[Services]]) -> Application:
    """The application; its services are opened on the loop that serves it and closed with it."""

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        async with open_services() as services:
            app.state.services = services
            yield

    return Application(
        [options_handler(ROUTES), *ROUTES],  # in this order, Litestar adds no OPTIONS handlers of its own
        request_class=BodyRequest,
        lifespan=[lifespan],
        dependencies={
            "services": Provide(_services, sync_to_thread=False),
            "caller": Provide(provide_caller, sync_to_thread=False),
            "if_match": Provide(provide_if_match, sync_to_thread=False),
            "by": Provide(provide_changed_by, sync_to_thread=False),
        },
        exception_handlers=EXCEPTION_HANDLERS,
        request_max_body_size=MAX_BODY_BYTES,
        openapi_config=None,
        logging_config=None,  # app.logs has configured logging; Litestar would replace that with a queue and a thread
    )


def _services(state: State) -> Services:
    services: Services = state.services
    return services
