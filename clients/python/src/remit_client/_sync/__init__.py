# Written by unasync.py from _async/__init__.py; change that.
"""The source of both clients: `unasync.py` makes `remit_client._sync` of this folder."""
