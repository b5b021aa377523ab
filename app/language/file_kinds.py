"""Files that a name gives away: secrets, files that run by themselves, and hidden ones.

Names are compared in any letter case, and a directory's name counts for all that lies in it. A name proves nothing: a
secret may lie in `notes.txt`, and a symbolic link may lead anywhere.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

from app.language.spellings import folded


class FileKind(StrEnum):
    """`secrets`: names of keys and credentials. `runs`: what tools run or obey unasked. `hidden`: names with a dot."""

    SECRETS = "secrets"
    RUNS = "runs"
    HIDDEN = "hidden"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CODE = _names(
    "py pyi js mjs cjs jsx ts mts cts tsx vue svelte css scss sass less html htm md mdx rst go rs java kt kts"
    " scala c h cc cpp cxx hpp hh cs fs swift m mm rb erb php pl pm lua ex exs erl hs ml mli clj cljs dart r jl"
    " sql graphql gql proto zig nim sol"
)
"""Endings of source and documentation, whose names often speak of secrets and hold none."""

KEPT_NAMES = _names(
    ".env .envrc .flaskenv .dev.vars .npmrc .yarnrc .netrc _netrc .pgpass .my.cnf .mylogin.cnf .pypirc .htpasswd .boto"
    " .s3cfg .dockercfg .git-credentials .vault-token .terraformrc .renviron .ftpconfig .fetchmailrc .msmtprc .esmtprc"
    " .bash_history .zsh_history .sh_history .python_history .node_repl_history .psql_history .mysql_history"
    " .sqlite_history .rediscli_history .lesshst .viminfo .aws .azure .gcloud .ssh .gnupg .kube .docker .password-store"
    " .git .gem .cargo-credentials .config/gh passwd shadow gshadow htpasswd vault.yml vault.yaml auth.json hosts.yml"
    " cookies.txt cookies.sqlite cookies key3.db key4.db logins.json wallet.dat sftp-config.json wp-config.php"
    " database.yml appsettings.json local_settings.py settings_local.py settings.local.py local.settings.json"
    " local.properties keystore.properties key.properties signing.properties google-services.json"
    " googleservice-info.plist recentservers.xml sitemanager.xml filezilla.xml master.key proguard.key kubeconfig"
    " terraform.rc web.config datasources.xml environ token tokens secret secrets password passwords"
)
KEPT_ENDINGS = _names(
    "env pem key p12 pfx pkcs12 p8 pkcs8 jks keystore bks kdb kdbx ppk gpg pgp asc age agekey ovpn tfstate"
    " tfvars der jwk jwks jwt keytab kwallet agilekeychain keychain mobileprovision rdp sops dump pcap har"
)
SUSPECT_WORDS = "secret|credential|kubeconfig"
NAMING_WORDS = (
    "passwd|password|passphrase|private[-_.]?key|privkey|api[-_.]?key|access[-_.]?key"
    "|service[-_.]?account|adminsdk|auth[-_.]?token|access[-_.]?token|api[-_.]?token"
    "|(^|[-_.])tokens?([-_.]|$)|(^|[-_.])oauth([-_.]|$)|encryption[-_.]?key|(^|[-_.])htpasswd"
    "|(^|[-_])wg[0-9]"
)
SUSPECT_SHAPES = (
    r"([.]env|env)([-_.].*)?|.*[.]env([-_.].*)?|id_(rsa|dsa|ecdsa|ed25519|xmss)(?!.*[.]pub$).*|id_[a-z0-9]+|ssh_host_.*key"
    r"|appsettings[.].*json|.*[.]tfstate[.].*|.*[.]tfvars[.]json|.*[.]auto[.]tfvars|firebase.*adminsdk.*|gcp[-_]?key.*"
    r"|.*[.](pem|key|p12|pfx|jks|keystore|kdbx|env)[.].*"
)
PUBLIC = r".*[.](example|sample|template|dist|tpl)|id_[a-z0-9]+[.]pub"
COPIES = r"([.](bak|old|orig|save|swp|swo|backup|copy|tmp|[0-9]{1,2})|~| copy|[-_.](backup|copy|old))+$"
"""What a copy of a file adds to its name."""

RUNS_NAMES = _names(
    "head config packed-refs commondir gitdir .gitattributes .gitmodules .gitconfig makefile gnumakefile"
    " bsdmakefile justfile .justfile taskfile rakefile guardfile vagrantfile dockerfile containerfile"
    " jenkinsfile procfile brewfile gemfile gemfile.lock podfile fastfile appfile cartfile dangerfile capfile"
    " berksfile snakefile tiltfile earthfile sconstruct sconscript wscript cmakelists.txt configure meson.build"
    " module.bazel build.xml pom.xml mvnw gradlew flake.nix shell.nix default.nix conftest.py noxfile.py"
    " setup.py sitecustomize.py usercustomize.py fabfile.py tasks.py dodo.py manage.py gunicorn.conf.py"
    " pyproject.toml pipfile pipfile.lock poetry.lock uv.lock uv.toml ruff.toml pdm.lock environment.yml"
    " package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml pnpm-workspace.yaml bun.lockb"
    " bun.lock bunfig.toml deno.json deno.jsonc lerna.json nx.json turbo.json rush.json workspace.json"
    " project.json gulpfile gruntfile jakefile build.rs cargo.toml cargo.lock rust-toolchain rust-toolchain.toml"
    " clippy.toml go.mod go.sum go.work composer.json composer.lock mix.exs mix.lock rebar.config"
    " rebar.config.script build.boot project.clj deps.edn package.swift pubspec.yaml azure-pipelines.yml"
    " bitbucket-pipelines.yml cloudbuild.yaml cloudbuild.yml appveyor.yml buildspec.yml lefthook.yml"
    " lefthook.yaml netlify.toml vercel.json fly.toml app.yaml app.json serverless.yml skaffold.yaml chart.yaml"
    " codeship-steps.yml wercker.yml claude.md claude.local.md agents.md agents.override.md gemini.md"
    " copilot-instructions.md mcp.json skill.md pylintrc nodemon.json tslint.json crontab rc.local autorun.inf"
)
RUNS_FOLDERS = _names(".git .husky .githooks hooks node_modules site-packages dist-packages venv virtualenv")
RUNS_ENDINGS = _names(
    "mk mak pth ini cfg sh bash zsh fish csh ksh command bat cmd ps1 psm1 vbs wsf gradle cmake bzl bazel"
    " gemspec podspec service timer socket desktop plist rake nix reg msi so dll dylib jar exe"
)
RUNS_SHAPES = (
    r"(dockerfile|containerfile|jenkinsfile|vagrantfile|makefile|justfile|taskfile|procfile)([-_.].*)?|.*[.](dockerfile|"
    r"containerfile|jenkinsfile)|(docker-)?compose.*[.]ya?ml|.*[.]gradle[.]kts|build[.](zig|sbt|sc|cake|mill|ninja)"
    r"|(jest|vite|vitest|webpack|rollup|babel|eslint|prettier|tailwind|postcss|next|nuxt|svelte|astro|metro|karma|cypress"
    r"|playwright|tsup|esbuild|rspack|rsbuild|stylelint|commitlint|lint-staged|release|remix|ember|gatsby|craco|wdio"
    r"|protractor|nightwatch|codecept|storybook|drizzle|knip|vue|angular|ionic|capacitor|expo|sanity|semantic-release)"
    r"([.-]config|[.-]conf|[.]setup)?[-_.a-z0-9]*[.](js|cjs|mjs|ts|cts|mts|json)|.*[.](config|conf|setup|rc)[.][cm]?[jt]sx?"
    r"|(gulp|grunt|jake)file([.].*)?|tsconfig.*[.]json|jsconfig.*[.]json|requirements.*[.](txt|in)|constraints.*[.]txt"
    r"|deploy([-_.][a-z0-9_-]+)?([.](py|js|mjs|ts|rb|pl))?"
    r"|directory[.]build[.](props|targets)|nuget[.]config"
)


_says_secret = re.compile(SUSPECT_WORDS).search
_speaks_of_secrets = re.compile(NAMING_WORDS).search
_has_secret_shape = re.compile(SUSPECT_SHAPES).fullmatch
_is_public = re.compile(PUBLIC).fullmatch
_is_copied = re.compile(COPIES)
_has_running_shape = re.compile(RUNS_SHAPES).fullmatch


def kinds_of(path: str) -> frozenset[FileKind]:
    """The kinds of what lies at this path; of `a/b`, those of `a` and of `b`. Names that cannot be folded are none."""
    if "/" not in path and path not in _NOWHERE:
        return _kinds_of_name(path)
    names = [name for name in path.split("/") if name not in _NOWHERE]
    found = _kinds_of_name(names.pop()) if names else _NONE
    for folder in names:
        found |= _kinds_of_folder(folder)
    return found


_NONE = frozenset[FileKind]()
_NOWHERE = frozenset({"", ".", ".."})


@lru_cache(maxsize=4096)
def _kinds_of_folder(given: str) -> frozenset[FileKind]:
    name = folded(given)
    kinds = {FileKind.HIDDEN} if name[0] == "." else set[FileKind]()
    if _says_secret(name) or (name[0] == "." and name in KEPT_NAMES):
        kinds.add(FileKind.SECRETS)
    if name in RUNS_FOLDERS:
        kinds.add(FileKind.RUNS)
    return frozenset(kinds)


def is_source(name: str) -> bool:
    """True if the ending is one of source or documentation."""
    return name.rpartition(".")[2].lower() in CODE


@lru_cache(maxsize=4096)
def _kinds_of_name(given: str) -> frozenset[FileKind]:
    name = folded(given)
    kinds = set(_kinds_of_folder(given))
    for spelled in {name, _is_copied.sub("", name) or name}:
        if _is_secret(spelled):
            kinds.add(FileKind.SECRETS)
        if _runs(spelled):
            kinds.add(FileKind.RUNS)
    return frozenset(kinds)


def _is_secret(name: str) -> bool:
    if _is_public(name):
        return False
    ending = name.rpartition(".")[2] if "." in name else ""
    if name in KEPT_NAMES or ending in KEPT_ENDINGS or _has_secret_shape(name) or _says_secret(name):
        return True
    return ending not in CODE and _speaks_of_secrets(name) is not None


def _runs(name: str) -> bool:
    stem, _, ending = name.rpartition(".")
    if name in RUNS_NAMES or (stem and ending in RUNS_ENDINGS):
        return True
    return _has_running_shape(name) is not None


def words_of(kinds: Iterable[FileKind]) -> str:
    """The kinds, for people."""
    return " or ".join(_WORDS[kind] for kind in FileKind if kind in kinds)


_WORDS = {
    FileKind.SECRETS: "the name of a secret",
    FileKind.RUNS: "a file that runs by itself",
    FileKind.HIDDEN: "a hidden name",
}
