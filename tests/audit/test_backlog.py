"""The lag of sealing over all workspaces, as /metrics and /readyz report it."""

import httpx
import pytest
from audit_entries import Writer
from fake_store import FakeClient
from servers import Store
from serving import Service

from app.audit.backlog import FRESH_SECONDS, SealingLag, SealingWatch, read_backlog
from app.audit.log import AuditLog
from app.errors import StoreUnavailable
from app.redis_client.clients import open_client, store_time_ms
from app.store.keyspace import WORKSPACES, keyspace_of


@pytest.fixture(params=["fakeredis", "redis", "valkey"])
async def own_client(request, server, tmp_path):
    """A store with nothing but what the test puts there."""
    if request.param == "fakeredis":
        opened = FakeClient()
        running = None
    else:
        running = Store(server(request.param), tmp_path)
        opened = open_client(running.url, 5_000)
    yield opened
    await opened.close()
    if running is not None:
        running.stop()


async def put_workspace(client, name: str, *ages_seconds: float, segments: int = 0, poison: int = 0) -> None:
    """Create a workspace whose unsealed entries have these ages, oldest first."""
    keyspace, now_ms = keyspace_of(name), await store_time_ms(client)
    await client.call("HSET", WORKSPACES, name, name)
    for sequence, age in enumerate(ages_seconds, 1):
        await client.call("XADD", keyspace.audit_stream, f"{sequence}-0", "timeMs", now_ms - int(age * 1000))
    if segments:
        await client.call("HSET", keyspace.audit_head, "segment", segments)
    for number in range(poison):
        await client.call("HSET", keyspace.audit_poison, f"{number}-0", "x")


async def test_an_empty_store_has_no_backlog(own_client):
    """No workspace, no lag, and room."""
    watch = SealingWatch(own_client)
    assert await watch.look() == SealingLag()
    await watch.require_room(1)


async def test_the_lag_is_that_of_the_oldest_entry_of_all_workspaces(own_client):
    """More workspaces than are read in one go; sums, the longest and the shortest stream."""
    for number in range(40):
        await put_workspace(own_client, f"w{number}", *([30] * (number % 3)), segments=number % 2)
    await put_workspace(own_client, "slow", 100, 50, 1, 0, segments=7, poison=2)
    for number, skew_us in enumerate((3_600_000_000, 1_500_000)):
        await own_client.call("HSET", keyspace_of(f"w{number}").commits, "skew_us", skew_us)
    lag = await SealingWatch(own_client).look()
    assert (lag.unsealed, lag.longest, lag.shortest) == (13 + 2 * 13 + 4, 4, 0)
    assert (lag.segments, lag.poison, lag.quota_ahead_seconds) == (20 + 7, 2, 3_600)
    assert 100 <= lag.lag_seconds < 110


async def test_an_entry_without_a_time_does_not_hide_others(own_client):
    """Reporting unreadable entries is the compactor's job."""
    await own_client.call("XADD", keyspace_of("odd").audit_stream, "1-0", "timeMs", "soon")
    await put_workspace(own_client, "odd")
    await put_workspace(own_client, "even", 20)
    assert 20 <= (await SealingWatch(own_client).look()).lag_seconds < 30


async def test_the_store_is_asked_once_in_a_while_however_many_callers_ask(own_client):
    """Monitors and balancers ask every second, of every replica."""
    time = [1000.0]
    watch = SealingWatch(own_client, now=lambda: time[0])
    assert (await watch.look()).unsealed == 0
    await put_workspace(own_client, "new", 1)
    time[0] += FRESH_SECONDS - 0.001
    assert (await watch.look()).unsealed == 0
    time[0] += 0.001
    assert (await watch.look()).unsealed == 1


async def test_there_is_no_room_only_when_every_workspace_is_full(own_client):
    """One tenant's backlog does not make a replica unready for the others."""
    await put_workspace(own_client, "full", 3, 2, 1)
    with pytest.raises(StoreUnavailable, match="is a compactor running"):
        await SealingWatch(own_client).require_room(3)
    await SealingWatch(own_client).require_room(4)
    await put_workspace(own_client, "roomy", 1)
    await SealingWatch(own_client).require_room(3)


def refusal(service: Service) -> tuple[int, str]:
    """Status and sentence of /readyz."""
    answer = httpx.get(f"{service.base_url}/readyz")
    return answer.status_code, answer.json()["error"]["message"]


def samples(service: Service) -> dict[str, str]:
    """Every sample of /metrics by its name and labels."""
    return dict(line.rsplit(" ", 1) for line in httpx.get(f"{service.base_url}/metrics").text.splitlines())


@pytest.mark.slow
async def test_a_full_backlog_is_seen_by_balancer_and_monitor(tmp_path, valkey_store):
    """/readyz and the start say why, and /metrics shows how many entries wait and how old they are."""
    store = Store(valkey_store.binary, tmp_path / "store")
    client = open_client(store.url, 5_000)
    await put_workspace(client, "default", *([60] * 1000))
    service = Service(
        tmp_path, REMIT_REDIS_URL=store.url, REMIT_COMPACT="false", REMIT_AUDIT_BACKLOG_MAX="1000"
    ).launch()
    try:
        sentence = "The unsealed backlog of every workspace is full; is a compactor running?"
        service.until(lambda: f"waiting   {sentence}" in service.said, "the start says what it waits for")
        assert refusal(service) == (503, sentence)
        numbers = samples(service)
        assert numbers["remit_unsealed_entries"] == numbers["remit_unsealed_entries_limit"] == "1000"
        assert float(numbers["remit_seal_lag_seconds"]) >= 60
        assert numbers["remit_store_up"] == "1"
        store.kill()
        assert samples(service)["remit_store_up"] == "0"
    finally:
        service.stop()
        await client.close()
        store.process.kill()


async def test_a_log_is_as_old_as_its_last_verification_that_found_it_intact(own_client):
    """The log verified longest ago counts; one never verified counts from its creation."""
    now_ms = await store_time_ms(own_client)
    for name, fields in {
        "old": {"created_ms": 0, "intact_ms": now_ms - 50_000},
        "new": {"created_ms": now_ms - 20_000},
    }.items():
        await put_workspace(own_client, name)
        for field, value in fields.items():
            await own_client.call("HSET", keyspace_of(name).workspace, field, value)
    assert 50 <= (await SealingWatch(own_client).look()).intact_seconds < 60

    assert (await AuditLog(own_client).verify("old")).finding is None
    assert 20 <= (await SealingWatch(own_client).look()).intact_seconds < 30


async def test_a_verification_on_request_says_how_far_the_log_was_intact(own_client):
    """Also where the background has verified nothing yet; what is written later does not count."""
    writer = Writer(own_client, "w")
    await writer.append(10)
    assert (await AuditLog(own_client).verify("w")).complete
    first = await read_backlog(own_client, "w")
    assert (first.verification, first.intact_up_to, first.last_sequence) == (None, 10, 10)
    await writer.append(5)
    later = await read_backlog(own_client, "w")
    assert (later.intact_at, later.intact_up_to, later.last_sequence) == (first.intact_at, 10, 15)


async def test_a_log_is_noted_as_intact_only_after_a_full_verification_without_findings(own_client):
    """Neither a log with a fault nor a log verified only in part."""
    await put_workspace(own_client, "w", 10, segments=3)
    assert (await AuditLog(own_client).verify("w")).finding is not None
    assert await own_client.call("HGET", keyspace_of("w").workspace, "intact_ms") is None
