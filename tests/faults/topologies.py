"""Stores and replicas as in real deployments, made to be broken."""

import contextlib
import signal
import subprocess
from pathlib import Path

import redis
from redis.cluster import RedisCluster
from servers import Store, free_port, until, wait_for_port
from shipped_store import FOLLOWING, OF_THE_CLIENT_LIBRARY, PASSWORD, ShippedStore

SEALING_FAST = {"REMIT_AUDIT_SEGMENT_ENTRIES": "16", "REMIT_AUDIT_SEAL_AFTER_SECONDS": "1"}
"""Small, so that a short run has segments and the compactor is busy when something breaks."""
SERVICE = "remit"
CALM_MS, ALERT_MS = 10_000, 1_000
"""After how much silence a master is failed over: while it only waits for a core, and once a test has killed it."""


class Node(Store):
    """One server of a cluster. Others give it up if it is silent for five seconds; see `Cluster.losing`."""

    def __init__(self, binary: str, folder: Path) -> None:
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--cluster-port", str(free_port()))
        options += ("--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0")
        super().__init__(binary, folder, *options)
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

    def replica_of(self, master: Node) -> Node:
        """The node that replicates the master."""
        return next(
            node for node in self.nodes if node.process.poll() is None and node.redis.role()[2:3] == [master.port]
        )

    def move(self, slot: int, to: Node, first: str, half_way=lambda: None) -> None:
        """Move the slot to another master, key by key; `half_way` is called after the first key."""
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

    @contextlib.contextmanager
    def losing(self, node: Node):
        """The others soon replace a node that is frozen or killed in this context; then it is back, as a replica."""
        for each in self.nodes:
            each.redis.config_set("cluster-node-timeout", 3000)
        try:
            yield
        finally:
            if node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)
            else:
                node.start()
        until(lambda: node.redis.role()[0] == "slave" and node.redis.role()[3] == "connected", "it is a replica")
        until(self.is_whole, "every node knows the whole cluster")
        self.redis.nodes_manager.initialize()
        for each in self.nodes:
            each.redis.config_set("cluster-node-timeout", 5000)

    def holder(self, node: Node, slot: int):
        """Who has the slot, as `node` sees it."""
        return [row for row in node.redis.execute_command("CLUSTER", "SLOTS") if row[0] <= slot <= row[1]]


class Sentinel(Store):
    """One of the Sentinels that watch the master."""

    def __init__(self, binary: str, folder: Path, master_port: int) -> None:
        folder.mkdir(parents=True)
        self.conf = folder / "sentinel.conf"
        self.conf.write_text(
            f"sentinel monitor {SERVICE} 127.0.0.1 {master_port} 2\n"
            f"sentinel down-after-milliseconds {SERVICE} {CALM_MS}\n"
            f"sentinel failover-timeout {SERVICE} 4000\n"
            f"sentinel auth-user {SERVICE} sentinel\nsentinel auth-pass {SERVICE} {PASSWORD}\n"
        )
        super().__init__(binary, folder)

    def start(self) -> None:
        """Start it, and return once it listens."""
        command = [self.binary, str(self.conf), "--sentinel", "--port", str(self.port), "--bind", "127.0.0.1"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self.folder)
        wait_for_port(self.port, self.process)


class Guarded:
    """A master, a replica of it, and three Sentinels that put the replica in charge when the master is gone.

    With the files and users of deploy/: the nodes and the Sentinels log in, and so does the service.

    url: names a Sentinel that is not there first.
    """

    def __init__(self, binary: str, folder: Path) -> None:
        self.master = ShippedStore(binary, folder / "master", *FOLLOWING)
        of_the_master = ("--replicaof", f"127.0.0.1 {self.master.port}")
        self.replica = ShippedStore(binary, folder / "replica", *FOLLOWING, *of_the_master)
        self.on_master, self.on_replica = (each.as_user("root") for each in (self.master, self.replica))
        self.on_master_bytes, self.on_replica_bytes = (
            each.as_user("root", decoding=False) for each in (self.master, self.replica)
        )
        until(self.is_connected, "the replica has what the master has")
        self.sentinels = [Sentinel(binary, folder / f"sentinel{number}", self.master.port) for number in range(3)]
        self.watchers = [redis.Redis(port=each.port, decode_responses=True) for each in self.sentinels]
        until(lambda: all(map(self._knows_all, self.watchers)), "every Sentinel knows the others and the replica", 120)
        addresses = [f"127.0.0.1:{port}" for port in (free_port(), *(each.port for each in self.sentinels))]
        self.url = f"redis+sentinel://remit:{PASSWORD}@{','.join(addresses)}/{SERVICE}"

    def stop(self) -> None:
        for each in (self.on_master, self.on_replica, self.on_master_bytes, self.on_replica_bytes, *self.watchers):
            each.close()
        for each in (*self.sentinels, self.master, self.replica):
            if each.process.poll() is None:
                each.kill()

    def is_connected(self) -> bool:
        return "online" in str(self.on_master.info("replication").get("slave0"))

    def refused(self) -> set[str]:
        """The commands that a node has refused to one of its users."""
        entries = [entry for node in (self.on_master, self.on_replica) for entry in node.acl_log()]
        return {entry["object"] for entry in entries} - OF_THE_CLIENT_LIBRARY

    def cut_replica_off(self) -> None:
        """Cut the replica off from its master, which does not notice in time."""
        self.on_master.execute_command("ACL", "SETUSER", "replication", "off")
        self.on_master.execute_command("CLIENT", "KILL", "TYPE", "replica")
        until(lambda: not self.on_master.info("replication")["connected_slaves"], "the replica is cut off")

    def kill_master(self) -> None:
        """Kill it; the Sentinels notice soon."""
        for watcher in self.watchers:
            watcher.execute_command("SENTINEL", "SET", SERVICE, "down-after-milliseconds", ALERT_MS)
        self.master.kill()

    def wait_for_failover(self) -> None:
        # A Sentinel that got no core for two seconds does nothing for thirty.
        until(lambda: self.on_replica.role()[0] == "master", "the replica is in charge", 90)

    def _knows_all(self, watcher: redis.Redis) -> bool:
        state = watcher.sentinel_master(SERVICE)
        replicas = watcher.sentinel_slaves(SERVICE)
        return state["num-other-sentinels"] == 2 and [each["is_disconnected"] for each in replicas] == [False]
