"""The exception that ends a verification."""

from app.model.checkpoints import Fault, Finding, Part


class FaultFound(Exception):
    """Something in the log is not what was written; the finding says where and what is wrong."""

    def __init__(self, fault: Fault, segment: int, message: str, part: Part = Part.SEGMENTS) -> None:
        super().__init__(message)
        self.finding = Finding(fault, segment, message, part)
