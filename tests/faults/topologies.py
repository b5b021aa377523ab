"""Stores and replicas as deployments have them, made to be broken."""

import signal
import subprocess
import time
from pathlib import Path

import redis
from redis.cluster import RedisCluster
from servers import Store, free_port

SEALING_FAST = {"REMIT_AUDIT_SEGMENT_ENTRIES": "16", "REMIT_AUDIT_SEAL_AFTER_SECONDS": "1"}
"""So that a short run has segments, and the compactor is at work when something breaks."""


def until(claim, what: str, seconds: float = 30) -> None:
    """Return when `claim()` is true."""
    deadline = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > deadline:
            raise AssertionError(f"not so in {seconds} s: {what}")
        time.sleep(0.02)


class Node(Store):
    """One server of a cluster."""

    def __init__(self, binary: str, folder: Path) -> None:
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port", str(free_port()))
        super().__init__(binary, folder, *options, "--cluster-replica-validity-factor", "0")
        self.redis = redis.Redis(port=self.port, decode_responses=True)

    @property
    def id(self) -> str:
        return self.redis.execute_command("CLUSTER MYID")

    def stop(self) -> None:
        self.redis.close()
        self.kill()  # it may be frozen


class Cluster:
    """A Redis Cluster of three masters, with a replica each if `replicas` is 1."""

    def __init__(self, binary: str, redis_cli: str, folder: Path, replicas: int = 0) -> None:
        self.nodes = [Node(binary, folder / str(number)) for number in range(3 * (1 + replicas))]
        self.url = f"redis+cluster://127.0.0.1:{self.nodes[0].port}"
        addresses = [f"127.0.0.1:{node.port}" for node in self.nodes]
        command = [redis_cli, "--cluster", "create", *addresses, "--cluster-replicas", str(replicas), "--cluster-yes"]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            self.stop()
            raise RuntimeError(made.stdout + made.stderr)
        until(self.is_whole, "every node knows the whole cluster")
        self.redis = RedisCluster("127.0.0.1", self.nodes[0].port)

    def stop(self) -> None:
        for node in self.nodes:
            if node.process.poll() is None:
                node.stop()

    def is_whole(self) -> bool:
        return all(
            node.redis.execute_command("CLUSTER INFO")["cluster_state"] == "ok"
            for node in self.nodes
            if node.process.poll() is None
        )

    def masters(self) -> list[Node]:
        return [node for node in self.nodes if node.process.poll() is None and node.redis.role()[0] == "master"]

    def owner(self, slot: int) -> Node:
        """The master that has the slot now."""
        port = self.redis.nodes_manager.slots_cache[slot][0].port
        return next(node for node in self.nodes if node.port == port)

    def move(self, slot: int, to: Node, first: str, half_way=lambda: None) -> None:
        """The slot and all that is in it move to another master, key by key; `half_way` is called after the first."""
        source = self.owner(slot)
        to.redis.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        source.redis.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
        source.redis.execute_command("MIGRATE", "127.0.0.1", to.port, first, 0, 5000)
        half_way()
        while keys := source.redis.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 1):
            source.redis.execute_command("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS", *keys)
        for node in (to, source):
            node.redis.execute_command("CLUSTER", "SETSLOT", slot, "NODE", to.id)
        until(lambda: all(to.id in str(self.holder(node, slot)) for node in self.nodes), "every node knows the move")
        self.redis.nodes_manager.initialize()

    def bring_back(self, node: Node) -> None:
        """A node that was frozen or killed is a replica again, and knows all that its new master knows."""
        if node.process.poll() is None:
            node.process.send_signal(signal.SIGCONT)
        else:
            node.start()
        until(lambda: node.redis.role()[0] == "slave" and node.redis.role()[3] == "connected", "it is a replica")
        until(self.is_whole, "every node knows the whole cluster")
        self.redis.nodes_manager.initialize()

    def holder(self, node: Node, slot: int):
        """Who has the slot, as `node` sees it."""
        return [row for row in node.redis.execute_command("CLUSTER", "SLOTS") if row[0] <= slot <= row[1]]
