"""Lint warnings: a code for programs, a place, and a sentence that proposes a correction."""

from enum import StrEnum

from msgspec import Struct


class Code(StrEnum):
    """Kinds of warnings. Kinds may be added; their meanings do not change."""

    GRANTS_BY_RESTRICTION = "grants_by_restriction"
    GRANTS_BY_TRICK = "grants_by_trick"
    ALLOWS_EVERYTHING = "allows_everything"
    IRREVERSIBLE_UNASKED = "irreversible_unasked"
    SILENCES_BELOW = "silences_below"
    NEVER_DECIDES = "never_decides"
    ALLOWLISTS_DISJOINT = "allowlists_disjoint"
    ALLOWLIST_SHADOWS = "allowlist_shadows"
    REGEX_ON_PATH_OR_HOST = "regex_on_path_or_host"
    PATTERN_LETS_COMMANDS_JOIN = "pattern_lets_commands_join"
    REGEX_UNANCHORED = "regex_unanchored"
    MIN_MISSING = "min_missing"
    PREFIX_WITHOUT_ITS_NAME = "prefix_without_its_name"
    PATH_IN_OTHER_CASE = "path_in_other_case"
    STAR_IN_PATH = "star_in_path"
    WINDOW_NEVER_OPENS = "window_never_opens"
    HOURS_NOT_A_SPAN = "hours_not_a_span"
    SEQUENCE_NEVER_BEGINS = "sequence_never_begins"
    BREAKER_NEVER_FULL = "breaker_never_full"
    BREAKER_ON_FIRST_DENIAL = "breaker_on_first_denial"
    UNKNOWN_TOOL = "unknown_tool"
    UNKNOWN_PARAMETER = "unknown_parameter"
    FREE_BESIDE_REQUEST = "free_beside_request"
    NOT_IN_REQUESTS = "not_in_requests"
    NOBODY_CAN_APPROVE = "nobody_can_approve"
    GROUP_CANNOT_APPROVE = "group_cannot_approve"
    DESCRIPTIVE_IS_BOUND = "descriptive_is_bound"
    TOO_MUCH_TO_COMPARE = "too_much_to_compare"
    MANAGED_ELSEWHERE = "managed_elsewhere"


class PolicyWarning(Struct, frozen=True):
    """Something a policy does that its author may not have meant.

    code: For programs.
    path: Where: a JSON path below the policy, such as `$.rules[0].tools`.
    message: For people: what happens, and what would be right.
    """

    code: Code
    path: str
    message: str
