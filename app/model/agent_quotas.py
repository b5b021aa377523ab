"""How full an agent's limits, budgets and denial breakers are."""

from msgspec import UNSET, Struct, UnsetType

from app.model.decisions import RuleRef
from app.model.explanations import ExplainedAgent, QuotaLevel, SeenValue
from app.model.fields import Count, DisplayName, Timestamp, Uuid
from app.model.quotas import Per
from app.model.rule import Effect

MOST_SHOWN = 20
"""The values of one rule that are shown: those whose buckets are fullest."""


class CountedValue(Struct, frozen=True, kw_only=True, rename="camel"):
    """How much of a limit with `per` is used up for one value, or for one combination of values.

    quota: How full its bucket is.
    values: The value of each name in `per`, from the log's entry of the agent's newest call that counted for it; null
    if that is redacted, shortened, or dropped by retention, and for keys that may not read the log.
    """

    quota: QuotaLevel
    values: list[SeenValue] | None


class CountedValues(Struct, frozen=True, kw_only=True, rename="camel"):
    """The values for which the agent's calls count under one rule.

    total: How many have something taken from their bucket at present.
    fullest: Those of which the largest share is taken, up to 20, the fullest first.
    """

    total: Count
    fullest: list[CountedValue]


class AgentQuota(Struct, frozen=True, kw_only=True, rename="camel"):
    """A rule that counts the agent's calls, and how full it is.

    policy_id: Its policy.
    policy_name: The policy's name.
    rule: The rule's place and type.
    effect: What happens to a call for which it has no room: the call is denied, or a person is asked.
    text: What it requires, in words.
    tools: Whose calls it counts.
    per: Of what it counts each value separately; left out unless the rule has it.
    quota: How full its bucket is; left out if it has one for each value.
    values: Its buckets; only if it has one for each value. `per: ["agent"]` alone has one bucket for an agent.
    """

    policy_id: Uuid
    policy_name: DisplayName
    rule: RuleRef
    effect: Effect
    text: str
    tools: list[str]
    per: Per | UnsetType = UNSET
    quota: QuotaLevel | UnsetType = UNSET
    values: CountedValues | UnsetType = UNSET


class AgentQuotas(Struct, frozen=True, kw_only=True, rename="camel"):
    """How full an agent's limits are.

    agent: The agent.
    at: When they began to be read, by the store's clock.
    quotas: Each limit, budget and denial breaker in force, in the order in which policies are evaluated.
    """

    agent: ExplainedAgent
    at: Timestamp
    quotas: list[AgentQuota]
