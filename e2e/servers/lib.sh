# Sourced by the start scripts in this folder. It keeps what was installed under the cache folder of ./run, outside the
# checkout, and what belongs to one run (data, logs, process ids) under $SERVERS_RUN, which the caller names.
set -euo pipefail
SERVERS_CACHE=${RANKWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rankwright}/servers
SERVERS_RUN=${SERVERS_RUN:-${TMPDIR:-/tmp}/rankwright-servers-$(id -u)}
mkdir -p "$SERVERS_CACHE" "$SERVERS_RUN"

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }
die() { say "$*"; exit 1; }

# packages NAME...: installs the Debian packages that are missing among those named.
packages() {
    local missing=() name as_root=()
    for name in "$@"; do
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get > /dev/null || die "please install: ${missing[*]} (this machine has no apt-get)"
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    say "installing ${missing[*]}"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300) log=$SERVERS_RUN/packages.log
    # whoever ends this does not leave packages half installed
    (trap '' TERM HUP INT; "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${missing[@]}") > "$log" 2>&1 ||
        { tail -n 20 "$log" >&2; die "the packages were not installed, see $log"; }
}

# The kernel's start time of a process, nothing for one that has ended (a zombie too): together with the id it names one
# process for good, so a recycled id is never ended.
born() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" { print $20 }'; }

# alive NAME: true if the process that `launch NAME` started still runs.
alive() {
    local id at
    [ -f "$SERVERS_RUN/$1.pid" ] || return 1
    read -r id at < "$SERVERS_RUN/$1.pid"
    [ -n "$at" ] && [ "$(born "$id" || true)" = "$at" ]
}

# launch NAME COMMAND...: in the background, with its own session, output to NAME.log.
launch() {
    local name=$1 id; shift
    alive "$name" && return 0
    setsid "$@" > "$SERVERS_RUN/$name.log" 2>&1 < /dev/null &
    id=$!
    sleep 0.05
    echo "$id $(born "$id" || true)" > "$SERVERS_RUN/$name.pid"
}

# halt NAME [SIGNAL]: only what launch started; TERM, then KILL after 15 s.
halt() {
    local id at n=0
    alive "$1" || { rm -f "$SERVERS_RUN/$1.pid"; return 0; }
    read -r id at < "$SERVERS_RUN/$1.pid"
    kill -s "${2:-TERM}" "$id" 2>/dev/null || true
    while alive "$1"; do
        n=$((n + 1)); [ "$n" -lt 150 ] || kill -s KILL "$id" 2>/dev/null || true
        [ "$n" -lt 1200 ] || die "$1 does not end, though it was killed (process $id)"
        sleep 0.1
    done
    rm -f "$SERVERS_RUN/$1.pid"
}

# await SECONDS NAME COMMAND...: until the command succeeds; prints the log's end if the server dies or is too slow.
await() {
    local end=$((SECONDS + $1)) name=$2; shift 2
    until "$@" > /dev/null 2>&1; do
        if ! alive "$name" || [ "$SECONDS" -ge "$end" ]; then
            tail -n 20 "$SERVERS_RUN/$name.log" >&2; die "$name did not come up"
        fi
        sleep 0.1
    done
}

# port PORT: true if something listens there on loopback. (Asks the kernel's table: a probing connection upsets some servers.)
port() { grep -qE "^ *[0-9]+: [0-9A-F]*:$(printf %04X "$1") [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6 2>/dev/null; }

# free_port PORT NAME: stop early, with a clear line, when another process already listens there. One that was killed lets go of
# its port when the last of its threads has ended, a moment after the first.
free_port() {
    local n=0
    while port "$1" && ! alive "$2"; do
        n=$((n + 1)); [ "$n" -lt 100 ] || die "port $1 is taken by a process that this script did not start"
        sleep 0.1
    done
}

# certificates: a CA and a server certificate for localhost and 127.0.0.1, made once per run folder.
certificates() {
    local d=$SERVERS_RUN/tls
    TLS_CA=$d/ca.pem TLS_CERT=$d/server.pem TLS_KEY=$d/server.key
    [ -s "$d/done" ] && return 0
    mkdir -p "$d"
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj '/CN=test CA' -keyout "$d/ca.key" -out "$TLS_CA" \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
    openssl req -newkey rsa:2048 -nodes -subj '/CN=localhost' -keyout "$TLS_KEY" -out "$d/server.csr" 2>/dev/null
    openssl x509 -req -in "$d/server.csr" -CA "$TLS_CA" -CAkey "$d/ca.key" -CAcreateserial -days 3650 -out "$TLS_CERT" \
        -extfile <(printf 'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\nextendedKeyUsage=serverAuth,clientAuth\n') 2>/dev/null
    echo yes > "$d/done"
}

# jars NAME POM-BODY: Maven Central's jars of these dependencies, with theirs, under $SERVERS_CACHE/NAME/lib. Done once
# for one text of the dependencies; a changed text installs anew.
jars() {
    local d=$SERVERS_CACHE/$1 body=$2 sum
    sum=$(printf %s "$body" | sha256sum | cut -c1-16)
    JARS=$d/$sum
    [ -f "$JARS/.complete" ] && return 0
    command -v mvn > /dev/null || packages maven
    rm -rf "$JARS.tmp"; mkdir -p "$JARS.tmp"
    printf '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>%s</artifactId><version>1</version><packaging>pom</packaging>%s</project>' \
        "$1" "$body" > "$JARS.tmp/pom.xml"
    mvn -q -B -f "$JARS.tmp/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$JARS.tmp" >&2
    touch "$JARS.tmp/.complete"
    rm -rf "$JARS"; mv "$JARS.tmp" "$JARS"
}
