"""What a line of the log is indexed and counted by."""

import msgspec
from msgspec import Raw, Struct

_NO_SHADOW = Raw(b"null")


class _Typed(Struct):
    type: str


class IndexKeys(Struct, rename="camel"):
    """The values that a line is indexed and counted by, and whether it is a placeholder for an unreadable entry."""

    agent_id: str
    key_id: str
    action: str
    tool_name: str
    result: str | None
    policy_id: str | None
    rule: _Typed | None
    reason: str
    timestamp: str
    shadow: Raw = _NO_SHADOW
    code: str | None = None

    @property
    def rule_type(self) -> str | None:
        """The type of the rule that decided."""
        return None if self.rule is None else self.rule.type

    @property
    def shadow_policy(self) -> str | None:
        """The shadow policy that would have made a difference."""
        return shadow_policy_of(bytes(self.shadow))


class _Shadow(Struct, rename="camel"):
    policy_id: str


_keys = msgspec.json.Decoder(IndexKeys)
_shadow = msgspec.json.Decoder(_Shadow)


def index_keys_of(line: bytes) -> IndexKeys:
    return _keys.decode(line)


def shadow_policy_of(shadow: bytes) -> str | None:
    """The policy that an entry's field `shadow` names; None if it names none."""
    try:
        return _shadow.decode(shadow).policy_id
    except (ValueError, msgspec.DecodeError):
        return None
