# What commands of pages find in their shell: commands.rs puts this before them. Of those of kubectl, WHICH are run: all, objects, pods.
set -eo pipefail
PATH=$HOME/.local/bin:$PATH
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# curl waits itself, as long as it takes.
sleep() { :; }
curl() { [ "$WHICH" = objects ] || command curl -sSf --retry 30 --retry-delay 1 --retry-connrefused "$@"; }

# A log may have no such line.
grep() { command grep "$@" || [ $? -eq 1 ]; }

kubectl() {
  local needs=objects
  case " $* " in
    *' can-i '* | *' exec '* | *' logs '* | *' port-forward '* | *' rollout status '* | *' top '* | *' wait '*) needs=pods ;;
  esac
  [ "$WHICH" = all ] || [ "$WHICH" = $needs ] || return 0
  case "$WHICH  $* " in
    *' port-forward '*)
      [ $BASHPID = $$ ] || exec kubectl "$@" >/dev/null # in the background: ends with this shell
      timeout 5 kubectl "$@" >/dev/null || [ $? -eq 124 ]
      ;;
    # there are none of a new pod for a while
    *' top '*) until command kubectl "$@"; do command sleep 1; done ;;
    'objects '*' apply '* | 'objects '*' create '* | 'objects '*' delete '* | 'objects '*' patch '*) command kubectl "$@" --dry-run=server --warnings-as-errors ;;
    *) command kubectl "$@" ;;
  esac
}

