"""The cluster that the question about clusters starts."""

import os
import socket

import pytest

from bench.cluster_cost import cluster_options
from bench.harness import processes
from bench.harness.processes import Store

HIGHEST_WITH_A_SECOND = 65_535 - 10_000


def high_port():
    for port in range(HIGHEST_WITH_A_SECOND + 1, 65_536):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


@pytest.mark.slow
def test_a_node_of_a_cluster_starts_whatever_its_port(server, tmp_path, monkeypatch):
    """The kernel chooses any of 28,000, a fifth of which are within 10,000 of the highest."""
    monkeypatch.setattr(processes, "free_port", high_port)
    with Store(server("redis"), tmp_path, min(os.sched_getaffinity(0)), cluster_options()) as node:
        assert "cluster_state:" in node.ask("CLUSTER", "INFO")
