#!/bin/bash
# Starts Elasticsearch as the official entrypoint does; ES_JAVA_HOME, ES_JAVA_OPTS and elasticsearch.yml decide the rest.
set -euo pipefail
umask 0002

nofile=/usr/local/lib/nofile.so
if [[ -e $nofile && $(ulimit -Hn) != unlimited && $(ulimit -Hn) -lt 65535 ]]; then
  export LD_PRELOAD=$nofile
fi

if [[ "${1:-eswrapper}" == eswrapper ]]; then
  exec /usr/share/elasticsearch/bin/elasticsearch "${@:2}"
fi
exec "$@"
