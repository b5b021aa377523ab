"""One service for all tests; every test makes an agent of its own."""

import contextlib

import pytest
from cases import PATIENT, address
from service import ADMIN_KEY, FaultyServer, Service

from remit_client import AsyncRemit, Remit, calls

REFUND, MAIL = ["refund.create", "refund_create"], ["mail.send", "mail_send"]
RULES = [
    {"type": "parameter_constraint", "tools": REFUND, "parameters": {"amount": {"min": 0, "max": 500}}},
    {"type": "approval_required", "tools": MAIL},
    {"type": "parameter_constraint", "tools": MAIL, "parameters": {"to": {"required": True}}},
]


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    running = Service(tmp_path_factory.mktemp("remit"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def admin(service):
    """A client that may do everything."""
    with Remit(service.url, ADMIN_KEY, **PATIENT) as remit:
        yield remit


@pytest.fixture(scope="session")
def asking_key(admin):
    """The key of an agent's runtime."""
    return admin.send(calls.create_api_key("runtime", ["read"])).key


@pytest.fixture
def remit(service, asking_key):
    with Remit(service.url, asking_key, **PATIENT) as client:
        yield client


@pytest.fixture
async def async_remit(service, asking_key):
    async with AsyncRemit(service.url, asking_key, **PATIENT) as client:
        yield client


@pytest.fixture
def agent(admin):
    """The id of an agent that may refund up to 500, and may send mail if a person approves."""
    made = admin.send(calls.create_agent("refund-bot"))
    admin.send(calls.create_policy(made.id, "refunds and mail", RULES))
    return made.id


@pytest.fixture
def faulty():
    """Starts servers that give prepared answers."""
    with contextlib.ExitStack() as stack:

        def start(*answers, **options):
            server = FaultyServer(*answers, **options)
            stack.callback(server.close)
            return server

        yield start


@pytest.fixture
def at(faulty, monkeypatch):
    """The address of a service with the fault of a case."""
    return lambda case: address(case, faulty, monkeypatch)
