#!/usr/bin/env bash
# Apply the Comparison under a name of its own, wait for its end, write what to say of it, and end with its gate:
#   compare.sh NAME COMMENT      0 passed, 1 got worse, 2 nothing to compare, 3 nobody can tell, 124 not at an end in time
# NAME has at most 20 characters; COMMENT is the file of the text, report.html beside it has all of it.
set -euo pipefail
name=$1 comment=$2
folder=$(cd "$(dirname "$0")" && pwd)
report=$(dirname "$comment")/report.html

# What an earlier run has left says nothing of this one.
rm -f "$comment" "$report"

# Refused, for example since the name is taken by another spec: whatever has that name is not what was asked for.
sed "s/^  name: pr$/  name: $name/" "$folder/comparison.yaml" | fairlap run -f - || exit 2

code=0
fairlap gate "$name" --wait --timeout "${TIMEOUT:-6h}" || code=$?
if [ "$code" = 124 ]; then
  echo "$name goes on: fairlap gate $name --wait tells its end; the job run again begins another, behind it" >&2
fi
if [ "$code" != 2 ]; then
  # What cannot be reported is no verdict: the gate alone tells.
  fairlap report "$name" -o md --output "$comment" || true
  fairlap report "$name" --output "$report" || true
fi
exit "$code"
