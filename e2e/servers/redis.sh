#!/usr/bin/env bash
# Real Redis servers on loopback.
#   redis.sh install | start | stop | kill | wipe
# plain: without a password on $REDIS_PORT. secured: TLS on $REDIS_PORT+1, users by access list (app/secret may use keys
# rw:* and nothing dangerous, the default user is off); its CA is $SERVERS_RUN/tls/ca.pem. Both are at 127.0.0.2 as well, which
# is not in the certificate.
# Prints the addresses of both.
. "$(dirname "$0")/lib.sh"
REDIS_PORT=${REDIS_PORT:-17000}
secured=$((REDIS_PORT + 1))

# instance NAME PORT OPTIONS...: no snapshots, an append-only file that the system writes when it likes.
instance() {
    local name=$1 at=$2; shift 2
    free_port "$at" "$name"
    mkdir -p "$SERVERS_RUN/$name"
    launch "$name" redis-server --bind 127.0.0.1 127.0.0.2 --dir "$SERVERS_RUN/$name" --save '' --appendonly yes --daemonize no "$@"
    await 20 "$name" port "$at"
}

start() {
    packages redis-server openssl
    instance redis "$REDIS_PORT" --port "$REDIS_PORT"
    certificates
    printf '%s\n' 'user default off' 'user app on >secret ~rw:* &* +@all -@dangerous +info' > "$SERVERS_RUN/redis-secured.acl"
    instance redis-secured "$secured" --port 0 --aclfile "$SERVERS_RUN/redis-secured.acl" --tls-port "$secured" \
        --tls-cert-file "$TLS_CERT" --tls-key-file "$TLS_KEY" --tls-ca-cert-file "$TLS_CA" --tls-auth-clients optional
    echo "127.0.0.1:$REDIS_PORT 127.0.0.1:$secured"
}

case ${1:-start} in
    install) packages redis-server openssl ;;
    start) start ;;
    stop) halt redis; halt redis-secured ;;
    kill) halt redis KILL ;;
    wipe) for name in redis redis-secured; do halt "$name" KILL; rm -rf "${SERVERS_RUN:?}/$name"; done ;;
    *) die 'usage: install | start | stop | kill | wipe' ;;
esac
