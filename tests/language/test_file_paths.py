"""Paths: those that mean the same to every reader are accepted, all others refused."""

import pytest

from app.language.ambiguous import Ambiguous
from app.language.paths import canonical_path, under

HOSTILE = {
    "a path parameter of some servers": "/repo/..;/etc",
    "a path parameter with a value": "/repo/..;x=1/etc",
    "a separator of another system": "/repo/..:etc",
    "dots and a list separator": "/repo/..,/etc",
    "dots and a query": "/repo/..?/etc",
    "more dots and a separator": "/repo/...;/etc",
    "a dot with a path parameter, which servers drop, and then a climb": "/repo/.;/../etc",
    "a name that is only a path parameter": "/repo/;/../etc",
    "a path parameter with a value, alone": "/repo/;x=1/../etc",
    "a query, before which a URL ends": "/etc?/../repo/x",
    "a fragment, before which a URL ends": "/etc#/../repo/x",
    "braces, which a shell expands": "/repo/{a,../../etc}",
    "a variable, which may have any number of names": "/repo/$A/../etc",
    "one step up": "/repo/../etc/passwd",
    "several steps up": "/repo/a/b/../../../etc/passwd",
    "up behind two slashes": "/repo//../etc/passwd",
    "up behind a dot": "/repo/./../etc/passwd",
    "up at the end": "/repo/..",
    "above the root": "/../repo/x",
    "above the root and back": "/repo/../../repo/x",
    "a brother with the same beginning": "/repository/x",
    "another case": "/Repo/x",
    "percent-encoded dots": "/repo/%2e%2e/etc/passwd",
    "half-encoded dots": "/repo/.%2e/etc/passwd",
    "encoded slash": "/repo/..%2fetc/passwd",
    "encoded twice": "/repo/%252e%252e%252fetc/passwd",
    "encoded thrice": "/repo/%25252e%25252e/etc/passwd",
    "overlong UTF-8": "/repo/%c0%ae%c0%ae/etc/passwd",
    "IIS encoding": "/repo/%u002e%u002e/etc/passwd",
    "NUL": "/repo/x\0.txt",
    "encoded NUL": "/repo/x%00.txt",
    "line feed": "/repo/x\n/etc/passwd",
    "carriage return": "/repo/x\r",
    "tab": "/repo/\t../etc",
    "escape": "/repo/\x1b[2J",
    "backslash": "/repo/..\\..\\etc\\passwd",
    "backslash alone": "/repo\\x",
    "drive": "C:\\repo\\x",
    "drive with slashes": "C:/repo/x",
    "network share": "//repo/x",
    "network share of Windows": "\\\\server\\repo",
    "file URL": "file:///repo/x",
    "file URL with a host": "file://localhost/repo/x",
    "relative": "repo/x",
    "relative with a dot": "./repo/x",
    "relative upwards": "../repo/x",
    "home": "~/repo/x",
    "home of another": "~root/repo",
    "space before": " /repo/x",
    "space behind": "/repo/x ",
    "space behind dots": "/repo/.. /etc/passwd",
    "space before dots": "/repo/ ../etc/passwd",
    "three dots": "/repo/.../etc",
    "dots with a space between": "/repo/. ./etc",
    "full-width slash": "/repo/..\uff0fetc/passwd",
    "full-width dots": "/repo/\uff0e\uff0e/etc/passwd",
    "one dot leader": "/repo/\u2024\u2024/etc/passwd",
    "two dot leader": "/repo/\u2025/etc/passwd",
    "ellipsis": "/repo/\u2026/etc",
    "division slash": "/repo/..\u2215etc/passwd",
    "fraction slash": "/repo/..\u2044etc/passwd",
    "big solidus": "/repo/..\u29f8etc",
    "full-width backslash": "/repo/..\uff3cetc",
    "set minus": "/repo/..\u2216etc",
    "full-width percent sign": "/repo/\uff052e\uff052e/etc",
    "full-width tilde": "/repo/\uff5eroot",
    "zero-width space in the dots": "/repo/.\u200b./etc/passwd",
    "zero-width joiner": "/repo/.\u200d./etc",
    "byte order mark": "\ufeff/repo/x",
    "right-to-left override": "/repo/\u202egpj.exe",
    "soft hyphen": "/repo/.\u00ad./etc",
    "no-break space": "/repo/..\u00a0/etc",
    "ideographic space": "/repo/\u3000../etc",
    "Braille blank": "/repo/\u2800",
    "empty": "",
    "too long": "/repo/" + "a/" * 3000,
}

SAME = {
    "/repo": "/repo",
    "/repo/": "/repo",
    "/repo/x": "/repo/x",
    "/repo//x": "/repo/x",
    "/repo/./x": "/repo/x",
    "/repo/.": "/repo",
    "/repo/a/../x": "/repo/x",
    "/repo/@a/(b)/[c]/.d/-e/../../../../../x": "/repo/x",
    "/repo/a/../../repo/x": "/repo/x",
    "/repo/.git": "/repo/.git",
    "/repo/..x": "/repo/..x",
    "/repo/x..": "/repo/x..",
    "/repo/a b.txt": "/repo/a b.txt",
    "/repo/~x": "/repo/~x",
    "/repo/$id.tsx": "/repo/$id.tsx",
    "/repo/日本語/café": "/repo/日本語/café",
    "/": "/",
}

is_below = under(["/repo"])


def lets_through(text):
    try:
        return is_below(canonical_path(text))
    except Ambiguous:
        return False


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_hostile_spelling_is_under_the_directory(text):
    """Refused, or made canonical and found to be elsewhere."""
    assert not lets_through(text)


@pytest.mark.parametrize(("text", "canonical"), SAME.items(), ids=SAME)
def test_a_path_has_one_spelling(text, canonical):
    """Removing `.`, `..` and slashes does not change where it leads."""
    assert canonical_path(text) == canonical


def test_a_refusal_says_what_is_wrong():
    """In words that finish the sentence `The path …`."""
    with pytest.raises(Ambiguous, match="contains a percent sign"):
        canonical_path("/a%20b")
    with pytest.raises(Ambiguous, match=r"U\+2044"):
        canonical_path("/a\u2044b")


def test_the_root_is_above_everything_and_a_directory_above_itself():
    """A directory is named without a slash at its end."""
    assert under(["/"])("/etc")
    assert under(["/"])("/")
    assert under(["/a", "/b/c"])("/b/c")
    assert not under(["/a", "/b/c"])("/b")
    assert not under(["/a"])("/ab")
