"""What stands around the programs of a shell line: what runs others, what the shell does itself, and variables."""

import re

from app.language.shell_programs import USUAL, names

RUNNERS = names(
    "sudo doas su env xargs parallel sh bash zsh dash ksh mksh fish csh tcsh ash eval command builtin exec source"
    " . nohup setsid stdbuf watch strace ltrace gdb lldb script ssh scp rsync sftp chroot unshare nsenter ionice"
    " chrt taskset flock expect busybox toybox at batch crontab trap coproc uvx pipx bunx dlx systemd-run"
    " dbus-run-session firejail bwrap proot fakeroot unbuffer entr nodemon concurrently npm-run-all run-s run-p"
    " dotenv cross-env direnv mise asdf powershell pwsh cmd cmd.exe powershell.exe pkexec runuser setpriv"
    " timelimit awk gawk mawk nawk perl ruby lua vi vim nvim view ex ed emacs less more man osascript screen tmux"
    " docker-run wine make-it c8 nyc valgrind time timeout nice npx tclsh wish gdbserver install-info run-parts"
    " start-stop-daemon logger-exec"
)
"""Programs that run others, named in their words or in a text, so that nothing here can tell what they run."""

EVALUATES = frozenset({"-c", "-e", "-p", "-r", "--eval", "--print", "--require", "--import", "--loader", "-pe", "-m"})
"""Flags with which an interpreter runs what they say."""

RUN_BY_FLAG = {
    "find": frozenset({"-exec", "-execdir", "-ok", "-okdir"}),
    "git": frozenset(
        {"-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack", "-x", "--exec", "--ext-diff"}
    ),
    "tar": frozenset({"--to-command", "-I", "--use-compress-program", "--checkpoint-action", "--info-script", "-F"}),
    "sort": frozenset({"--compress-program"}),
    "rsync": frozenset({"-e", "--rsh"}),
    "rg": frozenset({"--pre"}),
    "fd": frozenset({"-x", "-X", "--exec", "--exec-batch"}),
    "zip": frozenset({"-TT", "--unzip-command"}),
}
RUN_BY_WORD = frozenset(
    (program, word)
    for program, words in (
        ("npm", "exec x explore"),
        ("yarn", "dlx exec"),
        ("pnpm", "dlx exec"),
        ("bun", "x"),
        ("docker", "exec run compose"),
        ("podman", "exec run"),
        ("docker-compose", "exec run"),
        ("kubectl", "exec run debug"),
        ("git", "bisect submodule filter-branch"),
        ("uv", "run tool"),
        ("poetry", "run"),
        ("pipenv", "run shell"),
        ("bundle", "exec"),
        ("pipx", "run"),
        ("go", "run generate"),
        ("cargo", "run"),
    )
    for word in words.split()
)
"""Programs that run others with these flags, or if this is their first word."""

OF_SHELL = names(
    "cd pushd popd chdir dirs set shopt setopt unsetopt alias unalias export declare typeset local readonly unset"
    " read readarray mapfile enable hash let getopts umask ulimit wait fg bg disown jobs kill-ring return break"
    " continue shift bind complete compopt autoload zmodload emulate fc history suspend logout exit times"
)
"""What a shell does itself, and what may change how it runs the rest of the line."""

WITH_SUBCOMMANDS = frozenset(name.partition(" ")[0] for name in USUAL if " " in name and " -" not in name) | names(
    "npm pnpm yarn bun deno kubectl helm terraform tofu pulumi aws gcloud az gsutil heroku vercel netlify fly"
    " flyctl supabase firebase wrangler prisma systemctl service brew apt apt-get dnf yum pacman apk snap pip pip3"
    " uv poetry pipenv conda gem bundle composer dotnet mvn gradle rails rake php mix stack cabal podman docker"
    " docker-compose svn hg p4 rustup nvm pyenv dvc nx turbo lerna make just task ansible vagrant packer vault"
    " consul nomad op pass launchctl defaults security cargo go gh glab sls serverless"
)
"""Programs whose first word says what they do."""

INTERPRETERS = re.compile(
    r"(node|nodejs|deno|bun|tsx|ts-node|python[0-9.]*|pypy[0-9.]*|php[0-9.]*|Rscript|julia|groovy|java|elixir|erl|swift|psql"
    r"|mysql|sqlite3|mongosh?|redis-cli)"
).fullmatch
"""Programs that run what they read, so that without words they run their input."""

VIA = {
    text: tuple(text.split())
    for text in (
        "npx",
        "uv run",
        "poetry run",
        "pipenv run",
        "pnpm exec",
        "yarn exec",
        "bundle exec",
        "python -m",
        "python3 -m",
    )
}
"""Programs in front of others that an entry can accept."""

HARMLESS_VARIABLES = names(
    "CI NODE_ENV NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE TERM TZ LANG LC_ALL LC_CTYPE LC_COLLATE COLUMNS"
    " LINES DEBUG VERBOSE LOG_LEVEL RUST_BACKTRACE RUST_LOG GOOS GOARCH CGO_ENABLED PORT HEADLESS TEST DEV APP_ENV"
    " RAILS_ENV RACK_ENV MIX_ENV FLASK_ENV NEXT_TELEMETRY_DISABLED DISABLE_TELEMETRY DO_NOT_TRACK UPDATE_SNAPSHOTS"
)
is_harmless_value = re.compile(r"[A-Za-z0-9_.,:*@+ -]{0,100}").fullmatch
"""The values that these may have: no path, so that none of them names a file to load."""
