#!/usr/bin/env bash
# A real S3 server on loopback: versitygw, built from its Go module, with objects in files.
#   s3.sh install | binary | start | stop | kill | wipe
# start prints the endpoint, binary where the server's program lies. Region us-east-1, path-style addresses. Access key and secret: test, testsecret.
# S3_BUCKETS names buckets that are there from the first start on; S3_TLS=1 serves https with the test CA of the run folder.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../go.sh"
S3_PORT=${S3_PORT:-19000}
S3_ACCESS_KEY=${S3_ACCESS_KEY:-test} S3_SECRET_KEY=${S3_SECRET_KEY:-testsecret}
S3_BUCKETS=${S3_BUCKETS:-}
version=v1.8.0
bin=$SERVERS_CACHE/versitygw-$version/versitygw
data=$SERVERS_RUN/versitygw

# With a Go of our own, all that the build leaves behind goes away again.
install() {
    [ -x "$bin" ] && return 0
    local log=$SERVERS_RUN/versitygw-build.log
    mkdir -p "$(dirname "$bin")"
    go_for "$SERVERS_CACHE/go"
    say 'building versitygw (once, a few minutes)'
    GOBIN=$(dirname "$bin") CGO_ENABLED=0 go install -buildvcs=false "${go_flags[@]}" -ldflags='-s -w' "github.com/versity/versitygw/cmd/versitygw@$version" > "$log" 2>&1 ||
        { tail -n 20 "$log" >&2; die "versitygw was not built, see $log"; }
    go_done
}

# ETags and metadata live in extended attributes of the files.
attributes() {
    touch "$data/.attribute"
    python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.t", b"1")' "$data/.attribute" 2> /dev/null ||
        die "$data has no extended attributes: set SERVERS_RUN to a folder that has them (ext4, xfs)"
    rm -f "$data/.attribute"
}

start() {
    local scheme=http tls=() bucket
    install
    free_port "$S3_PORT" versitygw
    mkdir -p "$data"
    attributes
    if [ -n "${S3_TLS:-}" ]; then
        certificates
        scheme=https tls=(--cert "$TLS_CERT" --key "$TLS_KEY")
    fi
    for bucket in $S3_BUCKETS; do mkdir -p "$data/$bucket"; done
    launch versitygw "$bin" --quiet --access "$S3_ACCESS_KEY" --secret "$S3_SECRET_KEY" --port "127.0.0.1:$S3_PORT" "${tls[@]}" posix "$data"
    await 30 versitygw port "$S3_PORT"
    echo "$scheme://localhost:$S3_PORT"
}

case ${1:-start} in
    install) install ;;
    binary) install && echo "$bin" ;;
    start) start ;;
    stop) halt versitygw ;;
    kill) halt versitygw KILL ;;
    wipe) halt versitygw KILL; rm -rf "$data" ;;
    *) die 'usage: install | binary | start | stop | kill | wipe' ;;
esac
