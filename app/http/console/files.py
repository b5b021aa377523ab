"""The files of the console, read, hashed and compressed once at the start.

Files are named below a digest of all of them, so that browsers may keep them for ever and never mix two releases.
"""

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from app.http.answers import Header, RawResponse
from app.http.served_files import ASK, FOR_EVER, MEDIA, SECURITY, ServedFile, file_answer

HOME = "/console"
STATIC = Path(__file__).parent / "static"
_HERE = "/console/~/"
"""How the page names a file; the digest comes after `~`."""
_STYLES = "styles.js"
"""The module that waits for the styles of all screens but the smallest, unless the page names them."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
_HEADERS: list[Header] = [(b"content-security-policy", POLICY.encode()), *SECURITY]
_PARTS = {MEDIA[".js"], MEDIA[".css"]}
_OF_DOCUMENTS = {b"content-security-policy", b"referrer-policy", b"cross-origin-opener-policy", b"permissions-policy"}
"""Headers that say nothing to a browser about a script or a style: 10 KiB of a first screen's 27 files."""
_HTTPS_ONLY: Header = (b"strict-transport-security", b"max-age=31536000")
_comments = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)
"""Whole lines of comments and types: a sixth of what a screen transfers."""
_static_imports = re.compile(r'^(?:import|export) (?:[^"]*? from )?"(\.[^"]+)";$', re.MULTILINE).findall


class ConsoleFiles(NamedTuple):
    """Every file by its path below `/console/`, and the page for each screen."""

    digest: str
    files: dict[str, ServedFile]
    pages: dict[str, ServedFile]

    def find(self, path: str) -> ServedFile | None:
        """What is served at a path below /console: the page, wherever there is no file. None = nothing."""
        rest = path.removeprefix(HOME).removeprefix("/")
        if rest.startswith("~"):
            return self.files.get(rest)
        return self.pages.get(rest.partition("/")[0], self.pages[""])


def is_console(path: str) -> bool:
    """True if the console serves this path."""
    return path == HOME or path.startswith(f"{HOME}/")


def console_answer(path: str, method: str, headers: list[Header], public_url: str | None) -> RawResponse:
    """The answer to a request for the page or one of its files; an unknown file is 404."""
    file = console_files().find(path)
    is_part = file is not None and dict(file.headers)[b"content-type"] in _PARTS
    added = [each for each in _HEADERS if not (is_part and each[0] in _OF_DOCUMENTS)]
    if public_url is not None and urlsplit(public_url).scheme == "https":
        added.append(_HTTPS_ONLY)
    return file_answer(file, method, headers, added)


@cache
def console_files() -> ConsoleFiles:
    """All files, read once."""
    found = {path.relative_to(STATIC).as_posix(): path for path in sorted(STATIC.rglob("*")) if path.suffix in MEDIA}
    bodies = {name: _served(path) for name, path in found.items()}
    digest = hashlib.sha256()
    for name, body in bodies.items():
        digest.update(b"%b\0%d\0%b" % (name.encode(), len(body), body))
    short = digest.hexdigest()[:16]
    page = bodies.pop("index.html").decode()
    files = {
        f"~{short}/{name}": ServedFile.of(body, MEDIA[Path(name).suffix], FOR_EVER) for name, body in bodies.items()
    }
    texts = {name: body.decode() for name, body in bodies.items() if name.endswith(".js")}
    screens = [name for name in texts if name.startswith("screens/")]
    pages = {Path(name).stem: _page(page, short, texts, name) for name in screens}
    return ConsoleFiles(short, files, {**pages, "": pages["overview"]})


def _served(path: Path) -> bytes:
    """The file as it is sent: ours without the lines that are comments."""
    if path.suffix not in {".js", ".css"} or path.parent.name == "vendor":
        return path.read_bytes()
    return _comments.sub("", path.read_text()).encode()


def _page(page: str, digest: str, texts: dict[str, str], screen: str) -> ServedFile:
    """The page that opens this screen: it names all that the screen needs, which is then loaded at once."""
    needed: dict[str, None] = {}
    waiting = ["main.js", screen]
    while waiting:
        name = waiting.pop(0)
        if name not in needed:
            needed[name] = None
            waiting += [_resolved(name, each) for each in _static_imports(texts[name])]
    links = "\n".join(f'<link rel="modulepreload" href="{_HERE}{name}">' for name in needed)
    if _STYLES in needed:
        links = f'<link rel="stylesheet" href="{_HERE}screens.css">\n{links}'
    body = page.replace("<!-- modules -->", links).replace(_HERE, f"{HOME}/~{digest}/")
    return ServedFile.of(body.encode(), MEDIA[".html"], ASK)


def _resolved(importer: str, imported: str) -> str:
    """The path of a module that another one imports by a relative path."""
    parts = importer.split("/")[:-1]
    for part in imported.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
