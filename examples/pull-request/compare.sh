#!/usr/bin/env bash
# Apply the Comparison under a name of its own, wait for its end, write what to say of it, and end with its gate:
#   compare.sh NAME COMMENT      0 passed, 1 got worse, 2 nothing to compare, 3 nobody can tell, 124 not at an end in time
# NAME has at most 20 characters; COMMENT is the file of the text, report.html beside it has all of it.
set -euo pipefail
name=$1 comment=$2
folder=$(cd "$(dirname "$0")" && pwd)

code=0
sed "s/^  name: pr$/  name: $name/" "$folder/comparison.yaml" | fairlap run -f - --wait --timeout "${TIMEOUT:-6h}" || code=$?
if [ "$code" = 2 ]; then
  exit 2
fi
# What cannot be reported is no verdict: the gate alone tells.
fairlap report "$name" -o md --output "$comment" || true
fairlap report "$name" --output "$(dirname "$comment")/report.html" || true
if [ "$code" = 124 ]; then
  exit 124
fi
fairlap gate "$name"
