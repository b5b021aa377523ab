"""/docs: the documentation is complete, is served as it was built, and loads nothing from other hosts."""

import base64
import hashlib
import html
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from app.cli.main import COMMANDS
from app.errors import codes
from app.http import docs_site

ROOT = Path(__file__).parents[2]
LOADS = re.compile(rb"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?([^"'\s>]+)""")


@pytest.fixture(scope="module")
def built(program, tmp_path_factory):
    """The site, built strictly: a broken link or anchor, or a page that no menu names, would stop it."""
    mkdocs = program(str(ROOT / ".venv/docs/bin/mkdocs"), "the documentation (make docs)")
    folder = tmp_path_factory.mktemp("site")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [mkdocs, "build", "--quiet", "--strict", "--site-dir", str(folder)]
    told = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    return folder


@pytest.fixture
def site(program, built, monkeypatch):
    """The built site as the one that is served."""
    return serve(monkeypatch, built)


def serve(monkeypatch, folder):
    monkeypatch.setattr(docs_site, "BUILT", folder)
    for each in (docs_site.docs_site, docs_site._file):
        monkeypatch.setattr(docs_site, each.__name__, inspect.unwrap(each))
    return folder


def ask(path, method="GET", **headers):
    return docs_site.docs_answer(path, method, [(name.encode(), value.encode()) for name, value in headers.items()])


def test_every_page_of_docs_is_in_the_site(program, site):
    """With the README as its first page, and llms.txt lists them."""
    listed = (site / "llms.txt").read_text()
    for path in (ROOT / "docs").rglob("*.md"):
        place = path.relative_to(ROOT / "docs").with_suffix(".html").as_posix().replace("README", "index")
        assert (site / place).is_file(), place
        assert f"(/docs/{place})" in listed
        heading = re.search(r"<h1[^>]*>(.*?)<a ", (site / place).read_text())[1]
        assert f"# {html.unescape(re.sub('<[^>]+>', '', heading))}\n" in path.read_text().replace("`", ""), place
    assert b"A first session" in (site / "index.html").read_bytes()
    assert "A first session" in (site / "llms-full.txt").read_text()


@pytest.mark.slow
def test_a_broken_link_stops_the_build(program, tmp_path):
    """`--quiet` hides warnings, and mkdocs counts only what it shows."""
    mkdocs = program(str(ROOT / ".venv/docs/bin/mkdocs"), "the documentation (make docs)")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    with (tmp_path / "docs/names.md").open("a") as page:
        page.write("\n[Nowhere](nowhere.md)\n")
    config = f"INHERIT: {ROOT}/mkdocs.yml\ndocs_dir: {tmp_path}/docs\nhooks: [{ROOT}/docs/hooks.py]\n"
    (tmp_path / "mkdocs.yml").write_text(config)
    command = [
        mkdocs,
        "build",
        "--quiet",
        "--config-file",
        str(tmp_path / "mkdocs.yml"),
        "--site-dir",
        str(tmp_path / "site"),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    told = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert told.returncode != 0
    assert told.stderr.count("WARNING") == 1
    assert "nowhere.md" in told.stderr


def test_no_page_loads_anything_from_another_host(program, site):
    """Scripts, styles, fonts and images are files of the site."""
    for page in site.rglob("*.html"):
        for loaded in LOADS.findall(page.read_bytes()):
            assert not re.match(rb"(https?:)?//", loaded), f"{page.name}: {loaded}"
    for style in site.rglob("*.css"):
        assert not re.search(rb"(@import|url\()\s*[\"']?(https?:)?//", style.read_bytes()), style.name


def test_pictures_are_shown(program, site):
    """Each is a file of the site, served as what it is."""
    shown = re.findall(r'<img[^>]* src="([^"]+)"', (site / "console.html").read_text())
    assert shown
    for picture in shown:
        assert dict(ask(f"/docs/{picture}").headers)[b"content-type"] == b"image/png", picture


def test_the_policy_names_every_inline_script_and_nothing_else(program, site):
    """By its digest, as a browser computes it."""
    policy = dict(ask("/docs/index.html").headers)[b"content-security-policy"].decode()
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    inline = {
        script
        for page in site.rglob("*.html")
        for script in re.findall(rb"<script>(.*?)</script>", page.read_bytes(), re.DOTALL)
    }
    digests = {f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" for script in inline}
    assert set(rules["script-src"].split()) == {"'self'"} | digests
    assert rules["connect-src"] == "'self'"
    assert rules["default-src"] == "'none'"


def test_what_people_look_up_is_found_by_the_search(program, site):
    """Every group of commands, every error code and every setting is in the index of the search."""
    pages = json.loads((site / "search/search_index.json").read_text())["docs"]
    text = " ".join(f"{page['title']} {page['text']}" for page in pages)
    missing = [
        word for word in (*COMMANDS, *codes(), "REMIT_STORE_TIMEOUT_MS", "remit_decisions_total") if word not in text
    ]
    assert missing == []


def test_a_page_is_served_with_its_tag(program, site):
    """A browser that has it is told so; HEAD has the same headers; a file that is not there is 404, POST is 405."""
    answer = ask("/docs/approvals.html")
    headers = dict(answer.headers)
    assert (answer.status, answer.body) == (200, (site / "approvals.html").read_bytes())
    assert headers[b"content-type"] == b"text/html; charset=utf-8"
    assert ask("/docs/approvals.html", **{"if-none-match": headers[b"etag"].decode()}).status == 304
    assert ask("/docs/approvals.html", "HEAD").body == b""
    assert ask("/docs/../app/errors.py").status == 404
    assert ask("/docs/approvals").status == 404
    assert ask("/docs/approvals.html", "POST").status == 405
    assert dict(ask("/docs/deploy/helm/remit/index.html").headers)[b"x-content-type-options"] == b"nosniff"


def test_docs_leads_to_the_first_page_or_to_that_of_the_api(program, site, monkeypatch, tmp_path):
    """A checkout in which nobody has run `make docs` has no site."""
    assert dict(ask("/docs").headers)[b"location"] == b"/docs/index.html"
    assert dict(ask("/docs/").headers)[b"location"] == b"/docs/index.html"
    serve(monkeypatch, tmp_path)
    assert dict(ask("/docs").headers)[b"location"] == b"/docs/api"
    assert ask("/docs/index.html").status == 404


def test_a_wheel_carries_the_site(program, site, tmp_path):
    """Although git ignores it: every installation has the documentation of its own version."""
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy/hatch_build.py", tmp_path / "deploy")
    for name in ("app", "lua"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "docs_site"))
    shutil.copytree(site, tmp_path / "app/docs_site")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "dist")]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    files = {f"app/docs_site/{path.relative_to(site).as_posix()}" for path in site.rglob("*") if path.is_file()}
    assert len(files) > 60
    assert files <= inside


def test_the_way_in_is_public_and_is_answered_by_the_service(replica):
    """Without a key; the page of the API is not part of the site."""
    with replica.client(key="nonsense") as client:
        assert client.get("/docs").status_code == 302
        assert client.get("/docs/api").status_code == 200
        assert client.get("/docs/nothing.html").status_code == 404


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("office hours", "office-hours.html"),
        ("read only", "office-hours.html"),
        ("AutoGen", "clients/any-framework.html"),
        ("CrewAI", "clients/crewai.html"),
        ("LlamaIndex", "clients/llama-index.html"),
        ("Cedar", "coming-from-opa-or-cedar.html"),
        ("Keycloak", "identity-providers.html"),
        ("Traefik", "forward-auth.html"),
        ("what a month costs", "costs.html"),
        ("three times the load", "overload.html"),
    ],
)
def test_a_search_finds_a_page_by_the_words_of_its_title(program, site, words, page):
    """What people have looked for and not found."""
    index = json.loads((site / "search/search_index.json").read_text())["docs"]
    titles = {each["location"]: html.unescape(each["title"]) for each in index}
    assert words.lower() in titles[page].lower()
