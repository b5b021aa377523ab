"""What runs weekly, and with a commit that touches what it tests."""

from collections.abc import Collection
from typing import NamedTuple


class Weekly(NamedTuple):
    """Why once a week is enough for a file of tests, and how the names of files begin whose change runs it."""

    why: str
    tested: tuple[str, ...]


_CONNECTIONS = tuple(
    f"app/redis_client/{name}"
    for name in ("blocking.py", "client", "cluster", "packed_call.py", "pipelined.py", "replies.py", "urls.py")
)
_TOPOLOGIES = ("tests/faults/topologies.py", "tests/faults/witness.py")
_PLACES = ("app/store/placement.py", "app/store/pointers.py", "app/store/readiness.py")
_CLUSTER = Weekly(
    "a cluster differs from one store in redis_client and in what finds its masters",
    (*_CONNECTIONS, *_TOPOLOGIES, *_PLACES),
)
_SENTINELS = Weekly("Sentinels differ from one store in redis_client alone", (*_CONNECTIONS, *_TOPOLOGIES))
_PACKAGES = ("deploy/packages.sh", "deploy/release.sh", "deploy/hatch_build.py")
WEEKLY = {
    "tests/authzen/test_envoy.py": Weekly(
        "the binding's own tests send the same requests; only Envoy itself can change here", ()
    ),
    "tests/deploy/test_release.py": Weekly("a release runs it before it publishes anything", _PACKAGES),
    "tests/deploy/test_wheel.py": Weekly("CI builds, installs and runs the wheel in .ci/newcomer", _PACKAGES),
    "tests/faults/test_cluster_under_load.py": _CLUSTER,
    "tests/faults/test_lost_shard.py": _CLUSTER,
    "tests/faults/test_planned_failover.py": _SENTINELS,
    "tests/faults/test_sentinel_failover.py": _SENTINELS,
    "tests/faults/test_workspace_moves.py": _CLUSTER._replace(tested=(*_CLUSTER.tested, "app/cli/workspaces.py")),
}


def may_wait(file: str, touched: Collection[str]) -> bool:
    """Whether a file of tests can wait for the week's end: none of the files touched is what it tests, or itself."""
    weekly = WEEKLY.get(file)
    return weekly is not None and not any(name.startswith((file, *weekly.tested)) for name in touched)
