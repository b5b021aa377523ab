"""A draft of policies over the log as it was. Pure: lines and policies in, what would have changed out.

`Replay` judges the calls of the log once more, in their order and at their times; docs/replay.md says what it promises.
"""

from app.replay.replay import Replay

__all__ = ["Replay"]
