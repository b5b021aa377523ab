"""What does each part of a commit cost the store? Valgrind counts instructions, so load does not matter."""

import shutil

from bench.harness.bench import Bench
from bench.harness.captured_commits import StoreConnection, commit_of, packed
from bench.harness.peer_programs import PeerMissing
from bench.harness.population import HOT_RULES, PolicySketch, hot_call, make_place
from bench.harness.processes import Store, store_binaries
from bench.harness.table import Row, Table
from bench.instructions import control, counted_by, instructions_of

TOGETHER = 8
"""Commands that arrive in one read; on a busy replica, 8 to 32."""
CALLS = 960
COMMIT, SAME_WORDS = "the commit", "`return 1`, with the same keys and arguments"
_NAMES = (
    "local call = redis.call\nlocal key, agent, commits, stream, quota = unpack(KEYS, 1, 5)\n"
    "local a, b, id, action, parameters, context, reason, tool = unpack(ARGV, 1, 8)\n"
)
PARTS = {
    "names for them": "",
    "TIME": "call('TIME')",
    "HMGET of the key's record": "call('HMGET', key, 'created_ms', 'expires_ms', 'last_used_ms')",
    "HMGET of the workspace's commits": "call('HMGET', commits, 'sequence', 'time_us', 'skew_us', 'workspace', 'x')",
    "HGET of the agent's version": "call('HGET', agent, 'version')",
    "LINDEX of the quota": "call('LINDEX', quota, '999999')",
    "HSET of the workspace's commits": "call('HSET', commits, 'sequence', '123456', 'time_us', '1732142472123456')",
    "LPUSH to the quota": "call('LPUSH', quota, '1732142472123456')",
    "PEXPIREAT of the quota": "call('PEXPIREAT', quota, '8032142472123')",
    "two of string.format": "local x, y = string.format('%d', 217 + #id), string.format('%d', 123456 + #id)",
    "a reply of six values": "do return {'committed', id, '1732142472123456', 217, 0, 0} end",
    "a reply of one string": "do return id end",
}
"""What the script does, each alone after `_NAMES`."""


def measure(bench: Bench) -> Table:
    """The commit of the hot call, scripts that do nothing, and scripts that do one thing. Raises PeerMissing."""
    if shutil.which("valgrind") is None:
        raise PeerMissing("valgrind is missing; it is packaged: apt-get install -y valgrind")
    counts = bench.folder / "counts-parts"
    counts.mkdir()
    rows = []
    binary = store_binaries()[bench.store]
    with Store(binary, bench.folder / "parts", bench.cores.others, wrapper=counted_by(counts)) as store:
        place = make_place(store.url, "hot", [PolicySketch(HOT_RULES)])
        with bench.replica(store, REMIT_STORE_TIMEOUT_MS="10000") as replica:
            words = commit_of(store, replica, hot_call(place))
        with StoreConnection(store) as connection:

            def evalsha(script: str) -> list[bytes]:
                return [b"EVALSHA", connection.call(b"SCRIPT", b"LOAD", b"#!lua\n" + script.encode())]

            def counted(command: list[bytes]) -> float:
                def send(times: int) -> None:
                    for _ in range(times // TOGETHER):
                        connection.send(packed(command) * TOGETHER)
                        for _ in range(TOGETHER):
                            connection.reply()

                send(16 * TOGETHER)
                control(counts, "--instr=on", store.pid)
                send(CALLS)
                control(counts, "--instr=off", store.pid)
                return instructions_of(counts, store.pid) / CALLS

            one = evalsha("return 1")
            commands = {
                COMMIT: words,
                SAME_WORDS: [*one, *words[2:]],
                "`return 1`, with the same bytes as one key and one argument": [
                    *one,
                    b"1",
                    words[3],
                    b" ".join(words[4:]),
                ],
                "`return 1`, without keys and arguments": [*one, b"0"],
            }
            for part, script in PARTS.items():
                commands[f"the same words, and {part}"] = [*evalsha(f"{_NAMES}{script}\nreturn 1"), *words[2:]]
            for label, command in commands.items():
                rows.append(Row(label=label, samples=[{"store instructions": counted(command)}]))
    return Table(
        name="store_parts",
        question="what does each part of a commit cost the store?",
        command=bench.command,
        columns={"store instructions": ",.0f"},
        rows=rows,
        baseline=SAME_WORDS,
        compared="store instructions",
        first_column="Script",
        left_out=["Not counted: work in the kernel.", f"{TOGETHER} commands arrive in one read."],
    )
