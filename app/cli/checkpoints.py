"""`remit audit key` and `remit audit witness`: for those who sign checkpoints, and for those who watch them."""

import os
import time
import uuid
from contextlib import suppress
from pathlib import Path

import click

from app.cli.api import Api, on_api
from app.cli.groups import CommandGroup
from app.cli.options import REASON, asks_first
from app.cli.output import Shown, shows
from app.model.notes import OF_CHANGES, Note, SignatureType, VerifierKey, origin_of
from app.model.text import with_hidden_shown

FILE = click.Path(dir_okay=False, path_type=Path)


def _vkey(_: click.Context, option: click.Parameter, given: tuple[str, ...]) -> list[VerifierKey]:
    try:
        return [VerifierKey.parse(each) for each in given]
    except ValueError as error:
        raise click.BadParameter(str(error), param=option) from None


VKEYS = {"multiple": True, "callback": _vkey, "metavar": "VKEY"}


@click.group("key", cls=CommandGroup)
def key() -> None:
    """Make the keys that sign checkpoints, and show what others need to verify them."""


@key.command("new")
@click.argument("name")
@click.argument("file", type=FILE)
@click.option("--witness", "of_witness", is_flag=True, help="A key for `remit audit witness` instead of a service.")
def make_key(name: str, file: Path, of_witness: bool) -> None:
    """Make a key with this NAME, such as remit.example.com, and add it to FILE (mode 0400).

    All keys in the file of a service sign. Print the verifier keys with `remit audit key show`.
    """
    from app.transparency.keys import SigningKey

    try:
        made = SigningKey.new(name, SignatureType.COSIGNATURE if of_witness else SignatureType.NOTE)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    before = file.read_text("ascii") if file.exists() else ""
    new = file.with_name(f"{file.name}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with os.fdopen(descriptor, "w") as out:
        out.write(before + made.line)
        out.flush()
        os.fsync(out.fileno())
    new.rename(file)
    click.echo(str(made.verifier))


@key.command("show")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("workspace_id", type=click.UUID, required=False)
def show_keys(file: Path, workspace_id: uuid.UUID | None) -> None:
    """Print the verifier keys of the keys in FILE, for the log of a workspace and for its trail of changes.

    A witness's key needs no WORKSPACE_ID. They are not secret: give them to auditors and witnesses.
    """
    from app.transparency.keys import read_keys

    try:
        keys = read_keys(file)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    for each in keys:
        if each.verifier.kind is SignatureType.COSIGNATURE:
            click.echo(str(each.verifier))
            continue
        if workspace_id is None:
            raise click.UsageError(
                "These keys sign for every workspace: give the id of one, which `remit workspaces list` prints"
            )
        origin = origin_of(each.verifier.name, str(workspace_id))
        for name in (origin, origin + OF_CHANGES):
            click.echo(str(each.named(name).verifier))


@click.command("witness")
@click.option("--key", "key_file", type=FILE, required=True, help="The witness's key: remit audit key new --witness.")
@click.option("--state", type=FILE, required=True, help="The file in which it remembers what it has signed.")
@click.option("--log", "logs", required=True, help="A verifier key of a log; repeat it for several.", **VKEYS)  # type: ignore[arg-type]
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8090, show_default=True, help="The port to listen on.")
def run_witness(key_file: Path, state: Path, logs: list[VerifierKey], host: str, port: int) -> None:
    """Cosign checkpoints of these logs, each only if it continues the one that was cosigned last.

    Run it where the operator of the service cannot write. It speaks tlog-witness of C2SP, over plain HTTP.
    """
    from app.transparency.keys import read_keys
    from app.transparency.witness import LogWitness, witness_server

    try:
        [signing] = read_keys(key_file)
    except ValueError as error:
        raise click.ClickException(f"--key must have one key: {error}") from None
    if signing.verifier.kind is not SignatureType.COSIGNATURE:
        raise click.ClickException("--key is a key of a service: make one with `remit audit key new --witness`")
    server = witness_server(host, port, LogWitness(state, signing, logs))
    with server, suppress(KeyboardInterrupt):
        click.echo(f"listening on http://{host}:{server.server_port} as {signing.verifier}")
        server.serve_forever()


def read_signed(file: Path, keys: list[VerifierKey], witnesses: list[VerifierKey], quorum: int | None) -> Note:
    """The note in the file, once its signatures are verified. Raises ClickException."""
    from app.transparency.keys import NotVerified, require_signed

    if len(keys) != 1:
        raise click.UsageError(
            "--checkpoint needs --key: the verifier key of the log, as `remit audit key show` prints it"
        )
    witnesses = list(dict.fromkeys(witnesses))
    quorum = len(witnesses) if quorum is None else quorum
    if quorum > len(witnesses):
        raise click.UsageError(f"--quorum is {quorum}, and there are {len(witnesses)} different --witness")
    try:
        note = Note.parse(file.read_text("utf-8"))
        require_signed(note, keys[0], witnesses, quorum, int(time.time()))
    except ValueError as error:
        raise click.ClickException(f"{file} {error}") from None
    except NotVerified as error:
        raise click.ClickException(str(error)) from None
    return note


@click.command("accept-fork")
@on_api
@asks_first("Do you know why the log does not continue what was signed, and shall it be signed again?")
@shows
@REASON
def accept_forks(api: Api, reason: str) -> Shown:
    """Let the service sign a log, or a trail of changes, that does not continue what was signed before.

    It had stopped: the store was set back, a failover lost entries, or somebody has rewritten them; `remit audit
    status` says why. Keep the last checkpoint, which proves what is missing, and tell the auditor.
    """
    accepted = api.call("POST", "/v1/audit-logs/accept-fork", {}, reason=reason)
    yield {"accepted": accepted}
    for each in accepted:
        click.echo(f"{each['tree']}: not signed since {each['since']}: {with_hidden_shown(each['message'])}")
    if not accepted:
        click.echo("nothing to accept: log and trail are signed")
