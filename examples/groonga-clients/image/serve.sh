#!/bin/sh
# Makes the database if there is none yet, then serves it over HTTP. PAGES, SEED, CACHE_LIMIT, THREADS: see the README.
set -eu
if [ ! -e /data/db ]; then
  rm -rf /data/new
  mkdir /data/new
  encyclopedia --pages "${PAGES:-5000}" --seed "${SEED:-42}" | groonga --log-path /data/load.log -n /data/new/db >/dev/null
  mv /data/new /data/db
fi
exec groonga --log-path /data/groonga.log --protocol http -s --port 10041 --bind-address 0.0.0.0 \
  --cache-limit "${CACHE_LIMIT:-100}" --max-threads "${THREADS:-1}" /data/db/db
