# shellcheck shell=bash disable=SC2034
# Sourced by scripts that render the chart: the option `image` has it name IMAGE or $2, as NAME:TAG or NAME@sha256:…
named=${2:-${IMAGE:-}}
case $named in
  '') image=() ;;
  *@*) image=(--set "image.repository=${named%@*}" --set-string "image.digest=${named#*@}") ;;
  *) image=(--set "image.repository=${named%:*}" --set-string "image.tag=${named##*:}") ;;
esac
