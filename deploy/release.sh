#!/usr/bin/env bash
# A release, all but publishing it: $1 is its version. Everything that CI checks, the changelog's section, versions,
# packages, checksums, a commit and its tag. Pushing the tag publishes it (.github/workflows/release.yml).
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1
refuse() { echo "no release: $1" >&2; exit 1; }
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || refuse "the version must look like 1.2.0 and not '$version'; make release VERSION=1.2.0"
[ -z "$(git status --porcelain)" ] || refuse "the working tree has changes; commit or remove them"
git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null && refuse "v$version is released already"
sed -n '/^## \[Unreleased\]/,/^## \[[0-9]/p' CHANGELOG.md | grep -q '^- ' || refuse "CHANGELOG.md has nothing under [Unreleased]"

.ci/run
before=$(git rev-parse HEAD)
trap 'git reset --quiet --hard "$before"; echo "no release: a step failed, and what it had changed is undone" >&2' EXIT
sed -i "s/^version = \".*\"/version = \"$version\"/" pyproject.toml clients/python/pyproject.toml
sed -i -E "s/^(appVersion|version): .*/\1: $version/" deploy/helm/remit/Chart.yaml
sed -i "s/^## \[Unreleased\]/&\n\n## [$version] - $(date -u +%F)/" CHANGELOG.md
# npm would write package.json anew; the first lines of its lock say the version twice.
sed -i -E "1,10s/^( *\"version\": ).*/\1\"$version\",/" clients/typescript/package.json clients/typescript/package-lock.json
make deploy-files
git commit --quiet --all --message "Release $version"
make packages
git tag --annotate --message "Remit $version" "v$version"
trap - EXIT
echo "v$version is in dist/ and tagged here; git push --follow-tags publishes it"
