"""Where do the microseconds of one decision go?"""

import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import hiredis
import httptools
import msgspec

from app.http.api.authorize import read_call
from app.http.headers import AUTHORIZATION, raw_key_of, single_headers
from app.http.tool_calls import Reading
from app.http.views.decisions import DecisionView
from app.model.api_keys import digest_of
from app.model.decisions import Decision
from app.pdp import CompiledAgent, compile_agent, decide
from app.redaction.redactor import Redactor
from app.replica import Services
from app.settings import Settings
from bench.harness import stages
from bench.harness.bench import Bench, decisions, forget_entries
from bench.harness.captured_commits import commit_of, packed
from bench.harness.closed_loop import Call, load
from bench.harness.cores import moved_to
from bench.harness.open_loop import request_bytes
from bench.harness.population import Place, hot_call, hot_place, populate
from bench.harness.table import Row, Table

WHOLE = "the whole decision: the replica's CPU time"
CONNECTIONS = 32
SAMPLED, ALONE = "us in the service", "us timed alone"


def measure(bench: Bench) -> Table:
    """CPU time of a decision, split by samples of the busy replica; and stages timed alone, where possible."""
    with bench.running_store("cpu_breakdown") as store, bench.replica(store) as replica:
        place = hot_place(store.url)
        call, forget = hot_call(place), forget_entries(store, [place])
        target = decisions(replica, store, [call])
        load(target, CONNECTIONS, 1, bench.cores.others)
        whole = [load(target, CONNECTIONS, bench.seconds, bench.cores.others) for _ in range(bench.rounds)]
        forget()
        worker = replica.decider_pid()
        counts = _sampled_under_load(bench, worker, lambda: load(target, CONNECTIONS, 1, bench.cores.others))
        words, agent = commit_of(store, replica, call), populate(store.url, _compiled(place))
        with moved_to(bench.cores.service):
            alone = _timed_alone(agent, call, words)
    row = Row(label=WHOLE, samples=[{SAMPLED: sample["service us"], "share %": 100.0} for sample in whole])
    middle = row.median(SAMPLED) or 0.0
    rows = [row]
    for stage in (*stages.STAGES, stages.OTHER):
        share = counts[stage] / max(1, counts.total())
        values = {SAMPLED: middle * share, "share %": 100 * share}
        rows.append(Row(label=stage, samples=[values | ({ALONE: alone[stage]} if stage in alone else {})]))
    return Table(
        name="cpu_breakdown",
        question="where do the microseconds of one decision go?",
        command=bench.command,
        columns={SAMPLED: ".1f", "share %": ".1f", ALONE: ".1f"},
        rows=rows,
        baseline=WHOLE,
        compared=SAMPLED,
        first_column="Stage",
        left_out=[
            (
                f"`{SAMPLED}`: the replica's CPU time for a decision with {CONNECTIONS} connections, divided "
                f"according to "
                f"{counts.total():,} samples of py-spy, taken in a separate run because sampling slows it down. Kernel "
                f"time counts in the stage that called the kernel."
            ),
            (
                f"`{ALONE}`: the stage's functions called in a loop, with warm caches and nothing awaited. The "
                f"difference is what surrounds them in the service."
            ),
            "Waiting for the store takes no CPU time, so it is not included.",
        ],
    )


def _sampled_under_load(bench: Bench, pid: int, work: Callable[[], object]) -> Counter[str]:
    """Samples of the process while `work` is repeated."""
    stopped = threading.Event()

    def keep_busy() -> None:
        while not stopped.is_set():
            work()

    thread = threading.Thread(target=keep_busy, name="load")
    thread.start()
    try:
        return stages.sampled(pid, max(3.0, 2 * bench.seconds), bench.folder)
    finally:
        stopped.set()
        thread.join()


def _compiled(place: Place) -> Callable[[Services], Awaitable[CompiledAgent]]:
    async def make(services: Services) -> CompiledAgent:
        governed = await services.records.agents.load(place.workspace_id, place.agent_id)
        return compile_agent(
            governed.agent, governed.policies, services.decisions.redactor.is_secret, governed.shared_marks
        )

    return make


def _timed_alone(agent: CompiledAgent, call: Call, words: Sequence[bytes]) -> dict[str, float]:
    """CPU time of the stages that are plain functions, us each."""
    redactor = Redactor(Settings().redact.split(","))
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {call.raw_key}".encode())]
    raw, text = request_bytes(call), tuple(word.decode() for word in words)
    request = read_call(call.body, Reading(redactor, "w"))
    decision = Decision(
        "01a1fb8a-05e2-7b05-b053-73094e2029fb", decide(agent, request, 0).outcome, None, 217, 1_732_142_472_123_456
    )
    reply = packed([b"committed", decision.id.encode(), b"1732142472123456", b"217", b"0", b"0"])
    reader = hiredis.Reader(encoding="utf-8")
    only = frozenset({AUTHORIZATION})

    def read_reply() -> object:
        reader.feed(reply)
        return reader.gets()

    return {
        stages.PARSE: _us(lambda: httptools.HttpRequestParser(_Ignoring()).feed_data(raw)),
        stages.AUTHENTICATE: _us(lambda: digest_of(raw_key_of(single_headers(headers, only)[AUTHORIZATION]))),
        stages.DECODE: _us(lambda: read_call(call.body, Reading(redactor, "w"))),
        stages.DECIDE: _us(lambda: decide(agent, request, 0)),
        stages.PACK: _us(lambda: hiredis.pack_command(text)),  # type: ignore[arg-type]  # its stub knows one argument only
        stages.REPLY: _us(read_reply),
        stages.ENCODE: _us(lambda: msgspec.json.encode(DecisionView.of(decision))),
    }


class _Ignoring:
    """Ignores what the HTTP parser finds."""

    def on_url(self, url: bytes) -> None: ...

    def on_header(self, name: bytes, value: bytes) -> None: ...

    def on_headers_complete(self) -> None: ...

    def on_body(self, body: bytes) -> None: ...

    def on_message_complete(self) -> None: ...


def _us(act: Callable[[], object]) -> float:
    """CPU time of one call: the best of five runs, the one least disturbed by other processes."""
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for _ in range(5_000):
            act()
        best = min(best, (time.process_time() - began) / 5_000 * 1e6)
    return best
