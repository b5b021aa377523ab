"""How a replica reacts to what Sentinels report."""

import pytest

from app.redis_client.clients import SentinelFailover
from app.redis_client.urls import StoreUrl

BEGINS = "+failover-state-select-slave"


class Client:
    """Remembers what it was told."""

    def __init__(self):
        self.told = []

    def pause(self):
        self.told.append("hold")

    def resume_on_new_master(self):
        self.told.append("follow")


@pytest.fixture
async def heard():
    """A failover that only this test listens to, and its client."""
    client = Client()
    made = SentinelFailover(StoreUrl.parse("redis+sentinel://s1,s2/remit"), lambda: None, [client])
    yield made.hear, client.told
    await made.close()


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("+promoted-slave", "slave 10.0.0.2:6379 10.0.0.2 6379 @ remit 10.0.0.1 6379"),
        ("+switch-master", "remit 10.0.0.1 6379 10.0.0.2 6379"),
        ("-failover-abort-slave-timeout", "master remit 10.0.0.1 6379"),
    ],
)
async def test_nothing_is_sent_during_a_failover(heard, event, text):
    """Whichever Sentinel announces it first, and however often it is repeated."""
    hear, told = heard
    for _ in range(3):
        hear(BEGINS, "master remit 10.0.0.1 6379")
    assert told == ["hold"]
    hear(event, text)
    hear(event, text)
    assert told == ["hold", "follow"]


async def test_another_masters_failover_is_ignored(heard):
    """Because Sentinels may watch several masters."""
    hear, told = heard
    hear(BEGINS, "master remit-too 10.0.0.9 6379")
    hear("+switch-master", "other 10.0.0.9 6379 10.0.0.8 6379")
    assert told == []
