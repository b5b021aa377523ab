"""A wrong certificate, file or kind of port ends the start, with a sentence; a store that is away is waited for."""

import datetime as dt
import ipaddress
import signal

import pytest
import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from servers import Store, free_port
from serving import Service

from app.errors import StoreUnavailable
from app.redis_client import tls
from app.redis_client.clients import open_client
from app.redis_client.pipelined import PipelinedClient
from app.redis_client.replies import StoreAway
from app.redis_client.scripts import CHECK_KEY

pytestmark = pytest.mark.stores
NOW = dt.datetime.now(dt.UTC)
DAY = dt.timedelta(days=1)


def write_certificate(folder, name, host="127.0.0.1", until=NOW + DAY, authority=None):
    """A certificate of 127.0.0.1 unless another host is given, with its key; its own authority unless given another."""
    key, called = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.OID_COMMON_NAME, name)])
    made = x509.CertificateBuilder().subject_name(called).public_key(key.public_key()).serial_number(7)
    made = made.not_valid_before(until - 2 * DAY).not_valid_after(until)
    made = made.add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
    issuer, signing = authority or (called, key)
    text = made.issuer_name(issuer).sign(signing, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    (folder / f"{name}.pem").write_bytes(text)
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / f"{name}.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain))
    return called, key


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Certificates: of an authority, of another one, and of servers that the first has signed."""
    made = tmp_path_factory.mktemp("tls")
    authority = write_certificate(made, "authority")
    write_certificate(made, "another")
    write_certificate(made, "good", authority=authority)
    write_certificate(made, "elsewhere", host="127.0.0.2", authority=authority)
    write_certificate(made, "expired", until=NOW - DAY, authority=authority)
    return made


@pytest.fixture(scope="module")
def secured(program, folder):
    """A store with a port for TLS, `tls_port`, and a plain one."""
    port = free_port()
    options = {"port": port, "cert-file": folder / "good.pem", "key-file": folder / "good.key"}
    options |= {"ca-cert-file": folder / "authority.pem", "auth-clients": "no"}
    words = [str(word) for name, value in options.items() for word in (f"--tls-{name}", value)]
    store = Store(program("redis-server", "TLS to a store"), folder / "store", *words)
    store.tls_port = port
    yield store
    store.process.send_signal(signal.SIGCONT)
    store.stop()


async def at_start(url, timeout_ms):
    """Why the connection of decisions, which a start opens first, cannot be opened."""
    with pytest.raises(StoreUnavailable) as opening:
        await PipelinedClient(url, timeout_ms, [CHECK_KEY]).open()
    return opening.value


async def later(url, timeout_ms):
    """Why a command on the other connection fails."""
    client = open_client(url, timeout_ms)
    with pytest.raises(StoreUnavailable) as asking:
        await client.call("PING")
    await client.close()
    return asking.value


def present(store, folder, name, clients="no"):
    """Let the store show this certificate, and ask clients for one or not."""
    with redis.Redis(port=store.port) as admin:
        admin.config_set("tls-auth-clients", clients)
        files = ("tls-cert-file", f"{folder}/{name}.pem", "tls-key-file", f"{folder}/{name}.key")
        assert admin.execute_command("CONFIG", "SET", *files) in (b"OK", True)


NOT_ACCEPTED, REFUSED = "The store's certificate is not accepted (", "The store and Remit do not agree on TLS ("
CERTIFICATES = (
    ("good", "no", "", f"{NOT_ACCEPTED}self-signed certificate in certificate chain); check REMIT_REDIS_URL, its host"),
    ("good", "no", "another.pem", f"{NOT_ACCEPTED}self-signed certificate in certificate chain)"),
    ("elsewhere", "no", "authority.pem", f"{NOT_ACCEPTED}IP address mismatch)"),
    ("expired", "no", "authority.pem", f"{NOT_ACCEPTED}certificate has expired)"),
    ("good", "yes", "authority.pem", f"{REFUSED}TLSV13_ALERT_CERTIFICATE_REQUIRED)"),
)


async def test_a_certificate_that_is_not_accepted_is_no_store_that_is_away(secured, folder, monkeypatch):
    """On both connections; the store's wish for a certificate of ours is only sure to be read by the first."""
    monkeypatch.setattr(tls, "PROBE_S", 20)
    for shown, clients, authority, said in CERTIFICATES:
        present(secured, folder, shown, clients)
        url = f"rediss://127.0.0.1:{secured.tls_port}/0?ssl_ca_certs={folder}/{authority}"
        for ask in (at_start, later) if clients == "no" else (at_start,):
            error = await ask(url if authority else url.partition("?")[0], 10_000)
            assert str(error).startswith(said), (shown, str(error))
            assert not isinstance(error, StoreAway)


async def test_a_url_for_another_kind_of_port_or_without_its_files_is_no_store_that_is_away(
    secured, folder, monkeypatch
):
    """Only the start looks for it, on its first connection. Stores that are silent, or gone, are away."""
    monkeypatch.setattr(tls, "PROBE_S", 20)
    present(secured, folder, "good")
    with_tls, trusting = f"rediss://127.0.0.1:{secured.tls_port}/0", f"?ssl_ca_certs={folder}/authority.pem"
    for url, said in (
        (f"{with_tls}?ssl_ca_certs={folder}/none.pem", "for TLS cannot be used (No such file or directory)"),
        (f"{with_tls}?ssl_ca_certs={folder}/good.key", "A file that REMIT_REDIS_URL names for TLS cannot be used"),
        (f"rediss://127.0.0.1:{secured.port}/0{trusting}", "REMIT_REDIS_URL must begin with redis://"),
        (f"redis://127.0.0.1:{secured.tls_port}/0", "REMIT_REDIS_URL must begin with rediss://"),
    ):
        error = await at_start(url, 200)
        assert said in str(error)
        assert not isinstance(error, StoreAway)
    monkeypatch.setattr(tls, "PROBE_S", 0.05)
    secured.process.send_signal(signal.SIGSTOP)
    for url in (with_tls + trusting, secured.url, f"rediss://127.0.0.1:{free_port()}/0{trusting}"):
        error = await at_start(url, 200)
        assert isinstance(error, StoreAway), url
    secured.process.send_signal(signal.SIGCONT)


async def test_a_store_that_is_no_cluster_or_not_accepted_as_one_is_not_away(secured, folder):
    """It would be waited for in vain, like a certificate that is not accepted."""
    present(secured, folder, "good")
    for url, said in (
        (f"redis+cluster://127.0.0.1:{secured.port}", "The store is not a cluster, or refuses to say where its slots"),
        (f"rediss+cluster://127.0.0.1:{secured.tls_port}", NOT_ACCEPTED),
    ):
        error = await later(url, 10_000)
        assert str(error).startswith(said)
        assert not isinstance(error, StoreAway)
    assert isinstance(await later(f"redis+cluster://127.0.0.1:{free_port()}", 200), StoreAway)


@pytest.mark.slow
def test_a_store_whose_certificate_is_not_accepted_ends_the_start(secured, tmp_path):
    """It would be waited for in vain; before, `remit serve` took it for a store that is away."""
    url = f"rediss://127.0.0.1:{secured.tls_port}/0"
    service = Service(tmp_path, REMIT_REDIS_URL=url, REMIT_COMPACT="false").launch()
    assert service.ended() == 1
    assert service.complained.startswith("Error: The store's certificate is not accepted (self-signed certificate in")
    assert "waiting" not in service.said
