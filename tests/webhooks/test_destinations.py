"""Where events may go: only to the public internet, unless a setting allows more, however the address is spelled."""

import asyncio
import ipaddress
import socket
import threading

import httpcore
import pytest

from app.model.webhooks import Webhook, WebhookEvent, WebhookSecret
from app.redaction.signer import Signer
from app.settings import Settings
from app.webhooks.delivery import Delivery
from app.webhooks.destinations import CheckedBackend, Lookups, Refused, destination_of, require_public
from app.webhooks.secrets import Secrets

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LOOPBACK = [ipaddress.ip_network("127.0.0.0/8")]


def webhook(url):
    return Webhook(id="w", url=url, events=(WebhookEvent.POLICY_CHANGED,), secrets=(WebhookSecret(1, SECRET),))


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "ftp://example.com/",
        "https://user@example.com/",
        "https://example.com@evil.com/",
        "https://example.com\\@evil.com/",
        "https://example.com/#part",
        "https://example.com /",
        "https://exa\tmple.com/",
        "https:///path",
        "https://",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:x/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://017700000001/",
        "https://127.0.0.1./",
        "https://0/",
        "https://0.0.0.0/",
        "https://10.0.0.1/",
        "https://100.64.0.1/",
        "https://169.254.169.254/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://192.0.2.1/",
        "https://192.88.99.1/",
        "https://198.18.0.1/",
        "https://224.0.0.1/",
        "https://240.0.0.1/",
        "https://255.255.255.255/",
        "https://[::1]/",
        "https://[::]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[::7f00:1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[64:ff9b:1::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[2001:0:7f00:1::]/",
        "https://[fe80::1]/",
        "https://[fe80::1%25eth0]/",
        "https://[fc00::1]/",
        "https://[fd00:ec2::254]/",
        "https://[fec0::1]/",
        "https://[ff02::1]/",
        "https://[2001:db8::1]/",
        f"https://example.com/{'a' * 2048}",
    ],
)
def test_an_internal_or_ambiguous_address_is_refused(url):
    """By its URL alone, before any look-up."""
    with pytest.raises(Refused):
        destination_of(url)


@pytest.mark.parametrize(
    ("url", "host", "port", "target", "authority"),
    [
        ("https://example.com", "example.com", 443, "/", "example.com"),
        ("https://EXAMPLE.com./a?b=c", "example.com", 443, "/a?b=c", "example.com"),
        ("https://bücher.example/", "xn--bcher-kva.example", 443, "/", "xn--bcher-kva.example"),
        ("https://example.com:8443?x", "example.com", 8443, "/?x", "example.com:8443"),
        ("https://93.184.216.34/", "93.184.216.34", 443, "/", "93.184.216.34"),
        ("https://[2606:4700::1]:444/", "2606:4700::1", 444, "/", "[2606:4700::1]:444"),
    ],
)
def test_a_public_address_has_one_reading(url, host, port, target, authority):
    """In host, port and target."""
    found = destination_of(url)
    assert (found.host, found.port, found.target, found.authority) == (host, port, target, authority)


def test_a_setting_can_allow_a_network_and_http():
    """And nothing else."""
    allowed = [ipaddress.ip_network("10.1.0.0/16")]
    assert destination_of("http://10.1.2.3/", allow_http=True, networks=allowed).host == "10.1.2.3"
    with pytest.raises(Refused):
        destination_of("http://10.1.2.3/", networks=allowed)
    with pytest.raises(Refused):
        destination_of("https://10.2.2.3/", networks=allowed)


class Names:
    """Scripted look-ups of a name: one answer after the other, repeating the last. asked: how often."""

    def __init__(self, monkeypatch, *answers):
        self.answers, self.asked = list(answers), 0

        def getaddrinfo(_host, port, **_):
            self.asked += 1
            addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            family = [socket.AF_INET6 if ":" in each else socket.AF_INET for each in addresses]
            return [
                (kind, socket.SOCK_STREAM, 6, "", (each, port)) for kind, each in zip(family, addresses, strict=True)
            ]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "10.0.0.1"],
        ["::1"],
        ["::ffff:10.0.0.1"],
        ["169.254.169.254"],
        ["fe80::1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
    ],
    ids=str,
)
async def test_a_name_that_resolves_inside_is_refused(monkeypatch, addresses):
    """Even if only one of its addresses does, because that could be tried next."""
    Names(monkeypatch, addresses)
    with pytest.raises(Refused):
        await CheckedBackend(Lookups(), "ws").connect_tcp("hooks.example.com", 443)


async def test_name_servers_that_never_answer_delay_only_their_own_workspace(monkeypatch):
    """However many workspaces have such names, and whether or not anybody still waits for them."""
    answer, looking = threading.Event(), []

    def getaddrinfo(host, port, **_):
        if host.startswith("slow"):
            looking.append(host)
            answer.wait()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    lookups, hostile = Lookups(), range(10)
    given_up = [asyncio.ensure_future(lookups.addresses(f"{each}", "slow", 443)) for each in hostile for _ in range(4)]
    await asyncio.sleep(0)  # each of them has its thread now
    for each in given_up:
        each.cancel()
    await asyncio.gather(*given_up, return_exceptions=True)
    waiting = [asyncio.ensure_future(lookups.addresses(f"{each}", "slower", 443)) for each in hostile]

    try:
        assert await asyncio.wait_for(lookups.addresses("another", "quick", 443), 10)
        assert "slower" not in looking
    finally:
        answer.set()
    assert await asyncio.gather(*waiting) == [[ipaddress.ip_address("93.184.216.34")]] * len(hostile)


async def test_the_checked_address_is_the_one_connected_to(monkeypatch):
    """A name that is public at the check and internal at the connection gains nothing: it is looked up only once."""
    names = Names(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    backend, reached = CheckedBackend(Lookups(), "ws"), []

    class Inner:
        async def connect_tcp(self, host, port, *_):
            reached.append((host, port))
            raise httpcore.ConnectError("nobody is there")

    backend._inner = Inner()
    with pytest.raises(httpcore.ConnectError):
        await backend.connect_tcp("rebinding.example.com", 443)
    assert (reached, names.asked) == ([("93.184.216.34", 443)], 1)


async def test_a_name_is_checked_again_for_every_attempt(monkeypatch, receiver, loopback, caplog):
    """A name that was public yesterday may not be today. Only the service's log has an internal name's address."""
    delivery = Delivery(Settings(webhook_http=True), Secrets(Signer([])))
    Names(monkeypatch, ["127.0.0.1"])
    port = receiver.url.split(":")[2]
    attempt = await delivery.send("ws", webhook(f"http://hooks.example.com:{port}"), "msg_1", b"{}")
    assert not attempt.delivered
    assert "an address that is not public" in attempt.error
    assert "127.0.0.1" not in attempt.error
    assert "hooks.example.com leads to 127.0.0.1" in caplog.text
    assert receiver.got == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["http://169.254.169.254/", "same"])
async def test_no_redirect_is_followed_wherever_it_leads(receiver, loopback, status, location):
    """A redirect does not count as a delivery."""
    receiver.answers = [status]
    receiver.location = receiver.url if location == "same" else location
    attempt = await Delivery(loopback, Secrets(Signer([]))).send("ws", webhook(receiver.url), "msg_1", b"{}")
    assert (attempt.delivered, attempt.status) == (False, status)
    assert "redirects are not followed" in attempt.error
    assert len(receiver.got) == 1


def test_every_network_that_is_not_public_is_refused_and_the_rest_is_not():
    """Checked address by address."""
    for text in ("1.1.1.1", "8.8.8.8", "2606:4700::1111", "2a00:1450::1"):
        require_public(ipaddress.ip_address(text))
    for text in ("0.0.0.1", "192.0.0.8", "198.51.100.1", "203.0.113.9", "2001::1", "3fff::1", "5f00::1", "100::1"):
        with pytest.raises(Refused):
            require_public(ipaddress.ip_address(text))


async def test_a_receiver_that_hangs_is_given_up(receiver, loopback):
    """After an attempt's time limit, whatever it does meanwhile."""
    receiver.answers = [None]
    attempt = await Delivery(loopback, Secrets(Signer([])), attempt_s=0.3).send(
        "ws", webhook(receiver.url), "msg_1", b"{}"
    )
    assert (attempt.delivered, attempt.status) == (False, None)
    assert "no answer" in attempt.error
