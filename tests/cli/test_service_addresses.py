"""Which service a command asks, if there is one elsewhere and a store here."""

import pytest
from servers import clean_env

from app.cli.addresses import is_of_this_machine
from app.serve.embedded_store import EmbeddedStore

ELSEWHERE = "http://198.51.100.7:8080"
"""No machine has this address; without a key, none is connected to."""
LIST = ["agents", "list"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of an embedded store that runs."""
    found = tmp_path_factory.mktemp("store")
    with EmbeddedStore(found):
        yield found


@pytest.fixture
def env(folder):
    return clean_env() | {"REMIT_DATA_DIR": str(folder)}


@pytest.mark.slow
def test_a_service_elsewhere_and_a_store_here_are_told_apart(run_remit, env, folder):
    """On standard error, by commands over HTTP and by those on the store."""
    ran = run_remit(LIST, env | {"REMIT_URL": ELSEWHERE})
    assert (
        f"note: REMIT_URL asks {ELSEWHERE}, and not the store embedded in {folder}, which is served here" in ran.stderr
    )
    ran = run_remit([*LIST, "-w", "default"], env | {"REMIT_URL": ELSEWHERE})
    assert f"note: `--workspace` asks the store embedded in {folder}, and not {ELSEWHERE}, the REMIT_URL" in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "given"),
    [
        (LIST, {"REMIT_URL": "http://127.0.0.1:1"}),
        ([*LIST, "--url", ELSEWHERE], {}),
        (LIST, {"REMIT_URL": ELSEWHERE, "REMIT_REDIS_URL": "redis://127.0.0.1:1"}),
        (LIST, {"REMIT_URL": ELSEWHERE, "REMIT_DATA_DIR": "/nonexistent"}),
        ([*LIST, "-w", "default"], {}),
    ],
    ids=["of this machine", "named by the command", "perhaps the same store", "no store here", "no service"],
)
def test_nothing_is_said_where_they_may_be_one(run_remit, env, words, given):
    assert "note:" not in run_remit(words, env | given).stderr


@pytest.mark.parametrize("url", ["unix:///x", "http://localhost:1", "http://[::1]:1", "https://no-such-host.invalid"])
def test_a_host_that_may_be_this_one_counts_as_this_one(url):
    assert is_of_this_machine(url)


def test_an_address_of_no_machine_is_elsewhere():
    assert not is_of_this_machine(ELSEWHERE)
