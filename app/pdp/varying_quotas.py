"""Limits whose bucket or amount depends on the call: what this call takes, or why that cannot be determined."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from app.canonical.ambiguous import Ambiguous
from app.canonical.value_paths import EACH, ValuePath
from app.model.decisions import AuthorizeRequest, Outcome, Quota
from app.model.quotas import MAX_AMOUNT, MICRO, Budget, RateLimit, micros_of
from app.pdp.relations import NOTHING

Json = dict[str, Any]
_Reader = Callable[[AuthorizeRequest, str], Any]
_MAX_MICROS = MAX_AMOUNT * MICRO
_encode = msgspec.json.encode


class _Unreadable(ValueError):
    """The call does not state the value, or not in a countable form; the message is the reason."""


class VaryingQuota(Struct, frozen=True):
    """A rate limit or budget whose bucket or amount depends on the call.

    quota: the part common to all calls. amount: reads the millionths. per: read the values that select the bucket.
    """

    quota: Quota
    amount: Callable[[Json], int] | None
    per: tuple[_Reader, ...]

    @property
    def when_full(self) -> Outcome:
        return self.quota.when_full

    def of(self, request: AuthorizeRequest, key_id: str) -> Quota | None:
        """What the call takes; None if that cannot be determined, which fails the rule."""
        held = self.quota
        try:
            bucket = _digest([read(request, key_id) for read in self.per]) if self.per else ""
            amount = None if self.amount is None else self.amount(request.parameters)
        except _Unreadable:
            return None
        return Quota(
            held.policy_id, held.fingerprint, held.max_calls, held.window_us, held.when_full, amount, bucket,
            held.refundable,
        )  # fmt: skip

    def shared(self, agent_id: str, tool: str) -> Quota:
        """The bucket that all calls of the tool by this agent share, if `per` names nothing but those two.

        What a call takes from a budget is not known here and is given as 0.
        """
        request = AuthorizeRequest(agent_id, tool, "", {}, b"")
        bucket = _digest([read(request, "") for read in self.per]) if self.per else ""
        return replace(self.quota, bucket=bucket, amount=None if self.amount is None else 0)

    def failed(self, parameters: Json, context: Json) -> str | None:
        """Why the call fails the rule before anything is counted; None if it does not."""
        request = AuthorizeRequest("", "", "", parameters, b"", context=context)
        try:
            for read in self.per:
                read(request, "")
            if self.amount is not None:
                self.amount(parameters)
        except _Unreadable as reason:
            return str(reason)
        return None


def varying_quota(quota: Quota, limit: RateLimit | Budget) -> Quota | VaryingQuota:
    """The quota of a rule with a bucket for each value, or with an amount."""
    per = () if limit.per is UNSET else tuple(map(_reader, limit.per))
    if isinstance(limit, Budget):
        return VaryingQuota(quota, _amount_of(limit.parameter), per)
    return VaryingQuota(quota, None, per) if per else quota


def _reader(name: str) -> _Reader:
    match name:
        case "tool":
            return lambda request, _: request.tool_name
        case "key":
            return lambda _, key_id: key_id
        case "agent":
            return lambda request, _: request.agent_id
    holder, _, rest = name.partition(".")
    path = ValuePath(rest)

    def read(request: AuthorizeRequest, _: str) -> Any:
        found = _values(path, request.parameters if holder == "parameters" else request.context or NOTHING, name)
        if len(found) != 1 or found[0] is None or type(found[0]) in (dict, list):
            raise _Unreadable(f'"{name}" must be one text, number or boolean: the limit is for each value of it')
        value = found[0]
        # JSON has one type of number.
        return int(value) if type(value) is float and value.is_integer() else value

    return read


def _amount_of(name: str) -> Callable[[Json], int]:
    path = ValuePath(name)
    many = EACH in name

    def amount(parameters: Json) -> int:
        found = _values(path, parameters, name)
        if not many and len(found) != 1:
            raise _Unreadable(f'Parameter "{name}" can mean {len(found)} values, and a budget is for one')
        total = sum(map(one, found))
        if total > _MAX_MICROS:
            raise _Unreadable(f'Parameter "{name}" is more than {MAX_AMOUNT}')
        return total

    def one(value: Any) -> int:
        if type(value) not in (int, float) or not 0 <= value <= MAX_AMOUNT:
            raise _Unreadable(f'Parameter "{name}" must be a number from 0 to {MAX_AMOUNT}')
        micros = micros_of(value)
        if micros is None:
            raise _Unreadable(f'Parameter "{name}" has more than six decimal places')
        return micros

    return amount


def _values(path: ValuePath, holder: Json, name: str) -> Sequence[Any]:
    try:
        found, missing = path.find(holder)
    except Ambiguous as reason:
        raise _Unreadable(f'"{name}" cannot be told: it {reason}') from None
    if missing:
        raise _Unreadable(f'"{name}" is missing')
    return found


def _digest(values: Sequence[Any]) -> str:
    return hashlib.sha256(_encode(values)).hexdigest()[:32]
