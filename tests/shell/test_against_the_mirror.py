"""Random lines, judged by the service and by the second evaluator, which reads docs/shell-lines.md."""

import os
import random

import msgspec
import pytest
from lines import ENDS, JOINTS
from mirror import shell

from app.language.ambiguous import Ambiguous
from app.model.command_constraint import CommandConstraint
from app.pdp.shell_commands import CommandJudge, places_of

LINES = int(os.environ.get("SHELL_LINES", "1000"))
CONSTRAINTS = [
    {
        "root": "/w/p",
        "env": ["CI"],
        "allow": [
            {"run": ["ls", "cat", "head", "sort", "uniq"], "flags": "usual", "paths": "inside"},
            {"run": ["cut", "find", "sed", "diff"], "flags": "usual", "paths": "inside"},
            {"run": ["grep", "rg"], "flags": "usual", "pattern": True, "paths": "inside"},
            {"run": ["echo", "pwd", "sleep"], "flags": "usual", "writes": "inside"},
            {"run": "git", "first": ["status", "log", "show", "add"], "flags": "usual", "paths": "inside"},
            {"run": "git", "first": "commit", "flags": ["-m", "-a"], "paths": "inside"},
            {"run": ["pytest", "eslint", "tsc"], "via": ["npx", "python -m"], "flags": "usual", "paths": "inside"},
            {"run": ["node", "./run"], "script": "inside", "flags": ["--check"]},
            {"run": "rm", "flags": ["-r", "-f"], "paths": ["./dist", "./build"]},
            {"run": "tool", "flags": ["-v", "-o PATH", "-n NUMBER", "--name=TEXT", "--mode=fast"], "paths": "inside"},
            {"run": "npm", "first": ["test", "run"], "second": ["build", "test:*"]},
            {"run": ["make", "go"], "first": "test", "flags": "usual", "paths": "inside"},
        ],
        "deny": [{"run": "cat", "flags": ["-b"]}],
    },
    {
        "deny": [
            {"run": "rm", "flags": ["-r"]},
            {"run": "git", "first": ["push", "log"]},
            {"run": "npm", "first": "run", "second": "x"},
        ]
    },
]  # fmt: skip
PROGRAMS = (
    "ls cat head sort uniq cut find sed diff grep rg echo pwd sleep git pytest eslint tsc node ./run rm tool npm make"
)
PROGRAMS += " go npx python sudo sh xargs alias curl timeout nice time RM /bin/rm a/run"
OTHERS = [
    "status",
    "log",
    "show",
    "add",
    "commit",
    "push",
    "test",
    "run",
    "build",
    "test:a",
    "x",
    "-a",
    "-l",
    "-la",
    "-n",
    "-n5",
    "-5",
    "-20",
    "3",
    "-b",
    "-m",
    "-r",
    "-R",
    "-rf",
    "-fr",
    "-v",
    "-o",
    "-e",
    "-i",
    "-q",
    "-p",
    "--name=a",
    "--name",
    "--mode=fast",
    "--mode=slow",
    "--check",
    "-k",
    "--include=*.py",
    "--stat",
    "--oneline",
    "--color",
    "--color=auto",
    "--noEmit",
    "--",
    "-",
    "-exec",
    "-delete",
    "-name",
    "-type",
    "f",
    "a",
    "b.py",
    "src/a.ts",
    "./dist",
    "./dist/a",
    "build",
    "dist/../b",
    "..",
    "../x",
    ".",
    "/",
    "/w/p/a",
    "/w/q",
    ".env",
    "a/.b",
    "prod.env",
    "secrets",
    "package.json",
    "conftest.py",
    "HEAD:a",
    "HEAD:.env",
    ":a",
    "a::b",
    "a=b",
    "a=/x",
    "@a",
    "+x",
    "60",
    "5s",
    "-C",
    "./a",
    "CI=1",
    "PATH=.",
    "push",
    "-m",
    "1,5p",
    "-s",
    "./...",
    "10p",
    "TODO",
    "-recursive",
    "--recursive",
    "--force",
    "http://a",
    "''",
]
FILES = [">a", ">>a", "2>/dev/null", ">/dev/null", "2>&1", "<a", "<.env", "2>package.json", ">../a"]


def random_line(rng):
    parts = []
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
        before = [rng.choice(["", "", "", "", "CI=1", "X=1", "timeout 60", "nice -n 5", "time", "npx", "python -m"])]
        cd = ["cd", rng.choice(["./a", "..", "./.git", "/w/p", "a", "./a/.."])]
        words = cd if rng.random() < 0.2 else [rng.choice(PROGRAMS.split()), *rng.choices(OTHERS, k=rng.randint(0, 3))]
        quoted = [f"'{word}'" if "*" in word or rng.random() < 0.05 else word for word in words]
        parts.append(" ".join(filter(None, [*before, *quoted, rng.choice(["", "", "", "", *FILES])])))
        if rng.random() < 0.1:
            parts[-1] = f"({parts[-1]})"
    return "".join(part + rng.choice(JOINTS) for part in parts[:-1]) + parts[-1] + rng.choice(ENDS)


def ours(judge, line, places):
    try:
        return shell.OK if judge.first_failure(line, places) is None else shell.FAILS
    except Ambiguous:
        return shell.UNREAD


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=["allow", "deny"])
def test_both_judge_random_lines_alike(constraint):
    """And each verdict occurs often."""
    rng = random.Random(20261129)
    judge = CommandJudge(msgspec.convert(constraint, CommandConstraint))
    found = []
    for _ in range(LINES):
        line, start = random_line(rng), rng.choice(["/w/p", "/w/p", "/w/p/b"])
        allows = "allow" in constraint
        places = places_of("/w/p", start) if allows else None
        theirs = shell.judge(line, constraint, *(("/w/p", start) if allows else (None, None)))
        found.append(theirs)
        assert ours(judge, line, places) == theirs, (line, start)
    assert all(found.count(each) > 3 for each in (shell.OK, shell.FAILS, shell.UNREAD))
