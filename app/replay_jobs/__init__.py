"""Runs replays on a store: `reading.py` feeds `app.replay` from its log, `processes.py` gives each a process."""
