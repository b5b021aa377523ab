"""The peers, installed in bench/.venv from PyPI and npm; requirements.txt pins their versions."""

import shutil
import subprocess
import sys
from pathlib import Path

from bench.harness.cores import pinned
from bench.harness.machine import ROOT

FOLDER = ROOT / "bench" / ".venv"
REQUIREMENTS = ROOT / "bench" / "requirements.txt"
CERBOS = "cerbos@0.51.0"
HOW = "python -m bench setup"


class PeerMissing(Exception):
    """A peer is not installed; the message says how to get it. Measurements that need it are left out."""


def install() -> None:
    """Install the peers into bench/.venv, and say which are missing."""
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
    pip = [str(FOLDER / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", str(REQUIREMENTS)], check=True)
    if shutil.which("npm") is None:
        print("npm is missing, so Cerbos is not installed; it is packaged: apt-get install -y npm")
        return
    npm = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(FOLDER), CERBOS]
    subprocess.run(npm, check=True)


def run_script(name: str, core: int, *args: object) -> str:
    """The output of a script of bench/peers, run in the peers' environment. Raises PeerMissing."""
    command = [str(_present(FOLDER / "bin" / "python")), "-m", f"bench.peers.{name}", *map(str, args)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=pinned(core))
    return done.stdout


def cerbos_binary() -> Path:
    """The platform's own binary, without the launcher around it. Raises PeerMissing."""
    found = sorted((FOLDER / "node_modules" / "@cerbos").glob("cerbos-*/cerbos-*"))
    return _present(found[0] if found else FOLDER / "node_modules" / "@cerbos")


def _present(path: Path) -> Path:
    if not path.is_file():
        raise PeerMissing(f"{path.relative_to(ROOT)} is missing; install the peers with: {HOW}")
    return path
