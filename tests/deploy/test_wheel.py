"""The wheel that the image installs: complete, and runnable from any location."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from servers import free_port, wait_until_ready

from app.cli.main import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from the sdist, in a folder that is no repository."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder), "--target"]
    env = os.environ | {"REMIT_COMMIT": COMMIT, "REMIT_REPOSITORY_URL": "https://git.example.com/remit/"}
    subprocess.run([*build, "sdist"], cwd=ROOT, env=env, check=True, capture_output=True)
    [sdist] = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(folder, filter="data")
    del env["REMIT_COMMIT"]  # the sdist has recorded it
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    subprocess.run([*build, "wheel"], cwd=unpacked, env=env, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The bin folder of a fresh environment with the wheel in it; what it depends on is that of this one."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    # A .pth adds a folder to look in but is not followed from there, so the checkout stays out of sight.
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--no-index", "--no-deps", wheel],
        check=True,
        capture_output=True,
    )
    return folder / "bin"


def test_the_wheel_contains_every_module_every_script_and_the_console(wheel):
    """`lua/` lies inside the package, where a checkout has it beside."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "app").rglob("*.py")}
    console = {str(path.relative_to(ROOT)) for path in (ROOT / "app/http/console/static").rglob("*.*")}
    scripts = {f"app/{path.relative_to(ROOT)}" for path in (ROOT / "lua").rglob("*.lua")}
    assert scripts
    assert console
    assert modules | scripts | console <= inside
    assert not any(name.startswith(("tests/", "bench/", "lua/")) for name in inside)


def test_the_wheel_states_its_licence_and_carries_it(wheel):
    """Apache-2.0, in the words of the Apache Software Foundation."""
    with zipfile.ZipFile(wheel) as inside:
        [metadata] = [name for name in inside.namelist() if name.endswith(".dist-info/METADATA")]
        [licence] = [name for name in inside.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
        assert "License-Expression: Apache-2.0" in inside.read(metadata).decode().splitlines()
        assert inside.read(licence) == (ROOT / "LICENSE").read_bytes()


def test_the_readme_of_an_index_page_has_no_link_that_breaks(wheel):
    """Links into the repository name it and the version; the picture stays there."""
    with zipfile.ZipFile(wheel) as inside:
        [metadata] = [name for name in inside.namelist() if name.endswith(".dist-info/METADATA")]
        headers, _, readme = inside.read(metadata).decode().partition("\n\n")
    tree = f"https://git.example.com/remit/blob/v{version('remit')}/"
    assert "Project-URL: Repository, https://git.example.com/remit" in headers.splitlines()
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert [link for link in links if link.startswith(tree)]
    assert [link for link in links if not link.startswith(("https://", "http://", "#"))] == []
    assert "![" not in readme


def test_the_installed_command_names_its_version_and_commit(installed):
    """As the sdist recorded it, although this folder is no repository."""
    told = subprocess.check_output([installed / "remit", "--version"], cwd="/proc", text=True)
    assert told == f"remit {version('remit')} ({COMMIT[:12]})\n"


def test_the_installed_service_runs_where_it_can_write_nothing(installed, store):
    """From a folder that nobody can write to, as in an image whose file system is read-only."""
    port = free_port()
    env = {
        "PATH": os.environ["PATH"],
        "REMIT_PORT": str(port),
        "REMIT_REDIS_URL": store.url,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    where = "import app.redis_client.scripts as s; print(s.LUA)"
    lua = subprocess.check_output([installed / "python", "-c", where], env=env, cwd="/proc", text=True).strip()
    assert Path(lua).is_relative_to(installed.parent)

    told = subprocess.check_output([installed / "remit", "--help"], env=env, cwd="/proc", text=True)
    assert told.startswith("Usage: remit ")
    service = subprocess.Popen([installed / "remit", "serve"], env=env, cwd="/proc", stdout=subprocess.PIPE, text=True)
    try:
        wait_until_ready(f"http://127.0.0.1:{port}", service)
    finally:
        service.terminate()
        said, _ = service.communicate(timeout=30)
    assert service.returncode == 0
    assert "stopped   every request that was accepted has been answered" in said


def test_there_is_a_man_page_for_every_command(program, tmp_path):
    """As `make man` writes them, with the sentence that `--help` begins with."""
    python = program(str(ROOT / ".venv/release/bin/python"), "the man pages (make .venv/release.stamp)")
    path = f"{ROOT}:{sysconfig.get_path('purelib')}"
    command = [python, ROOT / "deploy/man_pages.py", tmp_path]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=True)
    written = {page.name.removesuffix(".1"): page.read_text() for page in tmp_path.iterdir()}
    assert written.keys() >= {"remit", *(f"remit-{name}" for name in main.list_commands(click.Context(main)))}
    assert "Check the store and print the risks." in written["remit-doctor"]
    assert all(page.startswith(".TH ") for page in written.values())
