from types import SimpleNamespace

import pytest
from servers import Replica
from tenants import Tenant

from tests.console.scene import build

SECRET = "console " * 5
LOOPBACK = {"REMIT_WEBHOOK_HTTP": "true", "REMIT_WEBHOOK_NETWORKS": "127.0.0.0/8"}


@pytest.fixture(scope="session")
def console_replica(store):
    """A replica that can ask people, and send to receivers on this machine."""
    running = Replica(store.url, REMIT_SECRET=SECRET, REMIT_COMPACT="false", **LOOPBACK)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def scene(store, console_replica):
    """A filled workspace: its tenant, its ids, and a key for each set of scopes."""
    tenant = Tenant(store.url, console_replica)
    runtime = console_replica.client(tenant.new_key(["authorize"])["key"])
    ids = build(tenant.admin, runtime)
    keys = {}

    def key(*scopes):
        if scopes not in keys:
            keys[scopes] = tenant.new_key(list(scopes))["key"]
        return keys[scopes]

    yield SimpleNamespace(tenant=tenant, ids=ids, key=key, runtime=runtime, url=console_replica.base_url)
    runtime.close()
    tenant.close()


@pytest.fixture
def visit(browsing, scene):
    """Opens a visitor of the filled workspace with these scopes, who must have done nothing forbidden at the end."""
    opened = []

    def visit(*scopes, key=None, **options):
        visitor = browsing.visit(scene.url, key or (scene.key(*scopes) if scopes else None), **options)
        opened.append(visitor)
        return visitor

    visit.opened = opened
    yield visit
    faults = [fault for visitor in opened for fault in visitor.faults]
    for visitor in opened:
        visitor.close()
    assert faults == []


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that fails shows what its visitors had before them."""
    report = (yield).get_result()
    if call.when == "call" and report.failed:
        seen = [visitor.seen() for visitor in getattr(item.funcargs.get("visit"), "opened", ())]
        report.sections += [("what was on the screen", each) for each in seen]
