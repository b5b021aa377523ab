"""Finds the logged decisions that a draft of policies would have changed. Pure: lines and policies in, a report out.

`Replay` judges the logged calls again, in their order and at their times; docs/replay.md says what it promises.
"""

from app.replay.replay import Replay

__all__ = ["Replay"]
