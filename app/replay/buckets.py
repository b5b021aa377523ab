"""The contents of rate limits and budgets during a replay: counted as in `commit_decision`, by the log's own times.

The log keeps times in whole milliseconds, and some entries cannot be judged. So each bucket tracks what was certainly
taken from it and what may have been taken in addition, and says whether it has room: yes, no or unknown.
"""

from collections import deque
from collections.abc import Collection, Iterable

from app.model.outcomes import REPORT_MS
from app.model.plans import Quota
from app.model.quotas import MAX_LIVE
from app.replay.spans import Room, Timeline

_US_PER_MS = 1000
_TOTALS = 1 << 60
"""More than the amount of any budget."""

_Rule = tuple[str, str]
_Name = tuple[str, str, str]
_SWEEP = 50_000


class _Takes:
    """The takes from a bucket, oldest first: quota time and amount."""

    __slots__ = ("takes", "total")

    def __init__(self) -> None:
        self.takes: deque[tuple[int, int]] = deque()
        self.total = 0

    def add(self, now_ms: int, amount: int, *, joins: bool = False) -> None:
        """Add what was taken. joins: True if amounts of one time are one."""
        before = self.takes.pop()[1] if joins and self.takes and self.takes[-1][0] == now_ms else 0
        self.takes.append((now_ms, before + amount))
        self.total += amount

    def give_back(self, taken_ms: int, amount: int) -> None:
        """Remove what was taken at this time, unless it is gone already."""
        if (taken_ms, amount) in self.takes:
            self.takes.remove((taken_ms, amount))
            self.total -= amount

    def forget(self, gone_ms: int) -> None:
        """Drop what was taken before this time."""
        takes = self.takes
        while takes and takes[0][0] < gone_ms:
            self.total -= takes.popleft()[1]

    def doubtful(self, until_ms: int) -> tuple[int, int]:
        """The number and sum of the takes up to this time, which may or may not have left the window."""
        count = amount = 0
        for taken_ms, taken in self.takes:
            if taken_ms > until_ms:
                break
            count += 1
            amount += taken
        return count, amount


class _Bucket:
    """The takes from a bucket: the certain ones, and the possible ones."""

    __slots__ = ("certain", "possible")

    def __init__(self) -> None:
        self.certain = _Takes()
        self.possible = _Takes()


class Buckets:
    """The buckets of all rules, by policy, fingerprint and value."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.by_value: dict[_Name, _Bucket] = {}
        self.unnamed: dict[_Rule, _Takes] = {}
        self.live: dict[tuple[str, str, str], dict[str, int]] = {}
        self.in_doubt: set[_Rule] = set()
        self.refundable: dict[str, list[tuple[_Name, int, int]]] = {}

    def room(self, quota: Quota, agent_id: str) -> Room:
        """The quota's room for this call now."""
        if quota.amount is not None and quota.amount > quota.max_calls:
            return Room.NO
        crowd = self._crowd(quota, agent_id) if quota.bucket else Room.YES
        if crowd is Room.CROWDED:
            return crowd
        room = self._room(quota)
        return room if crowd is Room.YES or room is Room.NO else crowd

    def take(self, quotas: Iterable[Quota], agent_id: str, decision_id: str, *, certain: bool = True) -> None:
        """Count the call in each quota. certain: False if it may not have been counted."""
        now_ms = self._timeline.now_ms
        for quota in quotas:
            amount = 1 if quota.amount is None else quota.amount
            if quota.bucket:
                if not certain:
                    self.in_doubt.add((quota.policy_id, quota.fingerprint))
                live = self.live.setdefault((quota.policy_id, quota.fingerprint, agent_id), {})
                live[quota.bucket] = now_ms + quota.window_us // _US_PER_MS
            if amount == 0:
                continue
            bucket = self._bucket(quota)
            counted_ms = quota.counted_us // _US_PER_MS if quota.counted_us else now_ms
            takes = bucket.certain if certain else bucket.possible
            takes.add(counted_ms, amount, joins=quota.counted_us > 0 and quota.amount is not None)
            if quota.refundable:
                name = (quota.policy_id, quota.fingerprint, quota.bucket)
                self._remembered(decision_id).append((name, now_ms, amount))

    def give_back(self, decision_id: str) -> None:
        """Count the call no longer in limits that are refundable: it was reported as not executed."""
        for name, taken_ms, amount in self.refundable.pop(decision_id, ()):
            if (bucket := self.by_value.get(name)) is not None:
                bucket.certain.give_back(taken_ms, amount)
                bucket.possible.give_back(taken_ms, amount)

    def _remembered(self, decision_id: str) -> list[tuple[_Name, int, int]]:
        """What the call took from refundable limits; calls that can no longer be reported are forgotten."""
        too_late_ms = self._timeline.now_ms - REPORT_MS - self._timeline.slack_ms
        while self.refundable and next(iter(self.refundable.values()))[0][1] < too_late_ms:
            del self.refundable[next(iter(self.refundable))]
        return self.refundable.setdefault(decision_id, [])

    def take_unnamed(self, rule: _Rule) -> None:
        """Note that a call may have taken an unknown amount from an unknown bucket of this rule."""
        self.unnamed.setdefault(rule, _Takes()).add(self._timeline.now_ms, _TOTALS)

    def replace_with(self, other: "Buckets", without: Collection[_Rule]) -> None:
        """Replace all buckets with the other's, except those of the rules in `without`."""
        for mine, theirs in ((self.by_value, other.by_value), (self.live, other.live)):
            for name in [each for each in mine if each[:2] not in without]:
                del mine[name]
            mine.update((name, content) for name, content in theirs.items() if name[:2] not in without)  # type: ignore[misc]
        for rule in [each for each in self.unnamed if each not in without]:
            del self.unnamed[rule]
        self.unnamed.update((rule, content) for rule, content in other.unnamed.items() if rule not in without)
        self.in_doubt |= other.in_doubt
        for decision_id in {*self.refundable, *other.refundable}:
            left = [each for each in self.refundable.get(decision_id, ()) if each[0][:2] in without]
            left += [each for each in other.refundable.get(decision_id, ()) if each[0][:2] not in without]
            if left:
                self.refundable[decision_id] = left
            else:
                self.refundable.pop(decision_id, None)

    def drop(self, rule: _Rule) -> None:
        """Drop the bucket of a rule that its policy no longer has; buckets of single values expire by themselves."""
        self.by_value.pop((*rule, ""), None)

    def _room(self, quota: Quota) -> Room:
        timeline = self._timeline
        window_ms = quota.window_us // _US_PER_MS
        # A take exactly one window ago no longer counts, but in whole milliseconds it looks like one just after.
        gone_ms = timeline.now_ms - window_ms - timeline.slack_ms
        bucket = self.by_value.get((quota.policy_id, quota.fingerprint, quota.bucket))
        unnamed = self.unnamed.get((quota.policy_id, quota.fingerprint)) if self.unnamed else None
        if unnamed is not None:
            unnamed.forget(gone_ms)
        if bucket is None:
            return Room.YES if unnamed is None or not unnamed.takes or quota.amount == 0 else Room.UNKNOWN
        bucket.certain.forget(gone_ms)
        bucket.possible.forget(gone_ms)
        certain, possible = bucket.certain, bucket.possible
        takes, limit = (1, quota.max_calls) if quota.amount is None else (quota.amount, quota.max_calls)
        most = certain.total + possible.total + (unnamed.total if unnamed is not None else 0)
        entries = len(certain.takes) + len(possible.takes)
        if quota.amount == 0 and most <= limit:
            return Room.YES
        if most + takes <= limit and (quota.amount is None or entries < MAX_LIVE):
            return Room.YES
        count, doubtful = certain.doubtful(timeline.now_ms - window_ms + timeline.slack_ms)
        if certain.total - doubtful + takes > limit:
            return Room.NO
        if quota.amount and len(certain.takes) - count >= MAX_LIVE:
            return Room.NO
        return Room.UNKNOWN

    def _crowd(self, quota: Quota, agent_id: str) -> Room:
        """CROWDED if the agent may have no further bucket in use under the rule."""
        live = self.live.get((quota.policy_id, quota.fingerprint, agent_id))
        if live is None or len(live) < MAX_LIVE:
            return Room.YES
        now_ms, slack_ms = self._timeline.now_ms, self._timeline.slack_ms
        if live.get(quota.bucket, 0) > now_ms + slack_ms:
            return Room.YES
        for name in [name for name, until_ms in live.items() if until_ms < now_ms - slack_ms]:
            del live[name]
        if len(live) < MAX_LIVE:
            return Room.YES
        certain = sum(until_ms > now_ms + slack_ms for until_ms in live.values())
        is_known = quota.bucket not in live and (quota.policy_id, quota.fingerprint) not in self.in_doubt
        return Room.CROWDED if certain >= MAX_LIVE and is_known else Room.UNKNOWN

    def _bucket(self, quota: Quota) -> _Bucket:
        name = (quota.policy_id, quota.fingerprint, quota.bucket)
        bucket = self.by_value.get(name)
        if bucket is None:
            if len(self.by_value) >= _SWEEP and len(self.by_value) % _SWEEP == 0:
                self._sweep()
            bucket = self.by_value[name] = _Bucket()
        return bucket

    def _sweep(self) -> None:
        """Drop buckets of values in which nothing counts any more; no window of theirs is longer than 31 days."""
        gone_ms = self._timeline.now_ms - 2_678_400_000 - self._timeline.slack_ms
        for name, bucket in [(name, bucket) for name, bucket in self.by_value.items() if name[2]]:
            bucket.certain.forget(gone_ms)
            bucket.possible.forget(gone_ms)
            if not bucket.certain.takes and not bucket.possible.takes:
                del self.by_value[name]
