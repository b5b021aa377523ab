"""Reports of outcomes with records, whose lanes or replicas are killed around the write, and whose replies are lost."""

import contextlib
import threading

import httpx
import pytest
from proxy import Fault
from servers import HASTY, Replica
from test_keyed_batches_under_kill import RAN, kill_lanes

from app.model.records import digest
from app.model.sequences import session_digest
from app.store.keyspace import Keyspace

RECORDS = {f"order:{number}": {"status": "delivered", "sum": number} for number in range(3)}
READS = {"of": "order:{parameters.order}", "from": ["read"], "fields": {"status": {"enum": ["delivered"]}}}
GUARD = {"type": "parameter_constraint", "tools": ["refund"], "record": READS}


@pytest.fixture
def replica(proxy, own):
    return own(Replica(proxy.url, **HASTY, REMIT_COMPACT="false"))


class Reporting:
    """Reports an outcome in a thread, again and again, until it is answered."""

    def __init__(self, client, decision_id):
        self.answer, self._between = None, threading.Event()
        self._client, self._path = client, f"/v1/decisions/{decision_id}/outcome"
        self._thread = threading.Thread(target=self._report, daemon=True)
        self._thread.start()

    def _report(self):
        while self.answer is None:
            with contextlib.suppress(httpx.HTTPError):
                answer = self._client.post(self._path, json={"status": "executed", "records": RECORDS})
                assert answer.is_success or answer.status_code == 503, answer.text
                self.answer = answer.json() if answer.is_success else None
            self._between.wait(0 if self.answer else 0.02)

    def again(self):
        """The answer, which a further report gets, too."""
        self._thread.join()
        first, self.answer = self.answer, None
        self._report()
        assert self.answer == first
        return first


@pytest.mark.parametrize("kill", [kill_lanes, Replica.kill], ids=lambda kill: kill.__name__)
@pytest.mark.parametrize("fault", [*RAN, Fault.BLACK_HOLE], ids=lambda fault: fault.name.lower())
def test_all_records_of_a_report_are_kept_once_or_none(tenant, proxy, replica, fault, kill):
    """None if nothing reaches the store; all if they were written and nobody heard of it. Repeated, the report has one
    entry, and its records keep their time.
    """
    agent_id = tenant.new_agent()["id"]
    tenant.new_policy(agent_id, {"type": "tool_allowlist", "tools": ["*"]}, GUARD)
    key = Keyspace(tenant.id).session_records(agent_id, session_digest("s"))

    def kept():
        return tenant.in_store(lambda client: client.call("HGETALL", key))

    with replica.client(tenant.new_key(["authorize", "record"])["key"]) as client:

        def ask(tool, **parameters):
            body = {"agent_id": agent_id, "tool_name": tool, "parameters": parameters, "context": {"session": "s"}}
            return client.post("/v1/authorize", json=body).json()

        read = ask("read")["id"]
        proxy.break_(fault, digest("order:0"))  # only the script that writes the report is given this
        reporting = Reporting(client, read)
        assert proxy.struck.wait(60)
        kill(replica)
        written, reported = kept(), tenant.log(agent_id=agent_id, action="outcome")
        assert (len(written), len(reported)) == ((len(RECORDS), 1) if fault in RAN else (0, 0))
        proxy.heal()
        if kill is Replica.kill:
            replica.start()
        answer = reporting.again()
        assert len(kept()) == len(RECORDS)
        assert not written or kept() == written
        assert [ask("refund", order=str(number))["result"] for number in range(4)] == ["allowed"] * 3 + ["denied"]
    [entry] = tenant.log(agent_id=agent_id, action="outcome")
    assert (entry["id"], entry["decisionId"]) == (answer["id"], read)
