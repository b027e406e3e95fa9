#!/usr/bin/env bash
# Writes images that take the place of those which manifests/development names, and which a cluster without a way out cannot
# pull: stand-ins.sh FOLDER. Redis is Debian's, versitygw is the one that e2e/servers/s3.sh builds; each has a tool beside it
# with which a test looks at what is stored.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$1
"$here/../servers/redis.sh" install
IMAGE_USER=999:999 "$here/image.sh" "$out/redis.tar" docker.io/library/redis:7.2 /usr/bin/redis-server=usr/bin/redis-server \
  /usr/bin/redis-cli=usr/bin/redis-cli /usr/bin/env=usr/bin/env -- /usr/bin/env
"$here/image.sh" "$out/versitygw.tar" docker.io/versity/versitygw:v1.8.0 "$("$here/../servers/s3.sh" binary)" \
  /usr/bin/find=usr/bin/find
