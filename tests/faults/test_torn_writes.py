"""A crash in the middle of a commit: what it left in the embedded store's file is cut, and nothing later is lost."""

import shutil
from contextlib import asynccontextmanager

import pytest
from commit_scene import Scene, everything, quota

from app.redis_client.clients import open_client
from app.serve.append_only_files import cut_torn_write
from app.serve.embedded_store import EmbeddedStore
from app.serve.server_binaries import Server, record_server

QUOTA = quota("three-a-day", 3, 86_400_000_000)
STARTS = 5


def file_of(folder):
    return folder / "appendonlydir" / "appendonly.aof.1.incr.aof"


@asynccontextmanager
async def store_in(folder):
    """A client of the embedded store of the folder."""
    with EmbeddedStore(folder) as store:
        client = open_client(store.url, 5_000)
        try:
            yield client
        finally:
            await client.close()


class Written:
    """A folder with two commits, the sizes of its file before and after the second, and what was stored then."""

    def __init__(self, folder, workspace_id):
        self.folder, self.workspace_id = folder, workspace_id

    async def write(self):
        async with store_in(self.folder) as client:
            self.scene = await Scene(client, client, self.workspace_id).enter()
            await self.scene.commit(QUOTA, at=None)
            self.size, self.stored = file_of(self.folder).stat().st_size, await everything(client, "*")
            await self.scene.commit(QUOTA, at=None)
        self.data = file_of(self.folder).read_bytes()
        return self


@pytest.fixture(params=["redis", "valkey"])
async def written(request, server, tmp_path, workspace_id):
    server(request.param)
    folder = tmp_path / "data"
    folder.mkdir()
    record_server(folder, Server("", request.param, (0, 0)))
    return await Written(folder, workspace_id).write()


@pytest.mark.parametrize("zeros", [0, 4096], ids=["cut", "followed by zeros"])
async def test_wherever_a_commit_is_cut_off_nothing_of_it_remains(written, zeros):
    """At every byte. A file whose length was on disk before its bytes ends in zeros."""
    file = file_of(written.folder)
    assert written.data[written.size :].startswith(b"*1\r\n$5\r\nMULTI\r\n")
    for length in range(written.size, len(written.data) + 1):
        file.write_bytes(written.data[:length] + bytes(zeros))
        said = cut_torn_write(written.folder)
        whole = written.data if length == len(written.data) else written.data[: written.size]
        assert file.read_bytes() == whole
        assert (said is None) == (length + zeros == len(whole))
        if said:
            assert said.endswith(f": its last {length + zeros - len(whole)} bytes have been cut")


async def test_after_a_commit_was_cut_off_what_is_answered_survives_every_start(written, tmp_path):
    """Redis 7.0 would append to the beginning of the commit, and lose or revive what is in it at its second start."""
    torn = range(written.size + 1, len(written.data), (len(written.data) - written.size) // STARTS)
    for length in {*torn, len(written.data) - 1}:
        folder = tmp_path / str(length)
        shutil.copytree(written.folder, folder, ignore=shutil.ignore_patterns("*.sock"))
        file_of(folder).write_bytes(written.data[:length])
        async with store_in(folder) as client:
            assert await everything(client, "*") == written.stored
            scene = Scene(client, client, written.workspace_id)
            scene.caller, scene.agent = written.scene.caller, written.scene.agent
            decision = await scene.commit(QUOTA, at=None)
            stored = await everything(client, "*")
            assert [entry["id"] for entry in await scene.entries()][1:] == [decision.id]
        async with store_in(folder) as client:
            assert await everything(client, "*") == stored


async def test_damage_that_no_crash_leaves_is_the_servers_to_report(written):
    """A changed byte in the middle of the last commit: nothing is cut."""
    file = file_of(written.folder)
    damaged = bytearray(written.data)
    damaged[written.size + 20 : written.size + 21] = b"?"
    file.write_bytes(damaged)
    assert cut_torn_write(written.folder) is None
    assert file.read_bytes() == damaged
