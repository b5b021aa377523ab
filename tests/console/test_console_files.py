"""How the console is served: the page, its files, their headers, and what is packaged."""

import gzip
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from servers import Replica

from app.http.console.files import POLICY, STATIC, console_files

ROOT = Path(__file__).parents[2]
FILES = sorted(console_files().files)
EDITOR_BYTES = 140 * 1024
SCREEN_BYTES = 48 * 1024
REQUESTS = 20
SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}


@pytest.fixture(scope="module")
def browser_client(replica):
    with replica.client(key="") as client:
        client.headers = {}
        yield client


def test_the_policy_allows_only_files_and_requests_of_this_host():
    """No `unsafe-*`, no scheme but `data:` for images, and no way to make markup from text."""
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }


@pytest.mark.parametrize(
    "path", ["/console", "/console/", "/console/decisions", "/console/agents/refund-bot", "/console/x"]
)
def test_the_page_is_served_at_every_path_that_is_not_a_file(browser_client, path):
    """It may not be kept without asking, and it needs no key."""
    answer = browser_client.get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert {name: answer.headers[name] for name in SECURITY} == SECURITY
    assert f"/console/~{console_files().digest}/main.js" in answer.text


def code_of(path):
    """The text of a file; of ours, without each line that is a comment or in one."""
    if path.suffix not in {".js", ".css"} or path.parent.name == "vendor":
        return path.read_text()
    lines, inside = [], False
    for line in path.read_text().splitlines(keepends=True):
        text = line.strip()
        opens = text.startswith("/*") and ("*/" not in text or text.index("*/") == len(text) - 2)
        if not (inside or opens or text.startswith("//")):
            lines.append(line)
        inside = (inside or opens) and "*/" not in text
    return "".join(lines)


def test_every_file_is_served_and_can_be_kept_for_ever(browser_client):
    """With its type, all that is no comment, and the headers of the page that say something about it: of a script or a
    style, what a browser may take it for, and who may load it.
    """
    of_parts = {name: SECURITY[name] for name in ("X-Content-Type-Options", "Cross-Origin-Resource-Policy")}
    for name in FILES:
        answer = browser_client.get(f"/console/{name}")
        assert answer.status_code == 200, name
        kept = {"Cache-Control": "public, max-age=31536000, immutable", "Content-Encoding": "gzip"}
        kept |= of_parts if name.endswith((".js", ".css")) else SECURITY
        assert {header: answer.headers[header] for header in kept} == kept, name
        assert answer.text == code_of(STATIC / name.partition("/")[2]), name


def test_a_browser_without_compression_gets_the_file_as_it_is(browser_client):
    """And is told that answers differ by Accept-Encoding."""
    for coding in ("identity", "gzip;q=0, identity"):
        answer = browser_client.get("/console", headers={"Accept-Encoding": coding})
        assert "Content-Encoding" not in answer.headers
        assert answer.headers["Vary"] == "accept-encoding"


@pytest.mark.parametrize("path", ["/console/decisions", f"/console/{FILES[0]}"])
def test_head_answers_like_get_without_the_body(browser_client, path):
    """The length is that of the body that GET sends."""
    head, got = browser_client.head(path), browser_client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert {**head.headers, "date": ""} == {**got.headers, "date": ""}


def test_a_page_that_has_not_changed_is_not_sent_again(browser_client):
    """304 for the tag that came with it, alone or among others; the page for any other."""
    etag = browser_client.get("/console").headers["ETag"]
    for given in (etag, f'"other", {etag}', f"W/{etag}"):
        answer = browser_client.get("/console", headers={"If-None-Match": given})
        assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", etag)
    assert browser_client.get("/console", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize("name", ["", "none.js", "app.css.map", "vendor/preact.ts"])
def test_an_unknown_file_is_not_the_page(browser_client, name):
    """A page in place of a module would be an error that nobody understands."""
    for digest in (console_files().digest, "0" * 16):
        answer = browser_client.get(f"/console/~{digest}/{name}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_files_of_another_release_are_not_served(browser_client):
    """A digest names exactly one set of files."""
    assert browser_client.get(f"/console/~{'0' * 16}/main.js").status_code == 404


def test_nothing_can_be_sent_to_the_page(browser_client):
    """Other methods are 405 and name those that work."""
    answer = browser_client.post("/console", content=b"{}")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    answer = browser_client.options("/console")
    assert (answer.status_code, answer.headers["Allow"]) == (204, "GET, HEAD, OPTIONS")


def test_the_root_leads_to_the_console(browser_client):
    """A person who opens the printed address sees something useful."""
    answer = browser_client.get("/")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/console")


def test_a_service_without_a_console_answers_404(store):
    """REMIT_CONSOLE=false; the root leads to the document."""
    replica = Replica(store.url, REMIT_COMPACT="false", REMIT_CONSOLE="false")
    try:
        with replica.client() as client:
            assert [client.get(path).status_code for path in ("/console", "/console/x")] == [404, 404]
            assert client.get("/").headers["Location"] == "/docs"
    finally:
        replica.stop()


def test_browsers_are_told_to_use_https_only_where_people_do(store, browser_client):
    """With a public URL of https, and at no other time: it would lock people out of http."""
    assert "Strict-Transport-Security" not in browser_client.get("/console").headers
    replica = Replica(store.url, REMIT_COMPACT="false", REMIT_PUBLIC_URL="https://remit.example.com")
    try:
        with replica.client() as client:
            for path in ("/console", "/console/~0/x.js"):
                assert client.get(path).headers["Strict-Transport-Security"] == "max-age=31536000"
    finally:
        replica.stop()


def imports_of(name):
    return re.findall(r'(?:from|import)\s*\(?"(\.[^"]+)"', (STATIC / name).read_text())


def test_every_import_leads_to_a_file():
    """Relative, so that it stays below the digest."""
    for path in STATIC.rglob("*.js"):
        for imported in imports_of(path.relative_to(STATIC)):
            assert path.parent.joinpath(imported).resolve().is_file(), (path, imported)


def transferred(page):
    """The bytes of the page and of each file that it names, compressed."""
    names = set(re.findall(r'(?:href|src)="/console/([^"]+)"', page.body.decode()))
    return [len(page.compressed), *(len(console_files().files[name].compressed) for name in names)]


def test_the_page_names_every_module_that_its_screen_needs():
    """Loaded at once, instead of one after the other."""
    for screen, page in console_files().pages.items():
        named = set(re.findall(r'modulepreload" href="/console/~\w+/([^"]+)"', page.body.decode()))
        for name in named:
            statically = re.findall(r'^(?:import|export) [^"]*"(\.[^"]+)";$', (STATIC / name).read_text(), re.MULTILINE)
            for imported in statically:
                path = (STATIC / name).parent.joinpath(imported).resolve().relative_to(STATIC.resolve())
                assert path.as_posix() in named, f"{screen}: {name} imports {imported}"


@pytest.mark.parametrize("screen", ["", "approvals", "decisions"])
def test_a_first_screen_is_small(screen):
    """At most 48 KiB over the network, in at most 20 requests."""
    sizes = transferred(console_files().pages[screen])
    assert len(sizes) <= REQUESTS
    assert sum(sizes) <= SCREEN_BYTES, sizes


def test_vendored_files_are_what_the_list_says():
    """Size, digest, and for each package its version and licence; the texts of the licences are there."""
    listed = json.loads((STATIC / "vendor/VENDOR.json").read_text())
    notices = (STATIC / "vendor/LICENSES.txt").read_text()
    assert {path.name for path in (STATIC / "vendor").iterdir()} == {
        *listed,
        "VENDOR.json",
        "LICENSES.txt",
        "preact.d.ts",
        "codemirror.d.ts",
        "yaml.d.ts",
    }
    locked = json.loads((ROOT / "requirements/console/package-lock.json").read_text())["packages"]
    for name, told in listed.items():
        body = (STATIC / "vendor" / name).read_bytes()
        assert (len(body), hashlib.sha256(body).hexdigest()) == (told["bytes"], told["sha256"])
        for package in told["packages"]:
            assert locked[f"node_modules/{package['name']}"]["version"] == package["version"]
            assert f"{package['name']} {package['version']} ({package['license']})" in notices
    assert len(gzip.compress((STATIC / "vendor/codemirror.js").read_bytes(), 9)) <= EDITOR_BYTES


def test_a_module_is_short_and_makes_no_markup_from_text():
    """At most 450 lines; nothing here can turn what an agent wrote into markup or code."""
    markup = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc")
    for path in STATIC.rglob("*.js"):
        if "vendor" not in path.parts:
            source = path.read_text()
            assert len(source.splitlines()) <= 450, path
            assert not markup.search(source), path
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", source), path


@pytest.mark.slow
def test_the_wheel_contains_the_console(tmp_path):
    """Every file of the folder."""
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    made = subprocess.run([sys.executable, "-c", build, tmp_path], cwd=ROOT, capture_output=True, text=True, check=True)
    with zipfile.ZipFile(tmp_path / made.stdout.split()[-1]) as wheel:
        packed = set(wheel.namelist())
    wanted = {f"app/http/console/static/{path.relative_to(STATIC)}" for path in STATIC.rglob("*") if path.is_file()}
    assert wanted <= packed
