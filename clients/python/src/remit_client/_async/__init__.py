"""The source of both clients: `unasync.py` makes `remit_client._sync` of this folder."""
