"""Question: what would it give to spread one workspace over several masters, and what would shared counts cost?

A simulation, of a design that is not built (docs/decisions/0019-a-workspace-larger-than-a-shard.md): each agent's
keys are on a master, and a count that several agents share is on one. A plain call is one commit on its agent's
master. A call that fills a shared count first reserves its place there, a second command on a second master. Masters
are queues with one server. Run with
`python -m bench.larger_workspace`; it needs no service.
"""

import heapq
import random
from collections.abc import Sequence

from msgspec import Struct

COMMIT_US, RESERVE_US = 20.0, 9.0
"""Of a master's CPU: a commit in a cluster, as measured; a reservation, assumed to be a little less than half of it."""
NETWORK_US = 120.0
CALLS, WARM = 200_000, 20_000


class Spread(Struct, frozen=True):
    """What was found: calls a second at which the busiest master is busy all the time, and what one waits below that.

    busiest: its share of all the CPU time. p50_us, p99_us: at `load` of that rate.
    """

    most_per_s: float
    busiest: float
    p50_us: float
    p99_us: float


def simulate(masters: int, shared: float, skew: float, agents: int = 1_000, load: float = 0.6, seed: int = 1) -> Spread:
    """One workspace's calls over `masters`.

    shared: the part of the calls that fill the one shared count. skew: agent n asks n^-skew times as often as the
    first; 0 = all alike.
    """
    draw = random.Random(seed)
    homes = [draw.randrange(masters) for _ in range(agents)]
    asking = draw.choices(range(agents), [(n + 1) ** -skew for n in range(agents)], k=CALLS)
    works = [
        [(0, RESERVE_US), (homes[each], COMMIT_US)] if draw.random() < shared else [(homes[each], COMMIT_US)]
        for each in asking
    ]
    used = dict.fromkeys(range(masters), 0.0)
    for work in works:
        for master, cost in work:
            used[master] += cost
    most = CALLS / max(used.values())
    waited = _waits(draw, works, most * load, masters)
    return Spread(
        most * 1e6, max(used.values()) / sum(used.values()), waited[len(waited) // 2], waited[len(waited) * 99 // 100]
    )


def _waits(draw: random.Random, works: Sequence[Sequence[tuple[int, float]]], rate: float, masters: int) -> list[float]:
    """What each call waits, in µs, sorted. Arrivals are Poisson; a second command follows the first's answer."""
    at, free, waited = 0.0, [0.0] * masters, list[float]()
    arrivals = list[tuple[float, int, int, float, Sequence[tuple[int, float]]]]()
    for number, work in enumerate(works):
        at += draw.expovariate(rate)
        arrivals.append((at, number, 0, at, work))
    # By time of arrival at a master: those of second commands are known once the first is done.
    later = list[tuple[float, int, int, float, Sequence[tuple[int, float]]]]()
    index = 0
    while index < len(arrivals) or later:
        if later and (index == len(arrivals) or later[0][0] <= arrivals[index][0]):
            now, number, step, began, work = heapq.heappop(later)
        else:
            now, number, step, began, work = arrivals[index]
            index += 1
        master, cost = work[step]
        free[master] = max(free[master], now) + cost
        answered = free[master] + NETWORK_US
        if step + 1 < len(work):
            heapq.heappush(later, (answered, number, step + 1, began, work))
        elif number >= WARM:
            waited.append(answered - began)
    return sorted(waited)


def main() -> None:
    """Print the table."""
    print("| Masters | Shared calls | Agents ask | Most calls a second | Busiest master | p50 | p99 |")
    print("|---:|---:|---|---:|---:|---:|---:|")
    for skew, how in ((0.0, "all alike"), (1.0, "as 1, ½, ⅓ …")):
        for masters in (1, 2, 4, 8):
            for shared in (0.0, 0.1, 0.5, 1.0):
                if masters == 1 and shared:
                    continue
                found = simulate(masters, shared, skew)
                print(
                    f"| {masters} | {shared:.0%} | {how} | {found.most_per_s:,.0f} | {found.busiest:.0%} "
                    f"| {found.p50_us:.0f} µs | {found.p99_us:.0f} µs |"
                )


if __name__ == "__main__":
    main()
