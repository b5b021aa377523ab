"""The sender of events to webhooks, one round at a time."""

import asyncio

from app.redaction.signer import Signer
from app.webhooks.delivery import Delivery
from app.webhooks.secrets import Secrets
from app.webhooks.sender import Sender


class Sending:
    """The background process's sender, run one round at a time."""

    def __init__(self, tenant, settings):
        self._tenant, self._settings = tenant, settings
        self.in_store = tenant.in_store

    def round(self, attempt_s=5.0):
        """Serve every webhook once."""
        self.in_store(lambda client: self._round(client, attempt_s))

    async def _round(self, client, attempt_s):
        secrets = Secrets(Signer(self._settings.secrets))
        sender = Sender(client, Delivery(self._settings, secrets, attempt_s), 1000)
        sender._name = self._tenant.id  # one process, whichever round it is: the lease is its own
        await sender.look(asyncio.Event())
        await asyncio.gather(*sender._served.values())
