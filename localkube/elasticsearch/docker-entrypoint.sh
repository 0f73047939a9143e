#!/bin/bash
# Starts Elasticsearch as the official entrypoint does; ES_JAVA_HOME, ES_JAVA_OPTS and elasticsearch.yml decide the rest.
set -euo pipefail
umask 0002

nofile=/usr/local/lib/nofile.so
if [[ -e $nofile && $(ulimit -Hn) != unlimited && $(ulimit -Hn) -lt 65535 ]]; then
  export LD_PRELOAD=$nofile
fi

# In a container the control group is the root of what is mounted, whatever /proc/self/cgroup calls it.
export ES_JAVA_OPTS="-Des.cgroups.hierarchy.override=/ ${ES_JAVA_OPTS:-}"

# For the process that only starts the server and waits for it; the server's own flags stay as they are.
export CLI_JAVA_OPTS="-XX:TieredStopAtLevel=1 ${CLI_JAVA_OPTS:-}"

if [[ "${1:-eswrapper}" == eswrapper ]]; then
  exec /usr/share/elasticsearch/bin/elasticsearch "${@:2}"
fi
exec "$@"
