"""Random histories of a workspace, through each way in; a naive model knows every answer and all that is stored.

EXAMPLES=100 pytest tests/workspaces looks for longer.
"""

import random

import pytest
from approval_steps import SECRET
from fake_store import FakeClient
from profiles import SEARCHED, examples
from servers import Replica
from tenants import create_workspace, in_store
from workspace_doors import SETTINGS, CommandLineDoor, HttpDoor, StoreDoor
from workspace_history import History

from app.redis_client.clients import open_client

HISTORIES = {"valkey": 5, "http": 2, "command line": 1, "redis": 1, "fakeredis": 1}
STEPS = {"valkey": 400, "http": 200, "command line": 20, "redis": 400, "fakeredis": 100}
SEEDS = [
    pytest.param(door, seed, marks=pytest.mark.slow if seed > 1 else (), id=f"{door}-{seed}")
    for door, count in HISTORIES.items()
    for seed in range(1, count + 1)
]


@pytest.fixture(scope="module")
def replicas(store):
    """Two replicas whose workspaces may have little."""
    running = [Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false", **SETTINGS) for _ in range(2)]
    yield running
    for each in running:
        each.stop()


@pytest.fixture
def open_door(request, store, ids):
    """Opens a way into a new workspace."""
    opened = []

    def open_one(kind, chance):
        if kind in ("valkey", "redis", "fakeredis"):
            url = None if kind == "fakeredis" else request.getfixturevalue(f"{kind}_store").url
            door = StoreDoor(lambda: FakeClient() if url is None else open_client(url, 5_000), ids.new(0), chance)
        else:
            made, raw_key = in_store(store.url, create_workspace)
            replicas = request.getfixturevalue("replicas")
            is_http = kind == "http"
            door = HttpDoor(replicas, chance, raw_key) if is_http else CommandLineDoor(replicas, chance, raw_key, made)
        opened.append(door)
        return door

    yield open_one
    for door in opened:
        door.close()


@pytest.mark.parametrize(("door", "seed"), SEEDS)
def test_a_history_is_answered_and_stored_as_the_model_says(open_door, door, seed):
    """I8 and I13, too: every replica knows every change, and every change is in the trail."""
    chance = random.Random(None if SEARCHED else seed)
    for _ in range(examples(1, least=1)):
        History(open_door(door, chance), chance).begin().run(STEPS[door])
