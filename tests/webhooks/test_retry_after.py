"""A receiver can ask for a wait, of at most four hours."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from receivers import subscribe

from app.model.times import parse_time_ms
from app.redis_client.clients import store_time_ms
from app.store.keyspace import Keyspace
from app.webhooks.attempts import FIRST_MS, LONGEST_MS, PARK_AFTER_MS, Attempts
from app.webhooks.delivery import MOST_S, wait_asked_for

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)
DENY = {"type": "tool_denylist", "tools": ["rm"]}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (b"120", 120), (b" 120 ", 120), (b"0", 0), (b"00120", 120), (b"9" * 60, MOST_S),
        (b"Sun, 22 Nov 2026 12:02:00 GMT", 120),
        (b"Sunday, 22-Nov-26 12:02:00 GMT", 120),
        (b"Sun Nov 22 12:02:00 2026", 120),
        (b"Sun, 22 Nov 2026 11:00:00 GMT", 0),
        (b"Mon, 22 Nov 2027 12:00:00 GMT", MOST_S),
        (b"", None), (b"-1", None), (b"1.5", None), (b"soon", None), (b"\xb2", None), (b"9" * 65, None),
        (b"Sun, 99 Nov 2026 12:02:00 GMT", None), (b"Fri, 31 Dec 9999 23:59:59 -2359", MOST_S),
    ],
)  # fmt: skip
def test_both_forms_of_the_header_are_read(text, seconds):
    """Seconds and the three date formats; anything else is ignored."""
    for status in (429, 503):
        assert wait_asked_for(status, [(b"Server", b"x"), (b"RETRY-AFTER", text)], NOW) == seconds
    for status in (200, 301, 413, 500):
        assert wait_asked_for(status, [(b"retry-after", text)], NOW) is None
    assert wait_asked_for(429, [], NOW) is None


@given(st.binary(max_size=80) | st.text("0123456789 :,+-SunNovGMTaz", max_size=40).map(str.encode))
def test_whatever_the_header_holds_the_wait_is_bounded(text):
    """Receivers may send anything."""
    asked = wait_asked_for(503, [(b"retry-after", text)], NOW)
    assert asked is None or 0 <= asked <= MOST_S


def test_a_wait_asked_for_is_never_cut_short_and_brings_nothing_forward():
    """The later time applies, and a day of failures stays a day."""
    attempts = Attempts(1, 1_000, "no")
    assert attempts.next_ms(1_000) == attempts.next_ms(1_000, 2_000) == 1_000 + FIRST_MS
    assert attempts.next_ms(1_000, 1_000 + LONGEST_MS) == 1_000 + LONGEST_MS
    assert attempts.next_ms(1_000 + PARK_AFTER_MS, 1 << 50) is None


def as_date(seconds):
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("asked", [lambda: "600", lambda: as_date(600)], ids=["seconds", "a date"])
def test_nothing_is_sent_before_the_receiver_is_ready(tenant, receiver, sending, status, asked):
    """Neither the failed event nor a later one; after the wait, both are sent."""
    webhook = subscribe(tenant, receiver.url, events=["policy.changed"])
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, DENY, name="first")
    receiver.answers, receiver.retry_after = [status], asked()
    began_ms = sending.in_store(store_time_ms)

    sending.round()
    tenant.new_policy(agent_id, DENY, name="second")
    sending.in_store(lambda client: make_due(client, tenant.id, webhook["id"]))
    sending.round()

    assert len(receiver.got) == 1
    shown = tenant.admin.get(f"/v1/webhooks/{webhook['id']}").json()
    assert shown["lastError"].startswith(f"the receiver answered {status} and asked to wait ")
    sending.in_store(lambda client: let_the_wait_end(client, tenant.id, webhook["id"], began_ms))
    sending.round()
    sending.round()
    names = [event["data"]["change"]["after"]["name"] for _, event in receiver.events(webhook["secret"])]
    assert names == ["first", "first", "second"]


async def make_due(client, workspace_id, webhook_id):
    """Make everything that waits due now, except for the receiver's wish."""
    waiting = Keyspace(workspace_id).webhook_waiting(webhook_id)
    for event_id in await client.call("ZRANGE", waiting, 0, -1):
        await client.call("ZADD", waiting, 1, event_id)


async def let_the_wait_end(client, workspace_id, webhook_id, began_ms):
    """As if the ten minutes that were asked for had passed."""
    outbox = Keyspace(workspace_id).webhook_outbox(webhook_id)
    until_ms = int(await client.call("HGET", outbox, "quiet_until_ms"))
    now_ms = await store_time_ms(client)
    assert began_ms + 598_000 <= until_ms <= now_ms + 601_000
    await client.call("HSET", outbox, "quiet_until_ms", now_ms)


def test_the_list_shows_when_and_a_retry_by_hand_does_not_wait(tenant, receiver, sending):
    """A wait lasts four hours at most, whatever the receiver asks for; a manual retry is immediate."""
    webhook = subscribe(tenant, receiver.url, events=["policy.changed"])
    tenant.new_policy(tenant.new_agent()["id"], DENY)
    receiver.answers, receiver.retry_after = [429], "99999999"
    sending.round()
    path = f"/v1/webhooks/{webhook['id']}"
    [waiting] = tenant.admin.get(f"{path}/events").json()
    assert parse_time_ms(waiting["nextAttemptAt"]) == parse_time_ms(waiting["since"]) + LONGEST_MS
    assert tenant.admin.post(f"{path}/retry", json={"event": waiting["id"]}).json() == {"events": 1}
    sending.round()
    assert len(receiver.got) == 2
    assert tenant.admin.get(f"{path}/events").json() == []


def test_a_test_says_how_long_the_receiver_wants_to_be_left_alone(tenant, receiver):
    """It is sent anyway, because a person asked for it."""
    webhook = subscribe(tenant, receiver.url)
    receiver.answers, receiver.retry_after = [503, 204], "30"
    first, second = (tenant.admin.post(f"/v1/webhooks/{webhook['id']}/test", json={}).json() for _ in range(2))
    assert (first["retryAfterSeconds"], second["retryAfterSeconds"]) == (30, None)
    assert first["error"] == "the receiver answered 503 and asked to wait 30 s"
