"""Warnings about policy files, with their lines."""

from collections.abc import Sequence

from msgspec import Struct

from app.policy_tools.files.policy_file import ReadFile
from app.policy_tools.files.test_run import policies_in
from app.policy_tools.lint import lint_policies


class FileWarning(Struct, frozen=True):
    """A warning about something in a file that is valid but probably not meant."""

    file: str
    line: int
    path: str
    code: str
    message: str


def lint_files(files: Sequence[ReadFile]) -> list[FileWarning]:
    """The warnings about each file, judged together with the workspace's file if that is among them."""
    of_workspace = [read for read in files if read.file.owner == "workspace"]
    shared = [policy for read in of_workspace for policy in policies_in(read)]
    found = []
    for read in files:
        own = policies_in(read)
        together = own if read in of_workspace else [*own, *shared]
        for index, warnings in enumerate(lint_policies(together)[: len(own)]):
            for warning in warnings:
                path = f"$.policies[{index}]{warning.path.removeprefix('$')}"
                line = read.document.line_of(path)
                found.append(FileWarning(str(read.path), line, path, warning.code.value, warning.message))
    return found
