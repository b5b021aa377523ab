"""Which addresses are locked out, for how long, and which never are."""

import ipaddress
import logging
import os

import pytest

from app.runtime.fairness.auth_failures import AuthFailures
from app.settings import Settings, SettingsError

PER_MINUTE = 6
OTHER = "192.0.2.2"
HERE = "192.0.2.1"
PROXIES = [ipaddress.ip_network(each) for each in ("10.0.0.0/8", "fd00::/8")]


@pytest.fixture
def lockouts(clock):
    return AuthFailures(PER_MINUTE, clock=clock)


def fail(lockouts, times, peer=HERE, forwarded=()):
    for _ in range(times):
        lockouts.note(peer, forwarded)


def test_an_address_is_locked_out_when_its_failures_are_used_up(lockouts):
    """One failure less does nothing; the last one locks the address out."""
    fail(lockouts, PER_MINUTE - 1)
    assert lockouts.wait_s(HERE, ()) == 0
    fail(lockouts, 1)
    assert lockouts.wait_s(HERE, ()) == 10


def test_failures_of_both_lanes_count_once_and_lock_out_in_both(clock):
    """The other lane is a fork. It counts the last failure but one, and is refused after the last one here."""
    lockouts = AuthFailures(PER_MINUTE, clock=clock)
    unbounded = AuthFailures(0, clock=clock)
    fail(lockouts, PER_MINUTE - 2)
    told, answers = os.pipe()
    asked, ask = os.pipe()
    child = os.fork()
    if not child:
        fail(lockouts, 1)
        fail(unbounded, PER_MINUTE)
        os.write(answers, b"%d\n" % lockouts.wait_s(HERE, ()))
        os.read(asked, 1)
        os.write(answers, b"%d %d\n" % (lockouts.wait_s(HERE, ()), lockouts.wait_s(OTHER, ())))
        os._exit(0)
    assert (os.read(told, 100), lockouts.wait_s(HERE, ())) == (b"0\n", 0)
    fail(lockouts, 1)
    os.write(ask, b".")
    assert (os.read(told, 100), lockouts.wait_s(HERE, ())) == (b"10 0\n", 10)
    assert os.waitpid(child, 0)[1] == unbounded.wait_s(HERE, ()) == 0
    for each in (told, answers, asked, ask):
        os.close(each)


def test_waiting_as_long_as_told_gives_one_more_attempt(lockouts, clock):
    """With six per minute, that is a sixth of a minute."""
    fail(lockouts, PER_MINUTE)
    clock.now += 9.9
    assert lockouts.wait_s(HERE, ()) == pytest.approx(0.1)
    clock.now += 0.1
    assert lockouts.wait_s(HERE, ()) == 0
    fail(lockouts, 1)
    assert lockouts.wait_s(HERE, ()) == pytest.approx(10)


def test_a_minute_without_failures_forgives_everything(lockouts, clock):
    """But no more than that: a quiet year does not allow a thousand failures."""
    fail(lockouts, PER_MINUTE)
    clock.now += 365 * 86_400
    fail(lockouts, PER_MINUTE - 1)
    assert lockouts.wait_s(HERE, ()) == 0
    fail(lockouts, 1)
    assert lockouts.wait_s(HERE, ()) == 10


def test_failures_under_way_when_the_bound_is_met_do_not_prolong_it(lockouts):
    """A thousand at once lock the address out no longer than six do."""
    fail(lockouts, 1000)
    assert lockouts.wait_s(HERE, ()) == 10


def test_others_are_not_slowed(lockouts):
    """Each address has its own bucket."""
    fail(lockouts, 1000)
    fail(lockouts, PER_MINUTE - 1, OTHER)
    assert lockouts.wait_s(OTHER, ()) == 0


def test_nothing_is_looked_up_while_nobody_is_locked_out(lockouts, clock):
    """`locked_until` is 0 before the first lockout, and in the past once the last one is over."""
    fail(lockouts, PER_MINUTE - 1)
    assert lockouts.locked_until[0] == 0
    fail(lockouts, 1)
    clock.now += 5
    fail(lockouts, PER_MINUTE, OTHER)
    clock.now += 5
    assert (lockouts.wait_s(HERE, ()), lockouts.wait_s(OTHER, ()), lockouts.locked_until[0]) == (0, 5, clock.now + 5)
    clock.now += 5
    assert (lockouts.wait_s(OTHER, ()), lockouts.locked_until[0]) == (0, clock.now)


def test_memory_is_bounded_and_the_oldest_are_forgotten(clock):
    """However many addresses an attacker has."""
    lockouts = AuthFailures(1, addresses_max=100, clock=clock)
    for number in range(10_000):
        clock.now += 1e-6
        lockouts.note(str(ipaddress.ip_address(number)), ())
    locked = [number for number in range(10_000) if lockouts.wait_s(str(ipaddress.ip_address(number)), ())]
    assert len(locked) <= 100
    assert (locked[0] > 9_500, locked[-1]) == (True, 9_999)


def test_without_a_bound_nobody_is_counted(clock):
    """0 switches it off."""
    lockouts = AuthFailures(0, clock=clock)
    fail(lockouts, 1000)
    assert (lockouts.locked_until[0], lockouts.wait_s(HERE, ())) == (0, 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"),
        ("192.0.2.1", "::ffff:192.0.2.1"),
        ("192.0.2.1", "192.0.2.1:4711"),
        ("2001:db8::1", "[2001:db8::1]:4711"),
        ("2001:db8::1", "2001:0DB8::1"),
    ],
)
def test_these_addresses_are_one_origin(lockouts, one, other):
    """An IPv6 /64 network is one caller; ports and spellings do not matter."""
    assert lockouts.origin(one, ()) == lockouts.origin(other, ()) is not None


@pytest.mark.parametrize(
    ("one", "other"), [("2001:db8:1:2::1", "2001:db8:1:3::1"), ("192.0.2.1", "192.0.2.2"), ("::1", "127.0.0.1")]
)
def test_these_addresses_are_different_origins(lockouts, one, other):
    """Such as neighbouring addresses."""
    assert lockouts.origin(one, ()) != lockouts.origin(other, ())


@pytest.mark.parametrize(
    ("peer", "forwarded", "origin"),
    [
        ("10.0.0.1", ["192.0.2.1"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.1, 10.0.0.2"], "192.0.2.1"),
        ("10.0.0.1", ["192.0.2.1", "10.0.0.2"], "192.0.2.1"),
        ("10.0.0.1", ["203.0.113.9, 192.0.2.1, 10.0.0.2"], "192.0.2.1"),
        ("fd00::1", ["2001:db8::7"], "2001:db8::/64"),
        ("::ffff:10.0.0.1", ["192.0.2.1:55"], "192.0.2.1"),
        # What a proxy of ours cannot have written is not believed.
        ("192.0.2.9", ["203.0.113.9"], "192.0.2.9"),
        ("10.0.0.1", ["203.0.113.9, not an address"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.9, "], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["10.0.0.3"], "10.0.0.3"),
        ("10.0.0.1", [", ".join(["203.0.113.9"] + ["10.0.0.2"] * 1000)], "10.0.0.2"),
        (None, ["192.0.2.1"], "unix"),
        ("", ["192.0.2.1"], "unix"),
    ],
)
def test_the_origin_is_the_last_that_a_trusted_proxy_names(clock, peer, forwarded, origin):
    """From the right, past our own proxies, to the first other address: anyone can write what stands left of it."""
    assert AuthFailures(PER_MINUTE, PROXIES, clock=clock).origin(peer, forwarded) == origin


def test_an_untrusted_x_forwarded_for_changes_nothing(lockouts, caplog):
    """Otherwise a client that guesses keys could use it to avoid being counted. The log says once what to set for a
    balancer.
    """
    with caplog.at_level(logging.WARNING):
        for number in range(PER_MINUTE):
            fail(lockouts, 1, "10.0.0.1", [f"192.0.2.{number}"])
    assert lockouts.wait_s("10.0.0.1", ["192.0.2.77"]) > 0
    assert lockouts.wait_s("10.0.0.1", ()) > 0
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("X-Forwarded-For from 10.0.0.1 is not trusted, since REMIT_TRUSTED_PROXIES does not name it")


@pytest.mark.parametrize(
    "given", ["10.0.0.300", "10.0.0.1/8", "proxy.example", "10.0.0.1,,10.0.0.2", "*", "\N{SNOWMAN}"]
)
def test_an_invalid_proxy_address_stops_the_start(given):
    """10.0.0.1/8 names both a host and a network, and Remit does not guess."""
    with pytest.raises(SettingsError, match="REMIT_TRUSTED_PROXIES must be comma-separated addresses or networks"):
        Settings.from_env({"REMIT_TRUSTED_PROXIES": given})


def test_proxies_are_addresses_and_networks_of_both_kinds():
    """Comma-separated, with or without spaces; empty means none."""
    assert Settings.from_env({"REMIT_TRUSTED_PROXIES": ""}).proxies == []
    given = Settings.from_env({"REMIT_TRUSTED_PROXIES": "10.0.0.7, 192.168.0.0/16,fd00::/8"}).proxies
    assert [str(each) for each in given] == ["10.0.0.7/32", "192.168.0.0/16", "fd00::/8"]
