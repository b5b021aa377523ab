"""A catalogue is written completely or not at all, whatever is killed or lost meanwhile."""

import contextlib
import threading

import httpx
import pytest
import redis
from proxy import Fault, Proxy
from servers import Replica, Store
from topologies import SEALING_FAST, until
from witness import Witness

TOOLS = 200


def generation(number):
    """Tools that all say which generation they are of."""
    return {"tools": [{"name": f"tool {each}", "title": f"generation {number}"} for each in range(TOOLS)]}


def whole(admin):
    """The generation and version of every tool: one of each."""
    found = admin.get("/v1/catalog").json()
    assert len(found) == TOOLS
    [(title, version)] = {(each["title"], each["version"]) for each in found}
    return title, version


def changes(admin):
    return admin.get("/v1/changes", params={"resource_type": "catalog", "limit": 1000}).json()


class Importer:
    """Writes one generation after the other. acknowledged: the last that was."""

    def __init__(self, client):
        self.sent, self.acknowledged = 0, 0
        self._client = client
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        self._thread.join(30)
        self._client.close()

    def after(self, count):
        wanted = self.acknowledged + count
        until(lambda: self.acknowledged >= wanted, f"{count} more catalogues are acknowledged")

    def _run(self):
        while not self._stopping.is_set():
            self.sent += 1
            with contextlib.suppress(httpx.HTTPError):
                answer = self._client.put("/v1/catalog", json=generation(self.sent))
                assert answer.is_success or answer.status_code == 503, answer.text
                if answer.is_success:
                    self.acknowledged = self.sent
            self._stopping.wait(0.01)


@pytest.mark.parametrize("name", ["redis", "valkey"])
def test_a_store_that_is_killed_while_it_writes_has_one_catalogue_or_the_other(server, tmp_path, own, name):
    """What was acknowledged last is there, or what was sent after it; the trail has an entry for each version."""
    store = own(Store(server(name), tmp_path, "--appendonly", "yes", "--appendfsync", "always"))
    witness = own(Witness(redis.Redis(port=store.port), store.url, own(Replica(store.url, **SEALING_FAST))))
    admin = witness.tenant.admin
    last = 0
    for _ in range(3):
        with Importer(witness.replica.client(witness.tenant.admin_key)) as importer:
            importer.sent = importer.acknowledged = last
            importer.after(3)
            store.kill()
        store.start()
        until(lambda: admin.get("/v1/catalog").is_success, "the replica has its store again")
        title, version = whole(admin)
        last = int(title.split()[1])
        assert importer.acknowledged <= last <= importer.sent
        assert len(changes(admin)) == version


def test_a_catalogue_whose_reply_was_lost_is_there_as_a_whole_and_once(store, own):
    """The caller hears 503 and looks: the version has moved, so the same write again is 412, or changes nothing."""
    witness = own(Witness(redis.Redis(port=store.port), store.url, own(Replica(store.url, **SEALING_FAST))))
    proxy = own(Proxy(store.port).start())
    behind = own(Replica(proxy.url, **SEALING_FAST))
    with behind.client(witness.tenant.admin_key) as admin:
        tag = {"If-Match": admin.put("/v1/catalog", json=generation(1)).headers["ETag"]}
        proxy.break_(Fault.LOSE, "generation 2")
        refused = admin.put("/v1/catalog", json=generation(2), headers=tag)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE")
        assert proxy.struck.is_set()
        proxy.heal()
        assert whole(admin) == ("generation 2", 2)
        assert admin.put("/v1/catalog", json=generation(2), headers=tag).status_code == 412
        assert admin.put("/v1/catalog", json=generation(2)).json()["changed"] == []
        assert len(changes(witness.tenant.admin)) == 2
