"""Added to the packages: the commit they are built from, man pages, and a README whose links work anywhere."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

COMMIT = "app/commit.txt"
_LINK = re.compile(r"(?<!!)\[([^][]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")
_PICTURE = re.compile(r"!\[[^][]*\]\((?!https?:)[^)\s]+\)\n*")


class ReleaseMetadata(MetadataHookInterface):
    """The README as index pages show it, and the project's addresses.

    REMIT_REPOSITORY_URL is the address of the repository, such as `https://git.example.com/remit`. Without it, a link
    into the repository becomes its text.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Add `readme`, and `urls` if the repository's address is known."""
        repository = os.environ.get("REMIT_REPOSITORY_URL", "").rstrip("/")
        folder = self.config.get("folder", "")
        tree = f"{repository}/blob/v{metadata['version']}/{folder}" if repository else ""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": with_whole_links(text, tree)}
        if repository:
            metadata["urls"] = {
                "Repository": repository,
                "Documentation": f"{repository}/blob/v{metadata['version']}/docs/index.md",
                "Changelog": f"{repository}/blob/v{metadata['version']}/CHANGELOG.md",
            }


class CommitAndManPages(BuildHookInterface[Any]):
    """Adds `app/commit.txt`, and the man pages of `build/man` if there are any."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by Hatch before it builds; an editable installation needs neither."""
        if version == "editable":
            return
        root = Path(self.root)
        commit = commit_of(root)
        if commit and not (root / COMMIT).is_file():
            made = root / "build/commit.txt"
            made.parent.mkdir(exist_ok=True)
            made.write_text(f"{commit}\n", encoding="ascii")
            build_data["force_include"][str(made)] = COMMIT
        pages = sorted((root / "build/man").glob("*.1"))
        if self.target_name == "sdist":
            build_data["force_include"].update({str(page): f"build/man/{page.name}" for page in pages})
        else:
            build_data["shared_data"].update({str(page): f"share/man/man1/{page.name}" for page in pages})


def commit_of(root: Path) -> str:
    """The commit of this tree: as REMIT_COMMIT names it, as an sdist has recorded it, or of its repository."""
    if given := os.environ.get("REMIT_COMMIT"):
        return given
    recorded = root / COMMIT
    if recorded.is_file():
        return recorded.read_text(encoding="ascii").strip()
    if not (root / ".git").exists():
        return ""
    told = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return told.stdout.strip()


def with_whole_links(text: str, tree: str) -> str:
    """The Markdown with links that work outside the repository; pictures, which would not load, are left out.

    tree: where the files are served; "" turns each link into its text.
    """
    whole = r"\1" if not tree else lambda link: f"[{link[1]}]({urljoin(f'{tree}/', link[2])})"
    return _LINK.sub(whole, _PICTURE.sub("", text))
