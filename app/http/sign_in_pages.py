"""The pages of signing in with the identity provider, which need no script, and the answer that ends it."""

import html
import re
from collections.abc import Iterable

from litestar import Response
from litestar.datastructures import Cookie

from app.errors import AppError, ProviderUnavailable
from app.http.cookies import FLOW_COOKIE, flow_cookie, set_cookie
from app.model.sign_ins import SignIn

HTML = "text/html; charset=utf-8"
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
}
_WITH_A_FORM = {
    "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace("form-action 'none'", "form-action 'self'"),
    "Referrer-Policy": "same-origin",  # with `no-referrer`, the Origin of a form is `null`
}
_NO_FLOW = Cookie(FLOW_COOKIE, value="", max_age=0, secure=True, httponly=True, samesite="lax", path="/")
is_console_path = re.compile(r"/console(/[\w~-][\w.~-]*)*/?(\?[!-\"$-~]*)?", re.ASCII).fullmatch
"""No empty segment and none of dots: browsers would resolve them. After `?`, nothing leads elsewhere."""


def error_page(error: AppError, *, flow_ends: bool = True) -> Response[str]:
    """The sentence of an error as a page; what it quotes is text.

    flow_ends: the browser forgets what it was sent to the provider with.
    """
    body = _page(
        "Not signed in", f'<p>{html.escape(error.message)}</p><p><a href="/console">Back to the console</a></p>'
    )
    status = 503 if isinstance(error, ProviderUnavailable) else error.status
    forgets = {"Set-Cookie": flow_cookie("")} if flow_ends else {}
    return Response(body, status_code=status, media_type=HTML, headers=HEADERS | forgets)


def workspace_page(action: str, code: str, names: Iterable[str]) -> Response[str]:
    """A form with a button for each workspace. It works only with its code in the browser's cookie, too."""
    buttons = "".join(
        f'<p><button name="workspace" value="{html.escape(each)}">{html.escape(each)}</button></p>' for each in names
    )
    form = f'<form method="post" action="{action}"><input type="hidden" name="code" value="{code}">{buttons}</form>'
    body = _page("Choose a workspace", f"<p>You have access to several. A session is of one.</p>{form}")
    answer = Response(body, status_code=200, media_type=HTML, headers=HEADERS | _WITH_A_FORM)
    answer.headers["Set-Cookie"] = flow_cookie(code)
    return answer


def signed_in(session: SignIn, token: str, to: str) -> Response[str]:
    """The browser has the session's cookie, no longer that of the flow, and goes on to a path of the console."""
    where = {"Location": to if is_console_path(to) else "/console"}
    answer = Response("", status_code=303, media_type=HTML, headers=HEADERS | where, cookies=[_NO_FLOW])
    answer.headers["Set-Cookie"] = set_cookie(token, (session.ends_ms - session.created_ms) // 1000)
    return answer


def _page(title: str, body: str) -> str:
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Remit: {title}</title>'
    return f"{head}<h1>{title}</h1>{body}</html>"
