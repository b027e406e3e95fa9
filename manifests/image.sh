# shellcheck shell=bash disable=SC2034
# Sourced by scripts that render the operator's chart.

# image_options IMAGE: the array `image` has Helm's options for NAME:TAG or NAME@sha256:…; none for the chart's own image.
image_options() {
  case $1 in
    '') image=() ;;
    *@*) image=(--set "image.repository=${1%@*}" --set-string "image.digest=${1#*@}") ;;
    *) image=(--set "image.repository=${1%:*}" --set-string "image.tag=${1##*:}") ;;
  esac
}
