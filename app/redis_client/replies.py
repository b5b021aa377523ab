"""What the store answered, in the form that callers use."""


def as_record(reply: dict[str, str] | list[str]) -> dict[str, str]:
    """A hash as the store gave it: a flat list, or what redis-py has already made of one."""
    return reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))


def info_of(reply: dict[str, object] | str) -> dict[str, str]:
    """What a node says of itself (INFO): a text, or what redis-py has already made of one."""
    if isinstance(reply, dict):
        return {name: str(value) for name, value in reply.items()}
    return dict(line.split(":", 1) for line in reply.splitlines() if ":" in line)


def number_or_none(text: str | None) -> int | None:
    return None if text is None else int(text)
