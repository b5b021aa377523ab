"""Runs the sessions of a page: types its commands into one shell and compares the output with the page's."""

import re
import subprocess
from contextlib import contextmanager

BLOCKS = re.compile(r"```console\n(.*?)```", re.DOTALL)


def commands(block):
    """The block's commands, each with the lines that it must print."""
    for text in block.split("$ ", 1)[1].split("\n$ "):
        command, _, printed = text.partition("\n")
        yield command, printed.rstrip("\n") if not printed.endswith("\n\n") else printed[:-1]


@contextmanager
def shell_in(folder, environment):
    """A shell that lives as long as the block."""
    shell = subprocess.Popen(
        ["bash"], stdin=-1, stdout=-1, stderr=subprocess.STDOUT, text=True, cwd=folder, env=environment
    )
    try:
        yield shell
    finally:
        shell.stdin.close()
        shell.stdout.close()
        shell.wait(60)


def run(shell, command):
    """The output of one command in a shell that stays alive."""
    shell.stdin.write(f"{command}\nprintf '\\nend of %s\\n' output\n")
    shell.stdin.flush()
    lines = []
    while (line := shell.stdout.readline()) != "end of output\n":
        assert line, f"the shell ended in: {command}"
        lines.append(line)
    return "".join(lines).removesuffix("\n").removesuffix("\n")


def require_printed(command, wanted, printed):
    """Fail unless the command printed what the page shows; `…` stands for the rest of a line or a part of it."""
    pattern = re.escape(wanted).replace("…", "[^\n]+")
    assert re.fullmatch(pattern, printed), f"$ {command}\n{printed}\ninstead of\n{wanted}"
