"""docs/operations.md agrees with the code: settings, metrics, the tests it names, and the commands of a backup."""

import ast
import contextlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
import redis
from calls import Callers, entries, make_agent
from servers import ADMIN_KEY, Replica, Store
from serving import Service

from app.http.api.service import STORE_GAUGES
from app.runtime.metrics import FAMILIES
from app.settings import SECRETS, Settings, names

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/operations.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, cell by cell."""
    below = PAGE.split(f"\n{heading}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def meanings() -> dict[str, str]:
    """The sentence below each field of the settings, in one line."""
    tree = ast.parse((ROOT / "app/settings.py").read_text())
    [body] = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings"]
    found = {}
    for field, below in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            found[field.target.id] = " ".join(below.value.value.split())
    return found


def shown(default: object) -> str:
    """A default as the page writes it."""
    match default:
        case None | "":
            return "unset"
        case bool():
            return f"`{str(default).lower()}`"
        case _:
            return f"`{default}`"


def test_the_page_lists_every_setting_with_its_default_and_its_meaning():
    """In the order of the struct, so that what belongs together stands together."""
    sentences, fields = meanings(), msgspec.structs.fields(Settings)
    defaults = {field.name: field.default for field in fields}
    wanted = [[f"`{name}`", shown(defaults[field]), sentences[field]] for name, field in names().items()]
    assert table("## Settings") == wanted, "\n".join(f"| {' | '.join(row)} |" for row in wanted)


def test_the_page_says_which_settings_are_secrets():
    """They are never printed, and people who write them into a file should know that."""
    sentence = re.search(r"never shown anywhere: (.*?)\.", PAGE, re.DOTALL)[1]
    assert set(re.findall(r"`REMIT_(\w+)`", sentence)) == {name.upper() for name in SECRETS}


def test_the_page_lists_every_metric_with_its_kind_and_its_meaning():
    """As /metrics itself says them."""
    wanted = [[f"`{family.name}`", family.kind, family.meaning] for family in FAMILIES]
    wanted += [[f"`{name}`", "gauge", meaning] for name, meaning in STORE_GAUGES.items()]
    assert table("### Metrics") == wanted, "\n".join(f"| {' | '.join(row)} |" for row in wanted)


def test_every_alert_asks_for_metrics_that_exist():
    """An alert on a name that is gone never fires."""
    known = {family.name for family in FAMILIES} | STORE_GAUGES.keys()
    for _, _, expression, *_ in table("### Alerts"):
        for name in re.findall(r"remit_\w+", expression):
            assert re.sub(r"_(bucket|sum|count)$", "", name) in known or name in known


def test_every_test_that_the_page_names_exists():
    """A promise without its test is not made here."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 10
    for path, test in named:
        assert re.search(rf"^(async )?def {test}\(", (ROOT / path).read_text(), re.MULTILINE), f"{path}::{test}"


def test_every_file_that_the_page_links_exists():
    """Relative to docs/."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", PAGE):
        assert (ROOT / "docs" / target).exists(), target


def commands(heading: str, number: int = 0) -> str:
    """A shell block below a heading."""
    return re.findall(r"```sh\n(.*?)```", PAGE.split(f"\n{heading}\n", 1)[1], re.DOTALL)[number]


@pytest.fixture
def shell(tmp_path):
    """Runs a block of the page, with `remit` on the path."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/remit").symlink_to(Path(sys.executable).parent / "remit")

    def run(block: str, env: dict[str, str]) -> str:
        path = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
        return subprocess.check_output(["bash", "-euc", block], cwd=tmp_path, env=env | path, text=True)

    return run


def test_a_backup_of_a_running_service_is_restored_as_the_page_says(tmp_path, shell, program):
    """Everything answered before the copying began is in the copy, and a service continues from it."""
    program("redis-cli", "the backup of docs/operations.md")
    service = Service(tmp_path, XDG_DATA_HOME=str(tmp_path / "home"), REMIT_AUDIT_SEGMENT_ENTRIES="16")
    del service.env["REMIT_DATA_DIR"]
    service.launch(cwd=tmp_path)
    service.until(lambda: "\nserving " in service.said, "it serves")
    key = service.key
    with service.client(key) as client:
        agent_id = make_agent(client)
    with Callers(service.port, key, agent_id, count=2) as callers:
        callers.after(100)
        before = dict(callers.answered)
        shell(commands("### Backup"), service.env)
        callers.after(20)
    assert service.stop() == 0

    shutil.rmtree(tmp_path / "home")
    shell(commands("### Restore"), service.env)
    assert shell(commands("### Restore", 1), service.env)
    service.launch(cwd=tmp_path)
    service.until(lambda: "\nserving " in service.said, "it serves again")
    with service.client(key) as client:
        kept = entries(client, agent_id)
        assert before.keys() <= kept.keys()
        assert client.get("/v1/audit-logs/verify").status_code == 200
    with Callers(service.port, key, agent_id, count=1) as callers:
        callers.after(1)
    assert shell("remit audit verify", service.env)
    assert service.stop() == 0


@pytest.mark.parametrize("kind", ["redis", "valkey"])
def test_a_backup_of_a_store_of_ones_own_is_restored_as_the_page_says(tmp_path, shell, program, server, kind):
    """While it keeps rewriting its files under load; restored into another directory and server."""
    program("redis-cli", "the backup of docs/operations.md")
    options = ("--appendonly", "yes", "--appendfsync", "always", "--user", "backup", "on", ">secret", "+info")
    store = Store(server(kind), tmp_path / "of its own", *options)
    replica = Replica(store.url, REMIT_AUDIT_SEGMENT_ENTRIES="16")
    reach = {"STORE_CLI": f"redis-cli -e -p {store.port} --user backup", "REDISCLI_AUTH": "secret"}
    rewriting = threading.Event()
    try:
        with replica.client() as client:
            agent_id = make_agent(client)
        with Callers(replica.port, ADMIN_KEY, agent_id, count=2) as callers:
            callers.after(50)
            rewriter = threading.Thread(target=rewrite_until, args=(store.port, rewriting))
            rewriter.start()
            callers.after(50)
            before = dict(callers.answered)
            shell(commands("### Backup"), replica.env | reach | {"STORE_DIR": str(store.folder)})
            rewriting.set()
            rewriter.join()
            callers.after(20)
        assert sorted(path.name for path in (tmp_path / "backup").iterdir()) == ["appendonlydir"]
        assert not (store.folder / "held-for-backup").exists()
    finally:
        rewriting.set()
        replica.stop()
        store.stop()

    shell(commands("### Restore"), replica.env | {"STORE_DIR": str(tmp_path / "another")})
    restored = Store(server(kind), tmp_path / "another", *options)
    try:
        env = replica.env | {"REMIT_REDIS_URL": restored.url}
        shell(commands("### Restore", 1), env)
        with redis.Redis(port=restored.port) as client:
            assert client.exists(*client.keys("remit:*agent:*"))
        after = Replica(restored.url)
        with after.client() as client:
            kept = entries(client, agent_id)
        after.stop()
        assert before.keys() <= kept.keys()
    finally:
        restored.stop()


def rewrite_until(port: int, done: threading.Event) -> None:
    """Make the store rewrite its append-only file again and again."""
    with redis.Redis(port=port) as client:
        while not done.is_set():
            with contextlib.suppress(redis.exceptions.ResponseError):
                client.bgrewriteaof()


def test_a_store_that_writes_no_append_only_file_gives_no_backup(tmp_path, shell, program, server):
    """Old files may still be there."""
    program("redis-cli", "the backup of docs/operations.md")
    store = Store(server("redis"), tmp_path / "store", "--appendonly", "yes")
    try:
        with redis.Redis(port=store.port) as client:
            client.config_set("appendonly", "no")
        reach = {"STORE_CLI": f"redis-cli -e -p {store.port}", "STORE_DIR": str(store.folder)}
        with pytest.raises(subprocess.CalledProcessError):
            shell(commands("### Backup"), dict(os.environ) | reach)
        assert not (tmp_path / "backup").exists()
    finally:
        store.stop()
