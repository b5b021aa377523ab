"""The cold paths' client on fakeredis: fast, in process, and close enough to catch most mistakes."""

import fakeredis

from app.redis_client.client import Client
from app.redis_client.scripts import Script


class FakeClient(Client):
    """fakeredis does not know the first line of a script, `#!lua`: stripped here, and only here."""

    def __init__(self) -> None:
        super().__init__(fakeredis.FakeAsyncRedis(decode_responses=True))

    def _source(self, script: Script) -> str:
        return script.text.partition("\n")[2]
