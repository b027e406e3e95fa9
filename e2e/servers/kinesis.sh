#!/usr/bin/env bash
# A Kinesis API on loopback, from the npm registry (needs Node.js 18 or later).
#   kinesis.sh install | start | stop | kill | wipe | ahead MILLISECONDS
# `ahead` moves the server's clock, so that a test sees an iterator expire (after 5 minutes) without waiting for it.
# Prints the endpoint that tests read as RANKWRIGHT_TEST_KINESIS; any access key and secret do, region us-east-1.
. "$(dirname "$0")/lib.sh"
KINESIS_VERSION=${KINESIS_VERSION:-0.6.2}
KINESIS_PORT=${KINESIS_PORT:-14568}          # it also serves https with a certificate of its own on +1
data=$SERVERS_RUN/kinesis
root=$SERVERS_CACHE/kinesis-local-$KINESIS_VERSION
export CLOCK_FILE=$data/clock

install() {
    [ -f "$root/.complete" ] && return 0
    command -v node > /dev/null || packages nodejs
    command -v npm > /dev/null || packages npm
    mkdir -p "$root"
    # node trusts authorities of its own, and not those that this machine was given
    local authorities=/etc/ssl/certs/ca-certificates.crt
    [ ! -f "$authorities" ] || export NODE_EXTRA_CA_CERTS=${NODE_EXTRA_CA_CERTS:-$authorities}
    npm install --no-audit --no-fund --ignore-scripts --prefix "$root" "kinesis-local@$KINESIS_VERSION" > "$SERVERS_RUN/npm.log" 2>&1 || { cat "$SERVERS_RUN/npm.log" >&2; die 'npm failed'; }
    touch "$root/.complete"
}

# preloaded: what this server needs that it has no options for.
preloaded() {
    # The server has no bind option; preloaded by node, this makes it listen on 127.0.0.1 only.
    cat > "$root/loopback.cjs.$$" <<'J'
const net = require('net')
// A connection that a test resets in the middle of an answer does not end the server for all others.
process.on('uncaughtException', error => console.error(error))
// The server asks an accepted connection for its addresses some time later, and accepts no more for good when a
// connection that was reset in between has none.
const emit = net.Server.prototype.emit
net.Server.prototype.emit = function (event, socket, ...rest) {
  if (event === 'connection' && socket) {
    for (const [name, unknown] of Object.entries({ localAddress: '127.0.0.1', localPort: 1, remoteAddress: '127.0.0.1', remotePort: 1 })) {
      Object.defineProperty(socket, name, { value: socket[name] ?? unknown, configurable: true })
    }
  }
  return emit.call(this, event, socket, ...rest)
}
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (...args) {
  const ready = typeof args[args.length - 1] === 'function' ? args.pop() : undefined
  const at = typeof args[0] === 'object' && args[0] !== null ? { ...args[0] } : { port: args[0] }
  if (at.path === undefined) at.host = '127.0.0.1'
  return ready ? listen.call(this, at, ready) : listen.call(this, at)
}
// The server's clock runs ahead by the milliseconds in this file, read anew ten times a second.
if (process.env.CLOCK_FILE) {
  const fs = require('fs'), Real = Date, now = Real.now
  let ahead = 0, read = -1e9
  const later = () => {
    const t = now.call(Real)
    if (t - read > 100) { read = t; try { ahead = Number(fs.readFileSync(process.env.CLOCK_FILE, 'utf8')) || 0 } catch { ahead = 0 } }
    return t + ahead
  }
  globalThis.Date = class extends Real {
    constructor (...a) { a.length ? super(...a) : super(later()) }
    static now () { return later() }
  }
  const { performance } = require('perf_hooks'), origin = performance.timeOrigin
  Object.defineProperty(performance, 'timeOrigin', { get: () => origin + later() - now.call(Real) })
}
J
    mv "$root/loopback.cjs.$$" "$root/loopback.cjs" # whole at any time, for those who start beside us
}

case ${1:-start} in
    install) install ;;
    start)
        install; preloaded; free_port "$KINESIS_PORT" kinesis
        mkdir -p "$data"; alive kinesis || rm -f "$CLOCK_FILE"
        cd "$root/node_modules/kinesis-local" # it reads its certificate (server.json) from the folder it is started in
        KINESIS_MOCK_PLAIN_PORT=$KINESIS_PORT KINESIS_MOCK_TLS_PORT=$((KINESIS_PORT + 1)) LOG_LEVEL=ERROR CREATE_STREAM_DURATION=50ms \
            DELETE_STREAM_DURATION=50ms SPLIT_SHARD_DURATION=50ms MERGE_SHARDS_DURATION=50ms UPDATE_SHARD_COUNT_DURATION=50ms SHARD_LIMIT=1000 \
            launch kinesis node -r "$root/loopback.cjs" main.js
        await 60 kinesis port "$KINESIS_PORT"
        echo "http://127.0.0.1:$KINESIS_PORT" ;;
    ahead) echo "${2:?milliseconds}" > "$CLOCK_FILE"; sleep 0.2 ;;
    stop) halt kinesis ;;
    kill) halt kinesis KILL ;;
    wipe) halt kinesis KILL; rm -rf "$data" ;;
    *) die 'usage: install | start | stop | kill | wipe | ahead MILLISECONDS' ;;
esac
