"""Names that give files away."""

import pytest

from app.language.file_kinds import FileKind, kinds_of

SECRETS = """.env .env.local .env.production prod.env env.prod .env.bak .ENV .envrc .npmrc .netrc .pgpass .pypirc
.git-credentials .aws/credentials .ssh/id_rsa id_rsa id_ed25519 id_rsa.bak server.key TLS.KEY server.pem
cert.p12 app.jks terraform.tfstate terraform.tfstate.backup prod.tfvars secrets.yaml app-secrets.json
credentials.json client_secret_1.json service-account.json serviceAccountKey.json
shop-firebase-adminsdk-x.json google-services.json kubeconfig .kube/config .docker/config.json
.vault-token .htpasswd .my.cnf wp-config.php database.yml appsettings.Production.json local.properties
config/master.key auth.json passwords.txt password api_key.txt apikeys.json tokens.json token
.bash_history cookies.txt vault.kdbx wg0.conf vpn.ovpn private.gpg dump.sql.key privatekey.txt
access-token.txt"""
RUNS = """Makefile GNUmakefile rules.mk justfile Rakefile Gemfile Vagrantfile Dockerfile Dockerfile.dev
docker-compose.yml compose.yaml Jenkinsfile .github/workflows/ci.yml.sh .gitlab-ci.yml.sh
azure-pipelines.yml Procfile lefthook.yml package.json package-lock.json pyproject.toml setup.py
setup.cfg tox.ini pytest.ini noxfile.py conftest.py tests/conftest.py sitecustomize.py x.pth build.rs
Cargo.toml build.gradle build.gradle.kts gradlew pom.xml CMakeLists.txt configure flake.nix HEAD config
.gitattributes hooks/pre-commit node_modules/a/index.js venv/bin/a deploy.sh deploy.py run.ps1
vite.config.ts jest.config.js webpack.config.prod.js eslint.config.mjs babel.config.json gulpfile.js
tsconfig.json requirements.txt CLAUDE.md AGENTS.md mcp.json crontab x.service x.plist
Jenkinsfile.release go.mod composer.json mix.exs"""
NEITHER = """src/app.py README.md docs/release.md src/password_reset.py src/PasswordReset.tsx src/tokenizer.py
tokens/a.ts src/config/x.py id_rsa.pub keyboard.py environment.ts src/head.py lib/build.ts monkey.js
tests/test_secretary.py"""


@pytest.mark.parametrize(
    ("kind", "names"), [(FileKind.SECRETS, SECRETS), (FileKind.RUNS, RUNS)], ids=["secrets", "runs"]
)
def test_names_are_of_their_kind_in_any_letter_case(kind, names):
    """And below any folder."""
    for name in names.split():
        for spelled in (name, name.upper(), f"a/b/{name}"):
            assert kind in kinds_of(spelled), spelled


def test_other_names_are_neither():
    """Source code may speak of secrets."""
    found = {name: kinds_of(name) & {FileKind.SECRETS, FileKind.RUNS} for name in NEITHER.split()}
    assert {name: kinds for name, kinds in found.items() if kinds} == {"tests/test_secretary.py": {FileKind.SECRETS}}


def test_a_folder_counts_for_what_lies_in_it():
    """Of names that begin with a dot or speak of secrets."""
    assert kinds_of(".ssh/a/b") == {FileKind.SECRETS, FileKind.HIDDEN}
    assert kinds_of("secrets/a.py") == {FileKind.SECRETS}
    assert kinds_of("a/.b/c") == {FileKind.HIDDEN}
    assert kinds_of("") == kinds_of(".") == frozenset()
