"""A Slack app in which people decide: what Slack sends is verified, who presses a button is looked up, and answered."""

import hmac
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from app.errors import ProviderUnavailable, Unauthorized
from app.model.sign_ins import is_address
from app.outgoing_http import Unanswered
from app.redaction.signer import Purpose, Signer
from app.settings import Settings
from app.webhooks.destinations import PermittedRequests, Refused

WINDOW_S = 300
"""The greatest difference between Slack's time and this machine's: an older request may be a repeated one."""
_SECONDS, _ANSWER_BYTES = 5.0, 256 * 1024
REVIEW, APPROVE, DENY = "remit_review", "remit_approve", "remit_deny"
_JSON = ("Content-Type", "application/json")
_FORM = ("Content-Type", "application/x-www-form-urlencoded")


class Pressed(NamedTuple):
    """A button that somebody has pressed. action: REVIEW, APPROVE or DENY. value: of the button, as it was sealed.

    user, team, enterprise: ids of who pressed it, of their Slack workspace, and of the organisation above it or "".
    answer_url: where Slack takes an answer that only they see.
    """

    action: str
    value: str
    user: str
    team: str
    enterprise: str
    answer_url: str


class SlackApp:
    """The app of a deployment; its signing secret and its bot's token are settings, as the identity provider's are.

    An admin of a workspace must not have them: with the signing secret, anybody's verdict could be written.
    """

    def __init__(
        self, settings: Settings, signer: Signer, requests: PermittedRequests, now_s: Callable[[], float] = time.time
    ) -> None:
        self._secret = (settings.slack_signing_secret or "").encode()
        self._token = settings.slack_bot_token or ""
        self._api = settings.slack_api.rstrip("/")
        self._signer = signer
        self._requests = requests
        self._now_s = now_s

    def require_signed(self, timestamp: str, signature: str, body: bytes) -> None:
        """Raise Unauthorized unless Slack signed the request, within the last five minutes."""
        if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= len("1" * 12)):
            raise Unauthorized("X-Slack-Request-Timestamp must be a number of seconds")
        wanted = f"v0={hmac.digest(self._secret, b'v0:' + timestamp.encode() + b':' + body, 'sha256').hex()}"
        if not hmac.compare_digest(wanted.encode(), signature.encode()):
            raise Unauthorized("X-Slack-Signature is not this request's, by the signing secret of the app")
        if abs(self._now_s() - int(timestamp)) > WINDOW_S:
            raise Unauthorized(f"The request is not of the last {WINDOW_S} seconds, by this machine's clock")

    def review_value(self, workspace_id: str, approval_id: str) -> str:
        """What the button of a message to a channel carries: it shows the call to whoever presses it, and decides
        nothing.
        """
        return self._sealed("review", workspace_id, approval_id)

    def decide_value(self, workspace_id: str, approval_id: str, version: int, user: str) -> str:
        """What the buttons under a call carry that was shown to one user: they decide this version, for them alone."""
        return self._sealed(f"decide {user} {version}", workspace_id, approval_id)

    def reviewed(self, value: str) -> tuple[str, str]:
        """Workspace and approval of such a value. Raises Unauthorized if this service did not write it."""
        _, workspace_id, approval_id = self._opened("review", value)
        return workspace_id, approval_id

    def decided(self, value: str, user: str) -> tuple[str, str, int]:
        """Workspace, approval and version of such a value. Raises Unauthorized if it was not written for this user."""
        written, workspace_id, approval_id = self._opened(f"decide {user} ", value)
        return workspace_id, approval_id, int(written.rpartition(" ")[2])

    async def address_of(self, workspace_id: str, pressed: Pressed) -> str:
        """The confirmed mail address of who pressed a button. Raises Unauthorized if Slack vouches for none, and
        ProviderUnavailable.
        """
        url = f"{self._api}/users.info"
        form = urlencode({"user": pressed.user}).encode()
        answer = await self._posted(workspace_id, url, form, _FORM, ("Authorization", f"Bearer {self._token}"))
        try:
            told = msgspec.json.decode(answer, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            raise ProviderUnavailable("Slack answered something other than a JSON object") from None
        user = told.get("user")
        if told.get("ok") is not True or not isinstance(user, dict):
            raise ProviderUnavailable("Slack does not say who you are; has the app the scope users:read.email?")
        profile = user.get("profile")
        address = profile.get("email") if isinstance(profile, dict) else None
        if not (_is_member(user, pressed) and isinstance(address, str) and is_address(address)):
            raise Unauthorized("Slack vouches for no mail address of yours as a member of this Slack workspace")
        return address.lower()

    async def answer(self, workspace_id: str, url: str, message: dict[str, Any]) -> None:
        """Show a message only to who pressed the button. Raises ProviderUnavailable."""
        await self._posted(workspace_id, url, json.dumps(message).encode(), _JSON)

    async def _posted(self, workspace_id: str, url: str, content: bytes, *headers: tuple[str, str]) -> bytes:
        try:
            answer = await self._requests.post(
                workspace_id, url, headers, content, seconds=_SECONDS, most=_ANSWER_BYTES
            )
        except (Refused, Unanswered) as failure:
            raise ProviderUnavailable(f"Slack cannot be reached: {failure}") from None
        if answer.status != 200:  # noqa: PLR2004 - OK
            raise ProviderUnavailable(f"Slack answered {answer.status}")
        return answer.body

    def _sealed(self, *parts: str) -> str:
        written = " ".join(parts)
        return f"{written} {self._signer.mac(Purpose.SLACK, written.encode())}"

    def _opened(self, begins: str, value: str) -> tuple[str, str, str]:
        """What a value says before workspace and approval, and these. Raises Unauthorized."""
        written, _, mac = value.rpartition(" ")
        wanted = self._signer.macs(Purpose.SLACK, written.encode())
        if not (
            written.startswith(begins) and any(hmac.compare_digest(mac.encode(), each.encode()) for each in wanted)
        ):
            raise Unauthorized("This button is not one that Remit gave you; press the one under the newest message")
        said, workspace_id, approval_id = written.rsplit(" ", 2)
        return said, workspace_id, approval_id


def slack_app(settings: Settings, signer: Signer, requests: PermittedRequests) -> SlackApp | None:
    """The app of the settings; None if there is none."""
    return None if settings.slack_signing_secret is None else SlackApp(settings, signer, requests)


def pressed_in(payload: dict[str, Any]) -> Pressed | None:
    """The button of ours that the payload of an interaction tells of; None if it tells of something else."""
    actions, user, team = payload.get("actions"), payload.get("user"), payload.get("team")
    if payload.get("type") != "block_actions" or not (isinstance(actions, list) and actions):
        return None
    action, enterprise = actions[0], payload.get("enterprise")
    if not (isinstance(action, dict) and isinstance(user, dict) and isinstance(team, dict)):
        return None
    above = enterprise.get("id") if isinstance(enterprise, dict) else ""
    said = (action.get("action_id"), action.get("value"), user.get("id"), team.get("id"), above)
    texts = (*said, payload.get("response_url"))
    if not all(isinstance(each, str) for each in texts):
        return None
    name, *others = map(str, texts)
    kind = REVIEW if name.startswith(REVIEW) else name
    return Pressed(kind, *others) if kind in (REVIEW, APPROVE, DENY) else None


def _is_member(user: dict[str, Any], pressed: Pressed) -> bool:
    """True for a member of the Slack workspace, or of its organisation: no bot and no guest, and nobody whose address
    Slack says is not confirmed.
    """
    strange = ("deleted", "is_bot", "is_stranger", "is_restricted", "is_ultra_restricted")
    if user.get("id") != pressed.user or any(user.get(each) for each in strange):
        return False
    above = user.get("enterprise_user")
    is_of_organisation = (
        bool(pressed.enterprise) and isinstance(above, dict) and (above.get("enterprise_id") == pressed.enterprise)
    )
    return (user.get("team_id") == pressed.team or is_of_organisation) and user.get("is_email_confirmed") is not False
