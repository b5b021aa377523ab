"""Audit entries as API and console show them: as the log keeps them, and with the code that follows from them."""

import msgspec
from msgspec import Struct

from app.model.decision_codes import code_from
from app.model.decisions import Result, RuleRef


class _Decided(Struct, frozen=True):
    result: Result | None = None
    rule: RuleRef | None = None
    reason: str = ""


_decode = msgspec.json.Decoder(_Decided).decode


def with_code(line: bytes) -> bytes:
    """The line with the decision's `code` as its last field; as it is if it holds no decision.

    The code is not in the log, whose bytes the chain covers: it follows from what is.
    """
    decided = _decode(line)
    if decided.result is None:
        return line
    code = code_from(decided.result, None if decided.rule is None else decided.rule.type, decided.reason)
    return b'%b,"code":"%b"}' % (line[:-1], code.encode())
