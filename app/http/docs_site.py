"""The documentation of this version at /docs, as `make docs` has built it; if it was not built, the page of the API.

The site's pages have a few inline scripts of its theme; the policy of their content names each by its digest.
"""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from app.http.answers import Header, RawResponse
from app.http.served_files import ASK, MEDIA, SECURITY, ServedFile, file_answer

HOME = "/docs"
API_PAGE = "/docs/api"
BUILT = Path(__file__).parents[1] / "docs_site"
"""Where `make docs` puts the site; a wheel has it, a checkout only after `make docs`."""
_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_POLICY = (
    "default-src 'none'; script-src 'self' {}; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def is_docs(path: str) -> bool:
    """True if the site serves this path."""
    return path == HOME or (path.startswith(f"{HOME}/") and path != API_PAGE)


def docs_answer(path: str, method: str, headers: list[Header]) -> RawResponse:
    """The answer to a request for a page or file of the site; /docs itself, and /docs/, lead to the first page."""
    names, policy = docs_site()
    if path in (HOME, f"{HOME}/") and method in {"GET", "HEAD"}:
        first = f"{HOME}/index.html" if names else API_PAGE
        return RawResponse(302, [(b"location", first.encode()), (b"cache-control", ASK)])
    name = path.removeprefix(f"{HOME}/")
    return file_answer(_file(name) if name in names else None, method, headers, [policy, *SECURITY])


@cache
def docs_site() -> tuple[frozenset[str], Header]:
    """The paths of all files below /docs/, and the policy of their content; read once."""
    files = {path.relative_to(BUILT).as_posix(): path for path in sorted(BUILT.rglob("*")) if path.is_file()}
    pages = (path.read_bytes() for path in files.values() if path.suffix == ".html")
    scripts = {script for page in pages for script in _INLINE.findall(page)}
    digests = sorted(base64.b64encode(hashlib.sha256(script).digest()).decode() for script in scripts)
    policy = _POLICY.format(" ".join(f"'sha256-{digest}'" for digest in digests))
    return frozenset(files), (b"content-security-policy", policy.encode())


@cache
def _file(name: str) -> ServedFile:
    """A file of the site, read and compressed when it is first asked for: together they are megabytes."""
    return ServedFile.of((BUILT / name).read_bytes(), MEDIA.get(Path(name).suffix, MEDIA[".txt"]), ASK)
