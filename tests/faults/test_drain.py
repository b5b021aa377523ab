"""A replica that stops under load answers every accepted request."""

import os
import signal

from serving import REPLICA, children_of, is_running
from topologies import until


def test_a_drain_also_answers_connections_that_wait_to_be_accepted(witness):
    """With a connection for every call: those that the kernel has accepted and the replica has not are served."""
    agent_id = witness.new_agent(max_calls=100)
    with witness.load(agent_id, count=16, keep_alive=False, pause_s=0) as load:
        for _ in range(3):
            load.after(100)
            witness.replica.stop()
            witness.replica.start()
        load.after(100)
    assert (load.wrong, load.refused, load.cut) == ([], [], [])
    witness.check()


def test_a_worker_that_is_stopped_alone_turns_nobody_away(witness):
    """Its successor takes over the socket, with the connections made in between."""
    agent_id = witness.new_agent(max_calls=100)
    with witness.load(agent_id, count=8, keep_alive=False, pause_s=0) as load:
        for _ in range(2):
            load.after(50)
            [worker] = [pid for pid, name in children_of(witness.replica.process.pid).items() if REPLICA in name]
            os.kill(worker, signal.SIGTERM)
            until(lambda pid=worker: not is_running(pid), "it has ended")
        load.after(50)
    assert (load.wrong, load.refused, load.cut) == ([], [], [])
    assert all(call.sends for call in load.calls)
    witness.check()
