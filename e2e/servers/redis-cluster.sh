#!/usr/bin/env bash
# Real Redis servers on loopback, more than one.
#   redis-cluster.sh install | start [cluster | sentinel] | stop | kill [NAME] | wipe
# cluster: three primaries on $REDIS_CLUSTER_PORT+0..2, their own talk on +3..5, an append-only file each, which is with the
# system before they answer: so a node that was killed comes back with all it has answered, and none waits for a disk.
# sentinel: a primary on +6, its replica on +7, three sentinels on +8..10 (quorum 2, down after 1 s), master name "rw".
# kill ends one of redis-cluster-0..2, redis-primary, redis-replica, redis-sentinel-0..2 with -9; start brings it back.
# Prints the addresses of the cluster's nodes, then those of the sentinels, in a line each, with commas.
. "$(dirname "$0")/lib.sh"
REDIS_CLUSTER_PORT=${REDIS_CLUSTER_PORT:-17100}
first=$REDIS_CLUSTER_PORT
names=(redis-sentinel-0 redis-sentinel-1 redis-sentinel-2 redis-replica redis-primary redis-cluster-0 redis-cluster-1 redis-cluster-2)

ask() { local at=$1; shift; timeout 5 redis-cli -h 127.0.0.1 -p "$at" "$@"; }
says() { local text=$1; shift; grep -q "$text" <<<"$(ask "$@")"; }

# instance NAME PORT OPTIONS...
instance() {
    local name=$1 at=$2; shift 2
    free_port "$at" "$name"
    mkdir -p "$SERVERS_RUN/$name"
    launch "$name" redis-server --port "$at" --bind 127.0.0.1 --dir "$SERVERS_RUN/$name" --save '' --appendfsync no --daemonize no "$@"
    await 20 "$name" port "$at"
}

cluster() {
    local i nodes=()
    for i in 0 1 2; do
        instance "redis-cluster-$i" $((first + i)) --appendonly yes --cluster-enabled yes --cluster-config-file nodes.conf \
            --cluster-port $((first + 3 + i)) --cluster-node-timeout 2000
        nodes+=("127.0.0.1:$((first + i))")
    done
    [ -f "$SERVERS_RUN/redis-cluster-0/formed" ] || {
        local log=$SERVERS_RUN/redis-cluster-create.log
        timeout 120 redis-cli --cluster create "${nodes[@]}" --cluster-replicas 0 --cluster-yes > "$log" || { cat "$log" >&2; die 'the cluster was not formed'; }
        touch "$SERVERS_RUN/redis-cluster-0/formed"
    }
    for i in 0 1 2; do await 30 "redis-cluster-$i" says cluster_state:ok $((first + i)) cluster info; done
    (IFS=,; echo "${nodes[*]}")
}

sentinel() {
    local i d nodes=() primary=$((first + 6)) replica=$((first + 7))
    instance redis-primary "$primary" --appendonly yes --repl-diskless-sync-delay 0
    instance redis-replica "$replica" --appendonly yes --repl-diskless-sync-delay 0 --replicaof "127.0.0.1 $primary"
    for i in 0 1 2; do
        d=$SERVERS_RUN/redis-sentinel-$i
        nodes+=("127.0.0.1:$((first + 8 + i))")
        alive "redis-sentinel-$i" && continue
        mkdir -p "$d"
        [ -f "$d/sentinel.conf" ] || printf '%s\n' "port $((first + 8 + i))" 'bind 127.0.0.1' "dir $d" "sentinel monitor rw 127.0.0.1 $primary 2" \
            'sentinel down-after-milliseconds rw 1000' 'sentinel failover-timeout rw 5000' > "$d/sentinel.conf"
        free_port $((first + 8 + i)) "redis-sentinel-$i"
        launch "redis-sentinel-$i" redis-server "$d/sentinel.conf" --sentinel
        await 20 "redis-sentinel-$i" port $((first + 8 + i))
    done
    await 30 redis-sentinel-0 says '^OK' $((first + 8)) sentinel ckquorum rw
    await 30 redis-sentinel-0 says "$replica\\|$primary" $((first + 8)) sentinel replicas rw
    (IFS=,; echo "${nodes[*]}")
}

case ${1:-start} in
    install) packages redis-server redis-tools ;;
    start)
        packages redis-server redis-tools
        case ${2:-both} in both | cluster) cluster ;; esac
        case ${2:-both} in both | sentinel) sentinel ;; esac
        ;;
    stop) for name in "${names[@]}"; do halt "$name"; done ;;
    kill) halt "${2:-redis-cluster-0}" KILL ;;
    wipe) for name in "${names[@]}"; do halt "$name" KILL; rm -rf "${SERVERS_RUN:?}/$name"; done ;;
    *) die 'usage: install | start [cluster | sentinel] | stop | kill [NAME] | wipe' ;;
esac
