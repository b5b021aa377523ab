"""The grammar of shell lines against independent readings: bash's parser, tree-sitter's grammar, and bash at work."""

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import tree_sitter
import tree_sitter_bash
from lines import random_line

from app.language.ambiguous import Ambiguous
from app.language.shell_lines import ERRORS_TOO, READ, Command, commands_of, read_line
from app.model.command_constraint import AllowedCommand, CommandConstraint
from app.pdp.shell_commands import CommandJudge, Places, Walk

LINES = int(os.environ.get("SHELL_LINES", "1000"))
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def readable(odd: float = 0.03) -> Iterator[str]:
    """Random lines that are read; the others are what they are mixed with."""
    rng = random.Random(20261129)
    for _ in range(LINES):
        line = random_line(rng, odd)
        try:
            read_line(line)
        except Ambiguous:
            continue
        yield line


def test_bash_parses_every_line_that_is_read():
    """`bash -n` finds no error in any, and no warning."""
    lines = list(readable())
    assert len(lines) > LINES // 5
    script = "\n".join(f"bash_line_{number}() (\n{line}\n)" for number, line in enumerate(lines))
    parsed = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (parsed.returncode, parsed.stderr) == (0, "")


def test_tree_sitter_finds_the_same_commands():
    """With the same words, in the same order; of the lines that its grammar can read."""
    compared = 0
    for line in readable():
        root = PARSER.parse(line.encode()).root_node
        # It has no `2>&1` without a following word, loses a `-` before `2>`, and knows `time` as no keyword.
        if root.has_error or any(each in line for each in (ERRORS_TOO, "\n", "time", "-")):
            continue
        ours = [each.words for each in commands_of(read_line(line)) if isinstance(each, Command) and each.words]
        assert [tuple(words) for words in of_tree(root)] == ours, line
        compared += 1
    assert compared > LINES // 10


def of_tree(node: tree_sitter.Node) -> Iterator[list[str]]:
    """The words of each command in a tree of tree-sitter."""
    if node.type == "command":
        yield [text_of(child) for child in node.children if child.type in WORDS_OF_TREE]
    for child in node.children:
        yield from of_tree(child)


WORDS_OF_TREE = {"command_name", "word", "string", "raw_string", "concatenation", "number", "-"}


def text_of(node: tree_sitter.Node) -> str:
    if node.type in ("command_name", "concatenation"):
        return "".join(map(text_of, node.children))
    text = node.text.decode()
    return text[1:-1] if node.type in ("string", "raw_string") else text


class Spy(CommandJudge):
    """Lets everything pass, and notes what it was asked about: words, file that is written, directory."""

    def __init__(self):
        super().__init__(CommandConstraint(allow=[AllowedCommand(run="x")], root="/x"))
        self.asked = set()
        self.written = set()
        self.lets_pass = False

    def why_not(self, command, places, directory):
        words = command.words
        self.asked.add((words, directory))
        self.note(command.redirections, directory)

    def note(self, redirections, directory):
        for operator, target in redirections:
            if operator not in (READ, ERRORS_TOO):
                self.written.add(os.path.normpath(f"{directory}/{target}"))


# Commands of a pipeline write at the same time, and bash writes in one piece only up to a line end.
RUNNER = """
exec 9>"$LOG"
command_not_found_handle() {
  printf '%s\\0' "$PWD" "$#" "${@//$'\\n'/$'\\x01'}" >&9
  return $((RANDOM % 2))
}
RANDOM=7
PATH=/nonexistent
unset CDPATH
while IFS= read -r -d '' line; do
  printf 'next\\0' >&9
  ( eval "$line" ) </dev/null >/dev/null 2>&1 || :
done
"""


def test_what_bash_runs_was_judged_with_its_words_files_and_directory(tmp_path):
    """Every command that runs, with some failing at random, is one that was judged in its directory."""
    project = tmp_path / "project"
    for folder in ("a", "b"):
        (project / folder).mkdir(parents=True)
    (project / "in").write_text("")
    lines = [line for line in readable(0.0) if not SHELL_OWN & {each.words[:1] for each in simple(line)}]
    log = tmp_path / "log"
    subprocess.run(
        ["bash", "-c", RUNNER],
        input="\0".join([*lines, ""]).encode(),
        cwd=project,
        env={"LOG": str(log)},
        check=True,
    )
    runs = log.read_bytes().decode().replace("\x01", "\n").split("next\0")[1:]
    assert len(runs) == len(lines)
    written, ran = set(), 0
    for line, run in zip(lines, runs, strict=True):
        spy = judged(line, str(project))
        written |= spy.written
        fields = run.split("\0")
        while len(fields) > 1:
            directory, count = fields[0], int(fields[1])
            words, fields = tuple(fields[2 : 2 + count]), fields[2 + count :]
            ran += 1
            assert (words, directory) in spy.asked or not spy.lets_pass, (line, words, directory)
    assert ran > LINES // 10
    found = {f"{folder}/{name}" for folder, _, names in os.walk(tmp_path) for name in names}
    assert found - {str(log), str(project / "in")} <= written


SHELL_OWN = {("time",), ("in",), ("{",), (".",), ("2",), ("22",), ("timeout",), ("nice",), (":",)}
"""Programs whose words bash changes itself, or that stand for a wrapper."""


def simple(line: str) -> list[Command]:
    return [each for each in commands_of(read_line(line)) if isinstance(each, Command)]


def judged(line: str, project: str) -> Spy:
    spy = Spy()
    # Where a `cd` is refused, the line does not pass, wherever its other commands run.
    with suppress(Ambiguous):
        walked = list(Walk(spy, Places(str(Path(project).parent), project)).walk(read_line(line)))
        spy.lets_pass = all(each.why is None for each in walked)
    for each in commands_of(read_line(line)):
        if not isinstance(each, Command) or each.words[:1] == ("cd",):  # their files are refused wherever they lie
            for folder in ("", "..", "a", "b"):
                spy.note(each.redirections, f"{project}/{folder}")
    return spy
