"""kill -9 of the replica that gets a logout token, right after its answer.

tests/store/test_sign_ins.py interrupts it before.
"""

import httpx
import pytest
from servers import Replica

from bench.harness.identity_provider import IdentityProvider


@pytest.fixture
def idp(own):
    return own(IdentityProvider())


@pytest.fixture
def remits(valkey_store, idp, own):
    """Two replicas; the first one is killed."""
    return [
        own(Replica(valkey_store.url, REMIT_SECRET="sign out " * 5, **idp.settings("admins=admin"))) for _ in range(2)
    ]


def signed_in(remit, idp, sub):
    """A client of the other replica, in a new session."""
    body = {"id_token": idp.id_token(sub, "admins"), "transport": "bearer"}
    made = httpx.post(f"{remit.base_url}/v1/session", json=body)
    assert made.status_code == 201, made.text
    return remit.client(made.json()["token"])


def log_out(remit, token):
    return httpx.post(f"{remit.base_url}/console/backchannel-logout", data={"logout_token": token}, timeout=20)


def test_a_logout_binds_everywhere_although_its_replica_is_killed_at_once(remits, idp):
    """On the replica that was not told: every later request, and an open stream, which ends; nobody else's does."""
    killed, other = remits
    with signed_in(other, idp, "ann") as ann, signed_in(other, idp, "bob") as bob:
        with ann.stream("GET", "/v1/audit-logs/stream") as stream:
            assert stream.status_code == 200
            answer = log_out(killed, idp.logout_token("ann"))
            killed.kill()
            assert answer.status_code == 200
            assert ann.get("/v1/session").status_code == 401
            assert ann.post("/v1/agents", json={"name": "x"}).status_code == 401
            for _ in stream.iter_raw():
                pass  # until the service ends it
        assert bob.get("/v1/session").status_code == 200
