"""The store's clock runs a day ahead, no commit sees it, and it goes back: what rules counted still counts."""

import contextlib
import mmap
import os
import struct
import subprocess
from pathlib import Path

import pytest
from commit_scene import Scene, names
from counted import KINDS
from servers import Store

from app.redis_client.clients import open_client

DAY_S = 86_400
SHIM = Path(__file__).with_name("clock_ahead.c")


class ShiftedStore:
    """A store whose wall clock a test can shift."""

    def __init__(self, binary: str, folder: Path, shim: Path) -> None:
        self._file = folder / "ahead"
        self._file.write_bytes(bytes(8))
        os.environ |= {"LD_PRELOAD": str(shim), "CLOCK_AHEAD": str(self._file)}
        try:
            self.store = Store(binary, folder)
        finally:
            del os.environ["LD_PRELOAD"], os.environ["CLOCK_AHEAD"]

    @contextlib.contextmanager
    def ahead(self, seconds: int):
        """The store's clock is that far ahead within this context."""
        with self._file.open("r+b") as file, mmap.mmap(file.fileno(), 8) as shift:
            shift[:] = struct.pack("q", seconds)
            try:
                yield
            finally:
                shift[:] = bytes(8)


@pytest.fixture(scope="module")
def shim(tmp_path_factory, program):
    """The library that shifts a process's clock."""
    made = tmp_path_factory.mktemp("shim") / "clock_ahead.so"
    subprocess.run(
        [
            program("gcc", "clocks that run ahead"),
            "-shared",
            "-fPIC",
            "-O2",
            "-Wall",
            "-Werror",
            "-o",
            made,
            SHIM,
            "-ldl",
        ],
        check=True,
    )
    return made


@pytest.fixture(scope="module", params=["redis", "valkey"])
def shifted(request, server, shim, tmp_path_factory):
    made = ShiftedStore(server(request.param), tmp_path_factory.mktemp("shifted"), shim)
    yield made
    made.store.stop()


async def time_s(client) -> int:
    return int((await client.call("TIME"))[0])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_clock_that_runs_ahead_for_a_moment_frees_nothing(shifted, kind, workspace_id):
    """The store drops keys whose time has come when they are looked at, so during that moment all of them are."""
    client = open_client(shifted.store.url, 5_000)
    try:
        scene = await Scene(client, client, workspace_id).enter()
        await KINDS[kind].count(scene, None)
        await client.call("SET", "canary", "", "EX", DAY_S // 2)
        before_s = await time_s(client)
        with shifted.ahead(DAY_S):
            while await time_s(client) < before_s + DAY_S:  # Valkey reads its clock ten times a second
                pass
            for name in await names(client, "*"):
                await client.call("EXISTS", name)
        while await time_s(client) >= before_s + DAY_S:
            pass
        assert not await client.call("EXISTS", "canary")
        assert await KINDS[kind].counts(scene, None)
    finally:
        await client.close()
