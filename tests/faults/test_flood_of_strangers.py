"""Strangers who ask without pause cost those who are known, and the probes, no answer."""

import http.client
import itertools

from background import Background
from servers import Replica
from tenants import Tenant

FLOOD, CALLERS = 2_000, 16
MADE_UP = {"Authorization": "Bearer svc_" + "0" * 32}
STRANGE = [
    ("POST", "/v1/authorize", "{}", {}),
    ("GET", "/v1/agents", None, {}),
    ("GET", "/v1/agents", None, MADE_UP),
    ("GET", "/nowhere", None, {}),
    ("GET", "/metrics", None, {}),
]


class Strangers(Background):
    """Without a key, or with one that is made up, over connections of their own. seen: the status of each answer."""

    def __init__(self, port):
        super().__init__(CALLERS)
        self.seen = []
        self._port = port

    def _run(self, number):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        for method, path, body, headers in itertools.islice(itertools.cycle(STRANGE), number, None):
            if self._stopping.is_set():
                break
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.read()
            self.seen.append(answer.status)
        connection.close()


def test_probes_and_known_keys_are_answered_while_strangers_ask_without_pause(store, own):
    """Whether the strangers' address is locked out already or not; they are refused, or wait, and nobody else is."""
    for failures in ("60", "0"):
        replica = own(Replica(store.url, REMIT_COMPACT="false", REMIT_AUTH_FAILURES_PER_MINUTE=failures))
        tenant = own(Known(store.url, replica))
        agent = tenant.new_agent()["id"]
        tenant.new_policy(agent)
        tenant.authorize(agent)  # so that the key is known
        seen = []
        with Strangers(replica.port) as strangers:
            while len(strangers.seen) < FLOOD:
                seen.append(tenant.reader.get("/livez").status_code)
                seen.append(tenant.reader.get("/readyz").status_code)
                seen.append(tenant.admin.get("/v1/agents").status_code)
                assert tenant.authorize(agent)["result"] == "allowed"
        assert set(seen) == {200}
        assert set(strangers.seen) <= {200, 401, 404, 429, 503}
        assert strangers.seen.count(401) > 0


class Known(Tenant):
    """A workspace that ends with the test."""

    stop = Tenant.close
