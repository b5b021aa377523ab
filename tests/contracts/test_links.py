"""Everything that the documents link to exists."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = []
for where, folders, files in os.walk(ROOT):  # which is not disturbed by what is being installed beside the tests
    folders[:] = sorted(each for each in folders if each not in {"node_modules", "var"} and each[0] != ".")
    PAGES += [Path(where, each) for each in sorted(files) if each.endswith(".md")]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
PATH = re.compile(r"`((?:app|lua|tests|bench|docs|deploy|examples|clients)/[\w./-]*[\w/])(?:::[\w\[\]]+)?`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_of_a_page_lead_somewhere(page):
    """A reader who follows one finds a file; a decision that another has superseded may speak of what is gone."""
    text = page.read_text()
    links = {target for target in LINK.findall(text) if "://" not in target and not target.startswith("mailto:")}
    dead = [target for target in links if not (page.parent / target).exists()]
    if "Superseded by" not in text and page.name != "CHANGELOG.md":
        dead += [path for path in PATH.findall(text) if not any(ROOT.glob(path.rstrip("/")))]
    assert dead == []


def anchors(page):
    """What a link's fragment may name: each heading as GitHub spells it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_fragments_of_a_page_name_headings(page):
    """A link into a page goes to the heading it names, not to the page's top."""
    found = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text())
    targets = [
        ((page.parent / target) if target else page, fragment) for target, fragment in found if "://" not in target
    ]
    missing = [f"{target.name}#{fragment}" for target, fragment in targets if fragment not in anchors(target)]
    assert missing == []
