"""What a release is made with: links that work anywhere, pinned actions, one version, and refusals."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = [*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob("examples/github-actions/*.yml")]


def test_links_work_outside_the_repository():
    """With its address they lead there; without it they are their text."""
    build = {}
    exec((ROOT / "deploy/hatch_build.py").read_text(), build)
    whole = build["with_whole_links"]
    text = "See [docs](docs/a.md#b), [web](https://x.example/) and [here](#there).\n\n![p](x.svg)\n\nEnd"
    assert whole(text, "https://g.example/r/blob/v1/") == (
        "See [docs](https://g.example/r/blob/v1/docs/a.md#b), [web](https://x.example/) and [here](#there).\n\nEnd"
    )
    assert whole(text, "") == "See docs, [web](https://x.example/) and [here](#there).\n\nEnd"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_use_actions_by_commit_and_grant_little(path):
    """A tag can be moved; and what a job may do is said, not inherited."""
    used = re.findall(r"uses: (\S+)", path.read_text())
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []
    assert "permissions" in yaml.safe_load(path.read_text())


def test_everything_has_one_version():
    """The service, both clients and the chart."""
    service, client = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]["version"]
        for folder in (".", "clients/python")
    )
    chart = yaml.safe_load((ROOT / "deploy/helm/remit/Chart.yaml").read_text())
    typescript = json.loads((ROOT / "clients/typescript/package.json").read_text())["version"]
    assert {service, client, typescript, chart["version"], chart["appVersion"]} == {service}


def test_the_client_carries_the_licence():
    assert (ROOT / "clients/python/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.fixture
def repository(tmp_path):
    """The files of a release, in a repository whose CI and whose `make` only say that they ran."""
    tree = tmp_path / "tree"
    copied = ["deploy/release.sh", "deploy/helm/remit/Chart.yaml", "pyproject.toml", "clients/python/pyproject.toml"]
    for path in (*copied, "clients/typescript/package.json", "clients/typescript/package-lock.json"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tree / path)
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n- Something new.\n")
    (tree / ".ci").mkdir()
    for said, path in (("CI", tree / ".ci/run"), ("make", tmp_path / "bin/make")):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{said} $*"\n')
        path.chmod(0o755)
    git(tree, "init", "--quiet")
    git(tree, "add", ".")
    git(tree, "commit", "--quiet", "--message", "Begin")
    return tree


def git(tree: Path, *words: str) -> str:
    names = ["-c", "user.name=T", "-c", "user.email=t@example.com"]
    return subprocess.check_output(["git", *names, *words], cwd=tree, text=True).strip()


def release(tree: Path, version: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{tree.parent / 'bin'}:{os.environ['PATH']}"}
    env |= {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run([tree / "deploy/release.sh", version], cwd="/", env=env, capture_output=True, text=True)


def test_the_version_that_stands_there_already_can_be_released(repository):
    """As that of the first release does."""
    version = json.loads((repository / "clients/typescript/package.json").read_text())["version"]
    done = release(repository, version)
    assert done.returncode == 0, done.stderr
    assert git(repository, "describe") == f"v{version}"


def test_a_release_is_checked_numbered_tagged_and_built(repository):
    """In this order, so that what failed CI is never tagged."""
    done = release(repository, "1.2.3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == ["CI ", "make deploy-files", "make packages"]
    assert git(repository, "describe") == "v1.2.3"
    assert git(repository, "status", "--porcelain") == ""
    assert 'version = "1.2.3"' in (repository / "clients/python/pyproject.toml").read_text()
    assert json.loads((repository / "clients/typescript/package.json").read_text())["version"] == "1.2.3"
    lock = json.loads((repository / "clients/typescript/package-lock.json").read_text())
    assert (lock["version"], lock["packages"][""]["version"]) == ("1.2.3", "1.2.3")
    changed = git(repository, "show", "--numstat", "--format=", "HEAD", "--", "clients/typescript").splitlines()
    assert [each.split()[:2] for each in changed] == [["2", "2"], ["1", "1"]], "only the version is another"
    chart = yaml.safe_load((repository / "deploy/helm/remit/Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == ("1.2.3", "1.2.3")
    assert re.search(
        r"## \[Unreleased\]\n\n## \[1\.2\.3\] - \d{4}-\d\d-\d\d\n\n- Something new",
        (repository / "CHANGELOG.md").read_text(),
    )
    assert "CHANGELOG.md has nothing under [Unreleased]" in release(repository, "1.2.4").stderr


def test_a_release_whose_packages_fail_can_be_made_again(repository):
    """Nothing is tagged, and version and changelog are as before."""
    before = git(repository, "rev-parse", "HEAD")
    make = repository.parent / "bin/make"
    works = make.read_text()
    make.write_text('#!/bin/sh\n[ "$1" != packages ]\n')
    assert "is undone" in release(repository, "1.2.3").stderr
    assert (git(repository, "rev-parse", "HEAD"), git(repository, "tag")) == (before, "")
    make.write_text(works)
    assert release(repository, "1.2.3").returncode == 0
    assert git(repository, "describe") == "v1.2.3"


@pytest.mark.parametrize(
    ("version", "spoil", "said"),
    [
        ("1.2", "", "must look like 1.2.0"),
        ("1.2.3", "echo >> CHANGELOG.md", "commit or remove"),
        ("1.2.3", "git tag v1.2.3", "released already"),
        ("1.2.3", "printf '#!/bin/sh\\nexit 1\\n' > .ci/run && git -c user.name=T -c user.email=t commit -qam x", ""),
    ],
)
def test_a_release_that_cannot_be_is_refused_before_anything_changes(repository, version, spoil, said):
    subprocess.run(["sh", "-ec", spoil], cwd=repository, check=True)
    before = git(repository, "rev-parse", "HEAD"), git(repository, "tag"), git(repository, "status", "--porcelain")
    refused = release(repository, version)
    assert refused.returncode == 1
    assert said in refused.stderr
    assert (
        git(repository, "rev-parse", "HEAD"),
        git(repository, "tag"),
        git(repository, "status", "--porcelain"),
    ) == before
