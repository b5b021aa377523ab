"""The list of jobs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app.approvals.reaper import ApprovalReaper
from app.audit.seal.compactor import Compactor
from app.audit.seal.retention import Retention
from app.audit.seal.sealer import Sealer
from app.audit.seal.tree_growth import TreeGrower
from app.identity.key_refresh import KeyRefresh
from app.model.ids import Ids
from app.redaction.signer import Signer
from app.redis_client.client import Client
from app.serve.housekeeping import Repairs, drop_all_spent_counts, drop_old_segments, end_approvals
from app.serve.schedule import Job
from app.serve.verification_rounds import VerificationRounds
from app.settings import Settings, SettingsError
from app.webhooks.delivery import Delivery
from app.webhooks.records import note_finding
from app.webhooks.secrets import Secrets
from app.webhooks.sender import Sender
from app.webhooks.webhooks import Webhooks

if TYPE_CHECKING:
    from app.transparency.rounds import CheckpointRounds

_SIGN_S = 60.0
_DAY_MS = 24 * 3600 * 1000
_VERIFY_S = 30.0
_SPENT_COUNTS_S = 300.0
"""Looking through a million keys costs the store half a second, in parts of less than a millisecond."""


@asynccontextmanager
async def background_jobs(client: Client, settings: Settings) -> AsyncIterator[list[Job]]:
    """The jobs for these settings. On leaving, events that are on their way to receivers are abandoned."""
    secrets = Secrets(Signer(settings.secrets))
    webhooks = Webhooks(client, Ids(), secrets, settings.webhooks_max)
    sender = Sender(client, Delivery(settings, secrets), settings.audit_backlog_max)
    reaper = ApprovalReaper(client, Ids(), settings.audit_backlog_max)
    repairs = Repairs(client, Sealer(client, settings.audit_segment_entries))
    jobs = [
        Job("seal logs", 1.0, Compactor(client, settings).sweep),
        Job("end approvals", 1.0, lambda _stopped: end_approvals(client, reaper)),
        Job("repair streams and chain changes", 1.0, repairs.run),
        Job("grow Merkle trees", 1.0, TreeGrower(client).catch_up),
        Job("send to webhooks", 1.0, sender.look),
        Job("read the keys of issuers", 5.0, KeyRefresh(client, settings).run),
        Job("drop spent counts", _SPENT_COUNTS_S, partial(drop_all_spent_counts, client), waits_first=True),
    ]
    if days := settings.audit_retention_days:
        retention = Retention(
            client,
            webhooks.read_up_to,
            settings.webhook_hold_days * _DAY_MS,
            unarchived=settings.audit_drop_unarchived,
        )
        jobs.append(Job("apply retention", 60.0, partial(drop_old_segments, client, retention, days * _DAY_MS)))
    if every_s := settings.audit_verify_every_seconds:
        rounds = VerificationRounds(client, settings, partial(note_finding, client))
        jobs.append(Job("verify logs", min(_VERIFY_S, every_s / 2), rounds.verify_due))
    if settings.checkpoint_key_file is not None:
        jobs.append(Job("sign checkpoints", _SIGN_S, _checkpoint_rounds(client, settings).run))
    try:
        yield jobs
    finally:
        await sender.stop()


def _checkpoint_rounds(client: Client, settings: Settings) -> "CheckpointRounds":
    """Signs with the keys of the settings. Raises SettingsError."""
    try:
        from app.transparency.keys import read_keys  # noqa: PLC0415 - only who signs needs its library
        from app.transparency.rounds import CheckpointRounds  # noqa: PLC0415
        from app.transparency.witnesses import witnesses_in  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError(
            "REMIT_CHECKPOINT_KEY_FILE needs the extra `checkpoints`: pip install -e '.[checkpoints]' in a checkout "
            f"({error})"
        ) from None
    try:
        keys = read_keys(Path(settings.checkpoint_key_file or ""))
    except ValueError as error:
        raise SettingsError(f"REMIT_CHECKPOINT_KEY_FILE: {error}") from None
    try:
        return CheckpointRounds(client, keys, witnesses_in(settings.checkpoint_witnesses))
    except ValueError as error:
        raise SettingsError(f"REMIT_CHECKPOINT_WITNESSES: {error}") from None
