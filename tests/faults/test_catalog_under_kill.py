"""A catalogue is written completely or not at all, whatever is killed or lost meanwhile."""

import pytest
from changing import Changing
from proxy import Fault
from servers import Store
from topologies import until

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


class Importer(Changing):
    """Writes one generation after the other. acknowledged: those that were."""

    def __init__(self, witness, last):
        super().__init__(witness, "/v1/catalog")
        self.sent, self.acknowledged = last, [last]

    def change(self):
        self.sent += 1
        answer = self.admin.put(self.path, json=generation(self.sent))
        assert answer.is_success or answer.status_code == 503, answer.text
        if answer.is_success:
            self.acknowledged.append(self.sent)


@pytest.mark.parametrize("name", ["redis", "valkey"])
def test_a_store_that_is_killed_while_it_writes_has_one_catalogue_or_the_other(server, tmp_path, own, witness_on, name):
    """The last acknowledged one, or the one sent after it; the trail has an entry for each version."""
    store = own(Store(server(name), tmp_path, "--appendonly", "yes", "--appendfsync", "always"))
    witness = witness_on(store)
    admin = witness.tenant.admin
    last = 0
    for _ in range(3):
        with Importer(witness, last) as importer:
            importer.after(3)
            store.kill()
        store.start()
        until(lambda: admin.get("/v1/catalog").is_success, "the replica has its store again")
        title, version = whole(admin)
        last = int(title.split()[1])
        assert importer.acknowledged[-1] <= last <= importer.sent
        assert len(changes(admin)) == version


def test_a_catalogue_whose_reply_was_lost_is_stored_whole_and_once(witness, proxy, behind):
    """The caller gets 503 and looks: the version has moved, so the same write is 412, or changes nothing."""
    with behind.client(witness.tenant.admin_key) as admin:
        tag = {"If-Match": admin.put("/v1/catalog", json=generation(1)).headers["ETag"]}
        proxy.break_(Fault.LOSE, "generation 2")
        refused = admin.put("/v1/catalog", json=generation(2), headers=tag)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "STORE_UNAVAILABLE")
        assert proxy.struck.is_set()
        proxy.heal()
        until(lambda: admin.get("/v1/catalog").is_success, "the way is whole")
        assert whole(admin) == ("generation 2", 2)
        assert admin.put("/v1/catalog", json=generation(2), headers=tag).status_code == 412
        assert admin.put("/v1/catalog", json=generation(2)).json()["changed"] == []
        assert len(changes(witness.tenant.admin)) == 2
