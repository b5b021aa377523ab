"""docs/operations.md, held against the code: settings, metrics, tests that it names, and the commands of a backup."""

import ast
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from calls import Callers, entries, make_agent
from serving import Service

from app.http.api.metrics import STORE_GAUGES
from app.metrics import FAMILIES
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
    """They are never printed; whoever writes them into a file should know."""
    sentence = re.search(r"Never shown anywhere: (.*)\.", PAGE)[1]
    assert set(re.findall(r"`REMIT_(\w+)`", sentence)) == {name.upper() for name in SECRETS}


def test_the_page_lists_every_metric_with_its_kind_and_its_meaning():
    """As /metrics itself says them."""
    wanted = [[f"`{family.name}`", family.kind, family.meaning] for family in FAMILIES]
    wanted += [[f"`{name}`", "gauge", meaning] for name, meaning in STORE_GAUGES.items()]
    assert table("### Metrics") == wanted, "\n".join(f"| {' | '.join(row)} |" for row in wanted)


def test_every_alert_asks_for_metrics_that_exist():
    """An alert on a name that is gone never fires."""
    known = {family.name for family in FAMILIES} | STORE_GAUGES.keys()
    for expression, *_ in table("### Alerts"):
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


def commands(heading: str) -> str:
    """The shell block below a heading."""
    return re.search(r"```sh\n(.*?)```", PAGE.split(f"\n{heading}\n", 1)[1], re.DOTALL)[1]


@pytest.fixture
def shell(tmp_path):
    """Runs a block of the page where `var` is the data directory and `remit` the console."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/remit").symlink_to(Path(sys.executable).parent / "remit")

    def run(block: str, env: dict[str, str]) -> str:
        path = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
        return subprocess.check_output(["bash", "-euc", block], cwd=tmp_path, env=env | path, text=True)

    return run


def test_a_backup_of_a_running_service_is_restored_as_the_page_says(tmp_path, shell, program):
    """What had been answered when the copying began is in the copy; the copy is a service that goes on from there."""
    program("redis-cli", "the backup of docs/operations.md")
    service = Service(tmp_path, REMIT_DATA_DIR="var", REMIT_AUDIT_SEGMENT_ENTRIES="16")
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

    shutil.rmtree(tmp_path / "var")
    shell(commands("### Restore"), service.env)
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
