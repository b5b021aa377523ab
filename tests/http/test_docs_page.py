"""/docs/api: shows the whole document, and loads nothing from other servers."""

import base64
import hashlib
import json
import re
import shlex
from html.parser import HTMLParser

import pytest

from app.http.openapi.examples import example_of
from app.http.openapi.page import SCRIPT, _inline, _rich, curl_line
from app.http.routes import ENDPOINTS, document, encoded_document, page
from app.main import create_app
from app.settings import Settings

BODIES = {each.body: example_of(each.body) for each in ENDPOINTS if each.body is not None}
ELEMENTS_THAT_LOAD = {"iframe", "object", "embed", "img", "video", "audio", "source", "base", "form"}


class Page(HTMLParser):
    """The page as a browser would parse it."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.text = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in {"meta", "link", "br", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def values(self, name):
        return [attributes[name] for _, attributes in self.elements if name in attributes]


@pytest.fixture(scope="module")
def seen():
    return Page(page())


def test_the_page_is_served_to_everybody(replica):
    """HTML, without a key."""
    with replica.client(key="nonsense") as client:
        answer = client.get("/docs/api")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.text == page()


def test_the_page_and_the_document_are_made_before_anybody_is_served():
    """Generating them takes a tenth of a second, during which no decision would be answered."""
    for made in (page, encoded_document):
        made.cache_clear()
    create_app(Settings())
    for made in (page, encoded_document):
        assert made.cache_info().currsize == 1


def test_the_page_loads_nothing(seen):
    """It has one inline script; no images, style sheets or frames; all links stay within the service."""
    assert [attributes for tag, attributes in seen.elements if tag == "script"] == [{}]
    assert not {tag for tag, _ in seen.elements} & ELEMENTS_THAT_LOAD
    assert [attributes for tag, attributes in seen.elements if tag == "link"] == [{"rel": "icon", "href": "data:,"}]
    assert all(href.startswith(("#", "/", "data:,")) and not href.startswith("//") for href in seen.values("href"))
    assert not [name for _, attributes in seen.elements for name in attributes if name.startswith("on")]
    assert not seen.values("src")
    assert not re.search(r"""=\s*["']?https?:|@import|url\(""", page())


def test_the_browser_is_told_to_load_nothing(replica):
    """The policy allows the page's own style and script by their digests, and requests to this service."""
    with replica.client() as client:
        policy = client.get("/docs/api").headers["Content-Security-Policy"]
    allowed = dict(each.split(" ", 1) for each in policy.split("; "))
    assert allowed == {
        "default-src": "'none'",
        "style-src": digest_of_element("style"),
        "script-src": digest_of_element("script"),
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


def digest_of_element(tag):
    """The digest of everything between the tags, as a browser computes it."""
    [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", page(), re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_every_operation_can_be_tried(seen):
    """With its method, its path and, where it takes one, the first of its examples as the body."""
    trials = [attributes for tag, attributes in seen.elements if attributes.get("class") == "try"]
    paths = [(method.upper(), path) for path, methods in document()["paths"].items() for method in methods]
    inputs = [attributes["value"] for tag, attributes in seen.elements if tag == "input" and "value" in attributes]
    assert sorted(zip((each["data-method"] for each in trials), inputs, strict=True)) == sorted(paths)
    with_body = [each for methods in document()["paths"].values() for each in methods.values() if "requestBody" in each]
    assert [tag for tag, _ in seen.elements].count("textarea") == len(with_body)


def test_everything_that_the_script_looks_for_exists(seen):
    """Each element that it selects by id, class or type."""
    ids = set(seen.values("id"))
    assert set(re.findall(r'getElementById\("(\w+)"\)', SCRIPT)) <= ids
    assert "nav details" in SCRIPT
    assert [tag for tag, _ in seen.elements].count("nav") == 1
    assert not re.search(r"innerHTML|insertAdjacent|document\.write|eval\(|localStorage|sessionStorage|cookie", SCRIPT)


def test_the_page_is_well_formed(seen):
    """All tags are closed in order; every id is unique."""
    assert seen.open == []
    ids = seen.values("id")
    assert len(ids) == len(set(ids))


def test_every_link_leads_somewhere(seen):
    """Within the page, or to the document."""
    targets = {f"#{each}" for each in seen.values("id")} | {"/openapi.json", "data:,"}
    assert set(seen.values("href")) <= targets


def test_every_operation_schema_and_field_is_on_the_page(seen):
    """And every code, parameter and example."""
    api, text, ids = document(), "".join(seen.text), set(seen.values("id"))
    for path, methods in api["paths"].items():
        assert path in text
        for operation in methods.values():
            assert operation["operationId"] in ids
            assert operation["summary"] in text
            for parameter in operation.get("parameters", ()):
                assert parameter["name"] in text
    for name, schema in api["components"]["schemas"].items():
        assert name in ids
        assert all(field in text for field in schema.get("properties", {}))
    for examples in BODIES.values():
        assert all(f"curl: {name}" in text for name in examples)


@pytest.mark.parametrize("value", [value for examples in BODIES.values() for value in examples.values()], ids=str)
def test_a_curl_line_sends_its_example(value):
    """A shell parses it into the intended words, even with quotes in strings."""
    words = shlex.split(curl_line("POST", "/v1/x", value, with_key=True))
    assert words[:5] == ["curl", "-s", "-X", "POST", "$REMIT/v1/x"]
    assert words[5:7] == ["-H", "Authorization: Bearer $KEY"]
    assert json.loads(words[words.index("-d") + 1]) == value


def test_a_curl_line_of_a_get_is_short():
    """It has neither method nor body."""
    assert curl_line("GET", "/livez", None, with_key=False) == 'curl -s "$REMIT/livez"'


def test_text_is_shown_and_never_executed():
    """Whatever the descriptions contain."""
    assert _inline("<b> & `<i>`") == "&lt;b&gt; &amp; <code>&lt;i&gt;</code>"
    assert _rich("a\nb\n\n| x | y |\n|---|---|\n| `<` | 2 |") == (
        "<p>a b</p><table><tr><th>x</th><th>y</th></tr><tr><td><code>&lt;</code></td><td>2</td></tr></table>"
    )


def test_a_search_lists_matching_names_before_mentions(seen):
    """The script searches the page's headings and summaries, and says so if nothing matches."""
    assert 'querySelectorAll("h3, h3 + p > b")' in SCRIPT
    operations = len(re.findall(r"<section id=\"\w+\"><h3>.*?</h3><p><b>[^<]+</b>", page()))
    assert operations == sum(map(len, document()["paths"].values()))
    assert ("p", {"id": "nothing", "role": "status", "hidden": None}) in seen.elements
