"""`pinned_request`: the user's request of a call must be the one that was pinned for its session."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.model.constraints import REQUEST
from app.model.decisions import AuthorizeRequest, Outcome
from app.model.pinned_requests import PIN_SECONDS_MAX
from app.model.plans import RememberedCheck, Target
from app.model.rules import PinnedRequest
from app.pdp.constraints import IsSecret
from app.pdp.operands import NOTHING
from app.pdp.rules.rule_type import Demands, Macs, PlacedRule, RuleType
from app.pdp.rules.sequence import session_of

_NOT_PINNED = "context.request is not the request that was pinned for context.session"
_WITHIN_MS = PIN_SECONDS_MAX * 1000
_NO_SESSION = "none"


class PinCheck(Struct, frozen=True):
    """The part of the look-up that is common to all calls."""

    check: RememberedCheck
    macs: Macs

    @property
    def when_full(self) -> Outcome:
        return self.check.when_full

    def of(self, request: AuthorizeRequest, _key_id: str, _now_us: int) -> RememberedCheck:
        """The look-up for the call; it is full if the call names no session or gives no request."""
        context = request.context or NOTHING
        text: Any = context.get(REQUEST)
        macs = pin_macs(text, self.macs) if type(text) is str else ()
        session = session_of(context) or _NO_SESSION
        return replace(self.check, targets=(Target("", _WITHIN_MS, macs),), pinned_for=session)


class PinnedRequestType(RuleType[PinnedRequest]):
    def compile(self, placed: PlacedRule[PinnedRequest]) -> Demands:
        failed = placed.failure(_NOT_PINNED)
        check = RememberedCheck(placed.policy.id, "", placed.ref, _WITHIN_MS * 1000, failed)
        return Demands(quotas=(PinCheck(check, placed.macs),))

    def words(self, rule: PinnedRequest, is_secret: IsSecret) -> Iterator[str]:
        yield "only with the request that was pinned for the session"


def pin_macs(text: str, macs: Macs) -> tuple[str, ...]:
    """The MACs by which a request is pinned."""
    return macs(msgspec.json.encode([text]))
