"""What is known of programs that shell lines run: their harmless flags, and what their other words are.

`USUAL` is the table behind `"flags": "usual"`. A flag stands in it if, whatever else the line says, it makes the
program neither write a file of its own choice, run another program, load code or settings from a file, nor read more
than the files that it names. Sources: the manual pages of GNU coreutils 9, findutils, grep 3.8 and sed 4.9, of git 2.39
and ripgrep 13, and the published documentation of the other programs.
Long because the table is one.
"""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from app.language.file_kinds import CODE

Matches = Callable[[str], object]

TEXT, NUMBER, PATH = "TEXT", "NUMBER", "PATH"
_KINDS: dict[str, Matches] = {
    TEXT: re.compile(r".*", re.DOTALL).fullmatch,
    NUMBER: re.compile(r"[+-]?[0-9]{1,9}[kKMG]?").fullmatch,
    "WORD": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:=+-]*").fullmatch,
    "NAMES": re.compile(
        r"(?!.*(?:secret|credential|password|[.]env|[.]pem|[.]key|id_[a-z*])).*", re.IGNORECASE | re.DOTALL
    ).fullmatch,
    "SOURCES": re.compile(rf"(\*\*/)?\*\.({'|'.join(CODE)})").fullmatch,
}


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


class Flag(Struct, frozen=True):
    """What follows a flag. value: the test of a value; None = it has none. is_path: the value names a file.

    kind: the value, as the table names it. attached: the value must stand in the same word, after `=`.
    optional: it may be left out.
    """

    value: Matches | None = None
    kind: str = ""
    is_path: bool = False
    attached: bool = False
    optional: bool = False


class Program(Struct, frozen=True):
    """What is known of a program, or of one of its subcommands.

    flags: the harmless ones. by_letter: a word such as `-la` is several flags, and `-n5` one with its value.
    count: `-5` is a flag. words: what its other words are: `paths`, `files` (sources, since it reads whole folders),
    `any` words, `text` (dashes, too), `none`, `git` (revisions, or paths in them), `tests` (of pytest), `packages`
    (of Go), `numbers`.
    first: the test of its first word, if that is no path. most: how many words it may have.
    globs: it expands patterns itself, without those that are hidden. writes: it writes the files that it names.
    needs: one of these flags must be given with each of the first.
    """

    flags: Mapping[str, Flag]
    by_letter: bool = True
    count: bool = False
    words: str = "paths"
    first: Matches | None = None
    most: int = 1000
    globs: bool = False
    writes: bool = False
    needs: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())


def flags_of(text: str) -> dict[str, Flag]:
    """Flags in one text: `-q`, `-n NUMBER`, `--lines=NUMBER` for a value after `=` only, `--tb=short` for that value,
    `--color always|never` for one of several.
    """
    found = dict[str, Flag]()
    last = ""
    for token in text.split():
        name, equals, kind = token.partition("=")
        if token[0] != "-":
            found[last] = _flag(token)
        elif equals and (kind in _KINDS or kind == PATH or "|" in kind):
            found[name] = replace(_flag(kind), attached=True, optional=name in found)
        else:
            found[token] = replace(found[token], optional=True) if token in found else Flag()
            last = token
    return found


def _flag(kind: str) -> Flag:
    if kind == PATH:
        return Flag(_KINDS[TEXT], kind, is_path=True)
    return Flag(_KINDS[kind] if kind in _KINDS else frozenset(kind.split("|")).__contains__, kind)


def is_flag(text: str) -> bool:
    """True for one flag as an entry names it: `-m`, `--amend`, `-m TEXT`, `--format=TEXT`, `--tb=short`."""
    return _one_flag(text) is not None


_one_flag = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9_.-]*(?:=[A-Za-z0-9_.,:+-]+| (?:TEXT|NUMBER|PATH))?").fullmatch

_COLOR = " --color --color=always|never|auto"
_DIFF = (
    "-p -u --patch -s --no-patch --stat --stat=TEXT --numstat --shortstat --dirstat --summary --compact-summary"
    " --name-only --name-status --raw --patch-with-stat --no-color --word-diff --word-diff=color|plain|porcelain|none"
    " --color-words --minimal --patience --histogram -b -w --ignore-all-space --ignore-space-change"
    " --ignore-space-at-eol --ignore-blank-lines -U NUMBER --unified=NUMBER -M -C --find-renames --no-renames -R"
    " --diff-filter=WORD -S TEXT -G TEXT --check --exit-code --quiet -q -z --abbrev --abbrev=NUMBER --full-index"
    " --no-ext-diff --no-textconv --function-context -W --merge-base" + _COLOR
)
_PATCH = flags_of(
    "-p -u --patch --patch-with-stat -U NUMBER --unified=NUMBER --word-diff --word-diff=TEXT --color-words -c --cc -m"
    " --function-context -W"
)
"""What makes a history print the text of files, also of those that a line could not name."""

_LOG = _DIFF + (
    " --oneline --graph --all --decorate --decorate=short|full|auto|no --no-decorate -n NUMBER --max-count NUMBER"
    " --skip NUMBER --since TEXT --after TEXT --until TEXT --before TEXT --author TEXT --committer TEXT --grep TEXT"
    " -i -E -F -P --regexp-ignore-case --extended-regexp --no-merges --merges --first-parent --reverse --date=TEXT"
    " --format=TEXT --pretty --pretty=TEXT --abbrev-commit --no-abbrev-commit --follow --branches --remotes --tags"
    " --topo-order --date-order --author-date-order --left-right --cherry-pick --cherry-mark --full-history"
    " --simplify-by-decoration -g --walk-reflogs --source --ancestry-path --boundary -m -c --cc --invert-grep"
    " --all-match --no-notes --name-rev --count --relative-date --no-pager"
)
_GREP = (
    "-i -y -v -w -x -n -c -l -L -o -q -s -h -H -E -F -G -P -a -I -b -T -A NUMBER -B NUMBER -C NUMBER -m NUMBER -e TEXT"
    " --line-number --ignore-case --count --files-with-matches --files-without-match --only-matching --quiet --silent"
    " --extended-regexp --fixed-strings --basic-regexp --perl-regexp --invert-match --word-regexp --line-regexp"
    " --max-count NUMBER --after-context NUMBER --before-context NUMBER --context NUMBER --no-filename --with-filename"
    " --no-messages --regexp TEXT --include SOURCES --exclude=TEXT --exclude-dir=TEXT -r --recursive" + _COLOR
)
_PYTEST = (
    "-q -v -vv -vvv -x -s -l -k TEXT -m TEXT -n NUMBER --tb=short --tb=long --tb=line --tb=native --tb=no --tb=auto"
    " --lf --ff --nf --sw --last-failed --failed-first --new-first --stepwise --stepwise-skip --maxfail NUMBER --co"
    " --collect-only --no-header --no-summary -ra -rA -rs -rx -rf -rE -rfE -rP --durations NUMBER --exitfirst --quiet"
    " --verbose --showlocals --capture=no|sys|fd --color=yes|no|auto --strict-markers --disable-warnings"
    " --disable-pytest-warnings --no-cov --cov --cov=PATH --cov-report=term|term-missing|html|xml --setup-show"
    " --fixtures --markers --version -V --timeout=NUMBER --deselect TEXT --ignore=PATH --asyncio-mode=auto|strict"
)
_ESLINT = (
    "--fix --fix-dry-run --ext TEXT --quiet --max-warnings NUMBER --cache --no-cache --debug --color --no-color"
    " --report-unused-disable-directives --no-error-on-unmatched-pattern --ignore-pattern TEXT --no-warn-ignored"
    " --pass-on-no-patterns --no-inline-config --version -v --format json|stylish|compact|unix|html -f"
    " json|stylish|compact|unix|html"
)
_TSC = (
    "--noEmit --pretty -p PATH --project PATH -b --build -w --watch --skipLibCheck --strict --incremental --listFiles"
    " --listEmittedFiles --showConfig --version -v --emitDeclarationOnly -d --declaration --noUnusedLocals"
    " --noUnusedParameters --noImplicitAny --strictNullChecks --esModuleInterop --allowJs --checkJs --resolveJsonModule"
    " --isolatedModules --jsx WORD --target WORD -t WORD --module WORD -m WORD --moduleResolution WORD --lib TEXT"
    " --traceResolution --diagnostics --extendedDiagnostics --explainFiles --preserveWatchOutput --dry --verbose"
)
_CARGO = (
    "-v -vv -q --verbose --quiet --release -r --all --workspace --all-targets --all-features --no-default-features"
    " --features TEXT -F TEXT -p WORD --package WORD --exclude WORD --lib --bins --bin WORD --tests --test WORD"
    " --benches --examples --example WORD --doc --no-run --no-fail-fast --locked --offline --frozen -j NUMBER"
    " --jobs NUMBER --message-format=short --message-format=human --keep-going --color auto|always|never"
)
_GO = (
    "-v -x -n -race -short -run TEXT -run=TEXT -count NUMBER -count=NUMBER -cover -timeout WORD -timeout=WORD -failfast"
    " -parallel NUMBER -p NUMBER -bench TEXT -bench=TEXT -benchmem -tags TEXT -tags=TEXT -json -list TEXT -skip TEXT"
    " -shuffle=on|off -trimpath -m -u"
)
_TESTS_OF_JS = (
    "--watch --watchAll --watch=true|false --watchAll=true|false --coverage --coverage=true|false --verbose"
    " --silent --ci --bail -b --run --runInBand -i -t TEXT --testNamePattern TEXT --testPathPattern TEXT"
    " --passWithNoTests --updateSnapshot -u --update --no-cache --maxWorkers TEXT --detectOpenHandles"
    " --forceExit --listTests --changed --project WORD --version --reporter"
    " verbose|dot|basic|default|json|tap|junit --no-coverage --no-file-parallelism --no-watch --findRelatedTests"
)
_MOCHA = (
    "-g TEXT --grep TEXT -f TEXT --fgrep TEXT -b --bail -t NUMBER --timeout NUMBER --recursive --exit --no-exit"
    " --parallel --no-parallel --watch -w --check-leaks --forbid-only --forbid-pending --ui"
    " bdd|tdd|qunit|exports -u bdd|tdd|qunit --reporter dot|spec|min|list|tap|json|nyan|progress -R"
    " dot|spec|min|list|tap|json|nyan|progress --sort --full-trace"
)
_COMPOSE_LOGS = (
    "-f --follow --tail NUMBER -n NUMBER --timestamps -t --no-color --no-log-prefix --since TEXT --until TEXT"
)
_NPM_RUN = "-s --silent --if-present --workspaces --include-workspace-root -w WORD --workspace WORD"
_NPM_CI = (
    "--silent -s --no-audit --no-fund --ignore-scripts --prefer-offline --offline --legacy-peer-deps --production"
    " --omit=dev --frozen-lockfile --immutable --include=dev --no-progress --no-optional"
)
_GH_LIST = (
    "--limit NUMBER -L NUMBER --json TEXT --state open|closed|merged|all -s open|closed|merged|all --author"
    " TEXT -A TEXT --label TEXT -l TEXT --assignee TEXT -a TEXT --branch TEXT -b TEXT --search TEXT --status"
    " WORD --workflow TEXT --comments -c --log --log-failed --name-only --patch --exit-status --job NUMBER -j"
    " NUMBER --verbose -v --required"
)


def _history(**rest: object) -> Program:
    """A program that prints a history, with the flags of one that do not print the text of files."""
    row = _program(_LOG, words="git", by_letter=False, count=True, **rest)
    return replace(row, flags={name: flag for name, flag in row.flags.items() if name not in _PATCH})


def _program(text: str, **rest: object) -> Program:
    return Program(flags_of(text), **rest)  # type: ignore[arg-type]


_SED_LINES = re.compile(
    r"(?:[0-9]{1,9}|\$)(?:,\+?(?:[0-9]{1,9}|\$))?p(?:;(?:[0-9]{1,9}|\$)(?:,(?:[0-9]{1,9}|\$))?p)*"
).fullmatch
_JQ_FILTER = re.compile(
    r"(?:\.[A-Za-z0-9_]*|\.?\[(?:[0-9]{1,6}|\"[A-Za-z0-9_ -]*\")?\]|\.\"[A-Za-z0-9_ @/.-]*\"| \| (?=[.a-z])"
    r"|(?:keys|length|type|unique|sort|first|last|add)(?= \| |$))+"
).fullmatch
_DATE_FORMAT = re.compile(r"\+.*").fullmatch
_GREP_ROW = _program(
    _GREP,
    count=True,
    needs=(frozenset({"-r", "--recursive"}), frozenset({"--include"})),
)
_ANYTHING = frozenset({""})

_INSTALLS = ("npm ci", "npm install", "npm i", "pnpm install", "pnpm i", "yarn install", "bun install")

USUAL: dict[str, Program] = {
    **dict.fromkeys(("md5sum", "sha1sum", "sha256sum"), _program("-b -t")),
    **dict.fromkeys(("tac", "rev"), _program("")),
    **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP_ROW),
    **dict.fromkeys(("git log", "git rev-list", "git whatchanged"), _history()),
    **dict.fromkeys(("tsc", "vue-tsc"), _program(_TSC, by_letter=False, writes=True)),
    **dict.fromkeys(("jest", "vitest"), _program(_TESTS_OF_JS, by_letter=False, globs=True)),
    **dict.fromkeys(
        ("true", "false", "whoami", "cargo clean", "go version", "gh auth status", "pip check"),
        _program("", words="none"),
    ),
    **dict.fromkeys(_INSTALLS, _program(_NPM_CI, words="none", by_letter=False)),
    **dict.fromkeys(("cargo build", "cargo check", "cargo clippy"), _program(_CARGO, words="none")),
    "ls": _program(
        "-a -A -b -B -c -C -d -f -F -g -G -h -H -i -k -l -m -n -N -o -p -q -Q -r -s -S -t -u -U -v -x -X -1 --all"
        " --almost-all --classify --directory --full-time --group-directories-first --human-readable --inode --reverse"
        " --si --size --numeric-uid-gid --sort=size|time|extension|version|none --time-style=iso|long-iso|full-iso"
        + _COLOR
    ),
    "cat": _program("-A -b -e -E -n -s -t -T -u -v --number --number-nonblank --show-all --show-ends --squeeze-blank"),
    "head": _program("-n NUMBER -c NUMBER -q -v --lines NUMBER --bytes NUMBER --quiet --verbose", count=True),
    "tail": _program(
        "-n NUMBER -c NUMBER -q -v -f -F --lines NUMBER --bytes NUMBER --quiet --verbose --follow --retry", count=True
    ),
    "wc": _program("-c -m -l -L -w --bytes --chars --lines --max-line-length --words"),
    "nl": _program("-b WORD -n WORD -w NUMBER -v NUMBER"),
    "sort": _program(
        "-b -d -f -g -h -i -M -n -R -r -V -c -C -k TEXT -t TEXT -u -s -m --reverse --numeric-sort --unique"
        " --human-numeric-sort --version-sort --ignore-case --key TEXT --field-separator TEXT --stable --check"
    ),
    "uniq": _program("-c -d -D -i -u -f NUMBER -s NUMBER -w NUMBER --count --repeated --unique --ignore-case", most=1),
    "cut": _program(
        "-b TEXT -c TEXT -d TEXT -f TEXT -s --fields TEXT --delimiter TEXT --characters TEXT --bytes TEXT --complement"
        " --only-delimited"
    ),
    "tr": _program("-c -C -d -s -t --complement --delete --squeeze-repeats", words="any"),
    "comm": _program("-1 -2 -3 --nocheck-order"),
    "paste": _program("-d TEXT -s"),
    "join": _program("-1 NUMBER -2 NUMBER -t TEXT -i -a NUMBER"),
    "column": _program("-t -s TEXT -n"),
    "fold": _program("-w NUMBER -s"),
    "diff": _program(
        "-u -U NUMBER -q -s -w -b -B -i -y --brief --side-by-side --unified=NUMBER" + _COLOR, words="files"
    ),
    "cmp": _program("-s -l", most=2),
    "file": _program("-b -i -L --brief --mime --mime-type"),
    "stat": _program("-c TEXT --format=TEXT -L -t"),
    "du": _program("-s -h -a -c -k -m -b -x -d NUMBER --max-depth=NUMBER --summarize --human-readable --total"),
    "df": _program("-h -k -m -T -i --human-readable"),
    "tree": _program("-a -d -f -h -s -C -p -L NUMBER -I TEXT -P TEXT --dirsfirst --noreport", by_letter=False),
    "find": _program(
        "-name NAMES -iname NAMES -type WORD -maxdepth NUMBER -mindepth NUMBER -path NAMES -ipath NAMES"
        " -wholename NAMES -regex TEXT -iregex TEXT -not -o -or -a -and -size TEXT -mtime TEXT -mmin TEXT -ctime"
        " TEXT -atime TEXT -newer PATH -empty -prune -print -print0 -perm TEXT",
        by_letter=False,
    ),
    "rg": _program(
        "-i -v -w -x -n -N -c -l -o -q -s -S -F -A NUMBER -B NUMBER -C NUMBER -m NUMBER -e TEXT -g SOURCES"
        " --glob SOURCES -t"
        " py|python|js|ts|typescript|css|html|md|markdown|rust|go|java|c|cpp|ruby|php|swift|kotlin|sql -T WORD"
        " --type py|python|js|ts|typescript|css|html|md|markdown|rust|go|java|c|cpp|ruby|php|swift|kotlin|sql"
        " --line-number --ignore-case --count --files-with-matches --only-matching --fixed-strings --no-heading"
        " --heading --word-regexp --max-count NUMBER --smart-case --multiline -U" + _COLOR,
        needs=(_ANYTHING, frozenset({"-g", "--glob", "-t", "--type"})),
    ),
    "sed": _program("-n -E -r -s --quiet --silent --regexp-extended", first=_SED_LINES),
    "jq": _program("-r -c -M -S -e --raw-output --compact-output --sort-keys --exit-status", first=_JQ_FILTER),
    "echo": _program("", words="text"),
    "printf": _program("", words="any"),
    "pwd": _program("-L -P", words="none"),
    "hostname": _program("-s -f", words="none"),
    "uname": _program("-a -s -r -m -n -o -v", words="none"),
    "id": _program("-u -g -n -G", words="none"),
    "date": _program("-u -I -R --utc --iso-8601 -d TEXT --date=TEXT", words="none", first=_DATE_FORMAT),
    "sleep": _program("", words="numbers"),
    "seq": _program("", words="numbers"),
    "which": _program("-a", words="any"),
    "basename": _program("-a -s TEXT", words="any"),
    "dirname": _program("", words="any"),
    "realpath": _program("-e -m -s"),
    "readlink": _program("-f -e -m"),
    "shasum": _program("-a NUMBER -b -t"),
    "lsof": _program("-t -n -P -i TEXT", words="none", needs=(_ANYTHING, frozenset({"-i"}))),
    "mkdir": _program("-p -v --parents --verbose", writes=True),
    "touch": _program("-a -c -m", writes=True),
    "cp": _program("-n -p -u -v --no-clobber --preserve --update --verbose", writes=True),
    "mv": _program("-n -v --no-clobber --verbose", writes=True),
    "rm": _program("-v -i -I --verbose", writes=True),
    "rmdir": _program("-p -v", writes=True),
    "tee": _program("-a --append", writes=True),
    "git status": _program(
        "-s -b -u -v --short --branch --porcelain --porcelain=v1 --porcelain=v2 --long --show-stash --ahead-behind"
        " --ignored --untracked-files=no|normal|all -uno -unormal -uall -z",
        words="git",
    ),
    "git show": _program(_LOG, words="git", by_letter=False, count=True),
    "git diff": _program(_DIFF + " --cached --staged", words="git", by_letter=False),
    "git blame": _program(
        "-L TEXT -w -M -C -e -s -t -l -f -n --date=TEXT --porcelain --line-porcelain --show-email --since=TEXT",
        words="git",
        by_letter=False,
    ),
    "git branch": _program(
        "-a -r -v -vv -l --all --remotes --list --show-current --merged --no-merged --sort=TEXT --format=TEXT"
        " --no-color --column" + _COLOR,
        words="none",
    ),
    "git tag": _program("-l -n --list --sort=TEXT --format=TEXT --merged --no-merged", words="none"),
    "git remote": _program("-v --verbose", words="none"),
    "git remote get-url": _program("--push --all", words="git", most=1),
    "git rev-parse": _program(
        "--show-toplevel --abbrev-ref --short --short=NUMBER --verify --git-dir --is-inside-work-tree --quiet -q"
        " --symbolic-full-name --absolute-git-dir --git-common-dir --show-prefix --show-cdup --all --branches --tags",
        words="git",
    ),
    "git ls-files": _program(
        "-c -m -o -d -s -u -z -t -v --cached --modified --others --deleted --stage --unmerged --exclude-standard"
        " --full-name --error-unmatch --ignored --directory",
        words="git",
    ),
    "git ls-tree": _program("-r -t -d -l -z --name-only --name-status --long --full-name --full-tree", words="git"),
    "git cat-file": _program("-t -s -e -p", words="git"),
    "git describe": _program("--tags --all --always --dirty --long --abbrev=NUMBER --exact-match", words="git"),
    "git shortlog": _program("-s -n -e --summary --numbered --email --since=TEXT --no-merges", words="git"),
    "git merge-base": _program("-a --all --is-ancestor --fork-point", words="git"),
    "git name-rev": _program("--tags --name-only", words="git"),
    "git check-ignore": _program("-v -n -q", words="git"),
    "git reflog": _program("--date=TEXT -n NUMBER --all --oneline", words="none", by_letter=False, count=True),
    "git reflog show": _program("--date=TEXT -n NUMBER --all --oneline", words="git", by_letter=False, count=True),
    "git count-objects": _program("-v -H", words="none"),
    "git stash list": _program("--oneline --stat --date=TEXT -n NUMBER", words="none", by_letter=False, count=True),
    "git stash show": _program(_DIFF, words="git", by_letter=False),
    "git worktree list": _program("-v --porcelain", words="none"),
    "git add": _program("-A -u -n -v -N --all --update --dry-run --verbose --intent-to-add --no-all", words="git"),
    "git commit": _program(
        "-m TEXT -a -q -s -v --message TEXT --all --quiet --signoff --verbose --allow-empty --dry-run", words="git"
    ),
    "git fetch": _program("--all -p --prune -t --tags -v -q -n --dry-run --verbose --quiet --no-tags", words="none"),
    "git fetch origin": _program("-p --prune -t --tags -v -q --dry-run --verbose --quiet", words="none"),
    "git checkout -b": _program("-q --quiet", words="git"),
    "git switch -c": _program("-q --quiet", words="git"),
    "npm test": _program(_NPM_RUN, words="none", by_letter=False),
    "npm run": _program(_NPM_RUN, words="none", by_letter=False),
    "npm ls": _program("--depth=NUMBER --depth NUMBER --all --json --long --prod", words="any", by_letter=False),
    "npm outdated": _program("--json --long", words="none", by_letter=False),
    "npm audit": _program("--json --production --omit=dev --audit-level=low|moderate|high|critical", words="none"),
    "pytest": _program(_PYTEST, words="tests"),
    "mypy": _program(
        "--strict --ignore-missing-imports --no-incremental --show-error-codes --pretty --no-error-summary -v -p WORD"
        " -m WORD --show-error-context --check-untyped-defs --disallow-untyped-defs --follow-imports=silent|skip|normal"
        " --python-version WORD --explicit-package-bases --namespace-packages --warn-unused-ignores --no-color-output"
        " --hide-error-context --version"
    ),
    "pyright": _program("--stats --verbose --outputjson --warnings --version", by_letter=False),
    "ruff check": _program(
        "--fix --diff --select TEXT --ignore TEXT --extend-select TEXT --show-fixes --statistics --quiet -q"
        " --verbose -v --no-fix --no-cache --preview --exit-zero --watch -w --output-format"
        " concise|full|json|github|grouped|text"
    ),
    "ruff format": _program("--check --diff --quiet -q --verbose -v --preview --no-cache"),
    "black": _program("--check --diff --quiet -q -v --verbose -l NUMBER --line-length NUMBER -S --color --no-color"),
    "isort": _program("--check --check-only -c --diff --profile black|django|google --quiet -q"),
    "flake8": _program("--max-line-length NUMBER --select TEXT --ignore TEXT --count --statistics --show-source"),
    "pylint": _program("-E --errors-only -j NUMBER --disable TEXT --enable TEXT --reports=y|n -sn -rn"),
    "eslint": _program(_ESLINT, globs=True, by_letter=False),
    "prettier": _program(
        "--check -c --write -w --list-different -l --ignore-unknown -u --log-level WORD --loglevel WORD --cache"
        " --no-color --no-error-on-unmatched-pattern --no-config",
        globs=True,
        needs=(_ANYTHING, names("--check -c --write -w --list-different -l")),
    ),
    "stylelint": _program("--fix --quiet -q --cache --allow-empty-input", globs=True),
    "mocha": _program(_MOCHA, globs=True, by_letter=False),
    "cargo doc": _program(_CARGO + " --no-deps", words="none"),
    "cargo test": _program(_CARGO, words="any"),
    "cargo bench": _program(_CARGO, words="any"),
    "cargo fmt": _program("--check --all -v -q", words="none"),
    "cargo tree": _program("-i WORD -d -e WORD --depth NUMBER -p WORD", words="none"),
    "cargo metadata": _program("--no-deps --format-version NUMBER", words="none"),
    "go build": _program(_GO, words="packages", by_letter=False),
    "go test": _program(_GO, words="packages", by_letter=False),
    "go vet": _program("-v -n -x -tags TEXT", words="packages", by_letter=False),
    "go fmt": _program("-n -x", words="packages", by_letter=False),
    "go list": _program(_GO + " -deps -e", words="packages", by_letter=False),
    "go doc": _program("-all -src -short", words="packages", by_letter=False),
    "gofmt": _program("-l -d -s", by_letter=False),
    "docker ps": _program("-a -q -l -s -n NUMBER --all --no-trunc --quiet --format TEXT --filter TEXT", words="none"),
    "docker images": _program("-a -q --all --no-trunc --quiet --format TEXT --filter TEXT", words="none"),
    "docker logs": _program(_COMPOSE_LOGS, words="any"),
    "docker compose ps": _program("-a -q --all --services", words="any"),
    "docker compose logs": _program(_COMPOSE_LOGS, words="any"),
    "docker-compose ps": _program("-a -q --all --services", words="any"),
    "docker-compose logs": _program(_COMPOSE_LOGS, words="any"),
    "gh pr": _program(_GH_LIST, words="any", by_letter=False),
    "gh issue": _program(_GH_LIST, words="any", by_letter=False),
    "gh run": _program(_GH_LIST, words="any", by_letter=False),
    "gh search": _program(_GH_LIST + " --repo TEXT -R TEXT --sort WORD --order WORD", words="any", by_letter=False),
    "ava": _program(
        "-v -s -w --verbose --serial --watch --fail-fast --timeout NUMBER --match TEXT", globs=True, by_letter=False
    ),
    "xo": _program("--fix --quiet", globs=True, by_letter=False),
    "biome": _program("--write --staged --changed --error-on-warnings", by_letter=False),
    "oxlint": _program("--fix --quiet", by_letter=False),
    "oxfmt": _program("--check", by_letter=False),
    "svelte-check": _program("--fail-on-warnings --watch", words="none", by_letter=False),
    "knip": _program("--production --strict --include WORD", words="none", by_letter=False),
    "depcheck": _program("--json", words="none", by_letter=False),
    "node --test": _program("", globs=True),
    "node --check": _program(""),
    "pip list": _program("--outdated -o --format=columns|freeze|json", words="none"),
    "pip show": _program("-f --files", words="any"),
    "uv sync": _program("--frozen --locked --all-extras --dev --no-dev --all-groups -q", words="none"),
    "uv pip list": _program("--outdated", words="none"),
    "uv tree": _program("--depth NUMBER", words="none"),
    "rspec": _program(
        "--format progress|documentation|json -f progress|documentation --fail-fast --color",
        words="tests",
        by_letter=False,
    ),
    "rubocop": _program("-a -A --autocorrect --parallel --format simple|progress|json", by_letter=False),
    "gh repo view": _program("--json TEXT", words="any", by_letter=False),
}

PATTERN_FLAGS = frozenset({"-e", "--regexp"})
"""Flags of `grep` and its kind whose values are patterns."""
