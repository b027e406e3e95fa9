#!/usr/bin/env bash
# Tests the alerts with promtool, without a cluster: check.sh
#
# Each alert fires when it should, and is silent when it should not: those of a service as the file has them for all services,
# and as the operator makes them for one (tests/shop.rules.yaml, which a unit test keeps up to date); those about the operator.
# promtool is the one that promtool.sh finds. REQUIRE_PROMTOOL=1 makes the lack of it a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
if ! promtool=$(./promtool.sh); then
  what="the alerts: promtool is missing"
  [ "${REQUIRE_PROMTOOL:-}" != 1 ] || { echo "FAILED: $what"; exit 1; }
  echo "SKIPPED: $what"
  echo "0 passed, 0 failed, 1 skipped"
  exit
fi

# ok TEXT COMMAND…
ok() {
  if "${@:2}" >"$work/said" 2>&1; then
    passed=$((passed + 1))
    echo "ok: $1"
  else
    failed=$((failed + 1))
    echo "FAILED: $1"
    cat "$work/said"
  fi
}
fires() { # TESTS RULES
  sed "s#RULES#$(realpath "$2")#" "tests/$1" >"$work/$1"
  "$promtool" test rules "$work/$1"
}
alerts() { sed -n 's/^ *- alert: //p' "$@" | sort -u; }
tested() { # TESTS RULES: each alert has a place where it fires, and one where it is silent
  diff <(alerts "$2") <(sed -n 's/^ *- alertname: //p' "tests/$1" | sort -u) &&
    diff <(alerts "$2") <(sed -n 's/^ *- {alertname: \([A-Za-z]*\),.*exp_alerts: \[\].*/\1/p' "tests/$1" | sort -u)
}
operator=../../charts/rankwright-operator/files/alerts.yaml
for rules in alerts.yaml tests/shop.rules.yaml "$operator"; do
  ok "promtool reads $rules" "$promtool" check rules "$rules"
done
ok "the alerts of a service fire, and are silent, for all services" fires service.yaml alerts.yaml
ok "and for one" fires service.yaml tests/shop.rules.yaml
ok "which are about no other service" fires one-service.yaml tests/shop.rules.yaml
ok "each of them is tested" tested service.yaml alerts.yaml
ok "the alerts about the operator fire, and are silent" fires operator.yaml "$operator"
ok "each of them is tested" tested operator.yaml "$operator"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
