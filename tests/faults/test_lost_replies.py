"""Lost replies: a proxy between replica and store drops them, and callers ask again."""

import contextlib
import http.client
from collections import Counter

import httpx
import pytest
import redis
from proxy import Fault, Proxy
from servers import HASTY, Replica
from topologies import SEALING_FAST, until
from witness import IMPATIENT, Listing, Witness

AFTER_IT_RAN = [Fault.HOLD, Fault.LOSE, Fault.CUT, Fault.CUT_MID_REPLY]
EVERY_FAULT = [*AFTER_IT_RAN, Fault.BLACK_HOLE, Fault.REFUSE]
CALLERS = 16
AT_ONCE = 64


def named(fault):
    return fault.name.lower().replace("_", " ")


@pytest.fixture(scope="module")
def proxy(store, shared):
    return shared(Proxy(store.port).start())


@pytest.fixture(scope="module")
def replica(proxy, shared):
    """A replica, and its compactor, with the proxy between them and the store."""
    return shared(Replica(proxy.url, **SEALING_FAST, **HASTY))


@pytest.fixture
def witness(store, proxy, replica, checked_witness):
    yield checked_witness(redis.Redis(port=store.port), store.url, replica)
    proxy.heal()


@pytest.fixture
def agent_id(witness):
    """An agent with a quota, which the replica has seen."""
    agent_id = witness.new_agent(max_calls=1_000)
    witness.question(agent_id).send_until_answered()
    return agent_id


@pytest.mark.parametrize("fault", AFTER_IT_RAN, ids=named)
def test_a_reply_lost_after_the_commit_ran_is_503_and_a_keyed_retry_gets_that_decision(witness, agent_id, proxy, fault):
    """One entry, one call in the quota, and the entry's answer; the 503 did not wait for the reply."""
    question = witness.question(agent_id, key="order 1")
    proxy.break_(fault, question.mark)
    refused = question.send()
    assert (refused.status, refused.answer) == (503, None)
    assert proxy.struck.wait(60)  # what has been sent runs, if only after the caller was refused
    assert b'"STORE_UNAVAILABLE"' in question.caller.last
    proxy.heal()
    [entry] = question.entries(witness.log())

    answer = question.send_until_answered()

    assert (answer["id"], answer["reason"], answer["timestamp"]) == (entry["id"], entry["reason"], entry["timestamp"])
    assert len(question.entries(witness.log())) == 1
    assert witness.admitted(agent_id) == 2


@pytest.mark.parametrize("fault", AFTER_IT_RAN, ids=named)
def test_without_a_key_a_retry_counts_twice_and_never_less(witness, agent_id, proxy, fault):
    """Each run adds an entry and a call to the quota."""
    question = witness.question(agent_id)
    proxy.break_(fault, question.mark)
    assert question.send().status == 503
    assert proxy.struck.wait(60)
    proxy.heal()
    [first] = question.entries(witness.log())

    answer = question.send_until_answered()

    assert [entry["id"] for entry in question.entries(witness.log())] == [first["id"], answer["id"]]
    assert first["id"] != answer["id"]
    assert witness.admitted(agent_id) == 3


@pytest.mark.parametrize("fault", EVERY_FAULT, ids=named)
def test_a_store_out_of_reach_is_503_until_it_is_back_and_then_decisions_go_on(witness, agent_id, proxy, fault):
    """Nothing is restarted, callers that retry with a key count once, and no connection is cut."""
    with witness.load(agent_id, count=CALLERS, idempotent=True) as patient:
        patient.after(30)
        proxy.break_(fault)
        with witness.load(agent_id, count=CALLERS) as refused:
            refused.after(30, "refused")
        assert refused.answered == []
        proxy.heal()
        patient.after(30)
    assert (patient.wrong, refused.wrong) == ([], [])
    assert (patient.cut, refused.cut) == ([], [])


def test_callers_of_a_store_that_comes_back_do_not_all_connect_at_once(witness, agent_id, proxy):
    """However many wait, a lane's decisions come back over one connection.

    Lanes, the compactor and checks of keys have a dozen connections more at most.
    """
    with witness.load(agent_id, count=AT_ONCE, idempotent=True, pause_s=0) as load:
        load.after(30)
        proxy.break_(Fault.REFUSE)
        with witness.load(agent_id) as refused:
            refused.after(30, "refused")
        before = proxy.accepted
        proxy.heal()
        load.after(200)
    assert proxy.accepted - before < AT_ONCE / 2


def test_sealing_goes_on_when_the_store_is_back(witness, agent_id, proxy):
    """The compactor behind the same proxy is not restarted either."""
    proxy.break_(Fault.CUT_MID_REPLY)
    with witness.load(agent_id) as refused:
        refused.after(10, "refused")
    proxy.heal()
    with witness.load(agent_id) as load:
        load.after(20)
    while not witness.store.exists(f"remit:{{{witness.tenant.id}}}:audit:segment:1"):
        assert witness.tenant.log(limit=1)


@pytest.mark.parametrize("unseen", ["nothing", "caller", "agent"])
def test_a_decision_is_given_up_while_a_request_that_may_take_longer_still_waits(witness, agent_id, proxy, own, unseen):
    """The deadline covers everything a decision needs, including agents and keys new to this replica."""
    impatient = own(Replica(proxy.url, REMIT_COMPACT="false", **IMPATIENT))
    witness.question(agent_id, port=impatient.port).send_until_answered()

    def is_given_up_first():
        question = witness.question(witness.new_agent() if unseen == "agent" else agent_id, port=impatient.port)
        if unseen == "caller":
            question.caller.use_key(witness.tenant.new_key(["read"])["key"])
        proxy.break_(Fault.HOLD, f"{witness.tenant.id}}}:agents")
        listing = Listing(admin)
        until(lambda: proxy.struck.is_set() or not listing.is_alive(), "the listing waits, or was refused before")
        proxy.break_(Fault.HOLD)
        was_first = listing.outlasts(question)
        proxy.heal()
        listing.finish()
        return was_first

    # Without a core for half a second, the test cannot tell which came first.
    with impatient.client(witness.tenant.admin_key) as admin:
        assert any(is_given_up_first() for _ in range(9))


def test_many_requests_at_once_wait_their_turn_on_few_connections(store, own):
    """More requests than connections: none is refused, and the store is not flooded."""
    proxy = own(Proxy(store.port).start())
    witness = own(Witness(redis.Redis(port=store.port), store.url, own(Replica(proxy.url, REMIT_COMPACT="false"))))
    with contextlib.ExitStack() as stack:
        callers = [stack.enter_context(contextlib.closing(connection_to(witness.replica))) for _ in range(150)]
        before = proxy.accepted
        proxy.break_(Fault.HOLD)
        for caller in callers:
            caller.request("GET", "/v1/agents", headers={"Authorization": f"Bearer {witness.tenant.admin_key}"})
        assert httpx.get(f"{witness.replica.base_url}/livez").status_code == 200  # they were read before this was
        proxy.heal()
        answers = [stack.enter_context(caller.getresponse()).status for caller in callers]
    assert Counter(answers) == {200: 150}
    assert proxy.accepted - before <= AT_ONCE + 2


def connection_to(replica):
    return http.client.HTTPConnection("127.0.0.1", replica.port, timeout=60)
