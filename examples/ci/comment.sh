#!/usr/bin/env bash
# Writes a file into one comment of a pull request: the comment of an earlier job is changed, not repeated.
set -euo pipefail
file=$1
marker=$(head -n 1 "$file")
comments="repos/$REPOSITORY/issues/$NUMBER/comments"
id=$(gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head -n 1)
if [ -n "$id" ]; then
  gh api --method PATCH "repos/$REPOSITORY/issues/comments/$id" -F "body=@$file" > /dev/null
else
  gh api --method POST "$comments" -F "body=@$file" > /dev/null
fi
