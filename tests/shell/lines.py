"""Random shell lines: of what the grammar reads, and of what it must not."""

import random

WORDS = [
    "ls", "git", "p1", "p2", "rm", "-la", "--", "-", "a", "b/c", "./d", "../e",
    "/f", "x=1", "2", "22", "a2", "@x", "a:b", "+5",
    "%1", "a,b", "'a b'", "''", "'$x'", "'a;b'", "'a|b'", "'#'", "'\\'", "'a\nb'",
    '"a b"', '""', '"#;|&<>()"', '"*?~"',
    "a'b'c", "'a'\"b\"c", "x'='1", "'x'=1", '"2"', "time", "if", "done", "in", "{", "timeout",
    "nice", "cd", "N=1", "M='a b'", "CI=",
    "N+=1", "=ls", "a=", "/dev/null", "'é'",
]  # fmt: skip
ODD = [
    "$x", "~", "#c", "!", "&", "|&", "&>f", ">|f", "<<E", "<<<a", "<(a)", "[[", "*", "{a,b}", "\\", "f()",
    "$(a)", "`a`", ";;",
    "\r", "\x00", "\x0b", "é", "\u00a0", "3>f", ">&2", "<>f",
    "((", "))", "?", "[a]", "^", '"$x"', '"`a`"', "'", '"',
]  # fmt: skip
JOINTS = [" && ", " || ", "; ", " | ", "\n", "&&", "||", ";", "|", " &&\n", "|\n", "\n\n"]
REDIRECTIONS = [" <in", " >o1", " >>o2", " 2>o3", " 2>&1", ">o4", "2>o5", " 2>/dev/null", " > 'o 6'", " <'in'"]
ENDS = ["", "", "", ";", "\n", " "]
DIRECTORIES = ["./a", "./b", "./missing", "..", ".", "./a/../b"]


def random_line(rng: random.Random, odd: float = 0.0) -> str:
    """A line; odd: how often a word is one that cannot be read."""
    return _list(rng, odd, depth=0)


def _list(rng: random.Random, odd: float, depth: int) -> str:
    parts = [_part(rng, odd, depth) for _ in range(rng.randint(1, 4))]
    return "".join(part + rng.choice(JOINTS) for part in parts[:-1]) + parts[-1] + rng.choice(ENDS)


def _part(rng: random.Random, odd: float, depth: int) -> str:
    if depth < 2 and rng.random() < 0.15:
        inner = _list(rng, odd, depth + 1)
        return f"({rng.choice(['', ' '])}{inner}{rng.choice(['', ' '])})" + rng.choice(["", "", *REDIRECTIONS])
    if rng.random() < 0.2:
        return f"cd {rng.choice(DIRECTORIES)}"
    words = [rng.choice(["ls", "p1", "git", "p2"])] if rng.random() < 0.7 else []
    words += [rng.choice(ODD if rng.random() < odd else WORDS) for _ in range(rng.randint(0 if words else 1, 3))]
    text = rng.choice([" ", " ", "  ", "\t"]).join(words)
    return text + "".join(rng.choice(REDIRECTIONS) for _ in range(rng.choice([0, 0, 0, 1, 2])))
