"""Runs replays on a store: `replayer.py` feeds `app.replay` from its log, `processes.py` gives each a process."""
