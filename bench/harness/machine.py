"""The machine and versions of a run, without which its numbers mean nothing."""

import importlib.metadata
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("litestar", "uvicorn", "httptools", "uvloop", "msgspec", "redis", "hiredis", "google-re2")


class Machine(Struct, frozen=True, kw_only=True):
    """The machine and the versions of one run."""

    taken_at: str
    cpu: str
    cores: int
    memory_gib: float
    kernel: str
    python: str
    packages: dict[str, str]
    store: str
    file_system: str
    commit: str
    changed_files: int
    load_before: float
    remark: str


def describe(store_version: str, store_folder: Path, remark: str) -> Machine:
    """This machine, now. remark: what else was running, according to the person who started the run."""
    return Machine(
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        cpu=_cpu(),
        cores=os.cpu_count() or 0,
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        kernel=platform.release(),
        python=platform.python_version(),
        packages={name: importlib.metadata.version(name) for name in PACKAGES},
        store=store_version,
        file_system=_file_system(store_folder),
        commit=_git("rev-parse", "--short=12", "HEAD"),
        changed_files=len(_git("status", "--porcelain", "--", "app", "lua", "bench").splitlines()),
        load_before=os.getloadavg()[0],
        remark=remark,
    )


def sentence(machine: Machine) -> str:
    """The machine and versions in one sentence."""
    dirty = f" with uncommitted changes in {machine.changed_files} file(s)" if machine.changed_files else ""
    versions = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    return (
        f"{machine.taken_at[:10]}, commit {machine.commit}{dirty}; {machine.cpu}, {machine.cores} cores, "
        f"{machine.memory_gib:g} GiB, Linux {machine.kernel}; Python {machine.python}, {versions}; "
        f"{machine.store} on {machine.file_system}; load average before the run {machine.load_before:.2f}."
    )


def _cpu() -> str:
    match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return match[1] if match else platform.machine()


def _file_system(folder: Path) -> str:
    """The type of the file system that holds `folder`: a sync costs nothing on some and milliseconds on others."""
    mounts = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    within = [(point, kind) for _, point, kind in mounts if folder.resolve().is_relative_to(point)]
    return max(within, key=lambda mount: len(mount[0]))[1] if within else "unknown"


def _git(*args: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown" if args[0] == "rev-parse" else done.stdout
