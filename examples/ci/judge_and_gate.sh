#!/usr/bin/env bash
# Judges a run of adjudge.toml, gates it against the baseline, and writes adjudge-comment.md for the pull request.
# Run again after a failure or a stopped job, it resumes: stored replies are not paid for twice.
set -uo pipefail
export PATH="${RUNNER_TEMP:-.}/adjudge/bin:$PATH"
output=${GITHUB_OUTPUT:-/dev/null}
comment=adjudge-comment.md
marker="<!-- adjudge: $RUN -->"

# What earlier attempts of this job have spent is no longer in the budget.
ledger=$(dirname "${BASH_SOURCE[0]}")/spent.py
budget=()
if [ -n "${BUDGET:-}" ]; then
  spent=$(python3 "$ledger" begin) || exit
  budget=(--budget "$(python3 -c 'import sys; print(max(0.0, float(sys.argv[1]) - float(sys.argv[2])))' "$BUDGET" "$spent")")
fi

# shellcheck disable=SC2086 # flags are words
adjudge run "$RUN" --run next --replace --store "$STORE" --quiet "${budget[@]}" ${ARGUMENTS:-}
code=$?
[ -z "${BUDGET:-}" ] || python3 "$ledger" end > /dev/null
if [ "$code" -ne 0 ]; then
  printf '%s\n**Adjudge: not judged (exit %s).** See the log of the job.\n' "$marker" "$code" > "$comment"
  echo "exit-code=$code" >> "$output"
  echo "outcome=not judged" >> "$output"
  exit 0
fi

{
  echo "$marker"
  # shellcheck disable=SC2086
  adjudge gate next --store "$STORE" --baseline-or-create "$BASELINE" --markdown ${GATE_ARGUMENTS:-}
  code=$?
} > "$comment"
case $code in
  0) outcome="pass" ;;
  1) outcome="fail" ;;
  3) outcome="not enough evidence" ;;
  4) outcome="the judge failed too often" ;;
  *) outcome="no decision" ;;
esac
echo "exit-code=$code" >> "$output"
echo "outcome=$outcome" >> "$output"

# On the main branch the new run replaces the baseline; the first run has become it already.
if [ "${IS_PUSH:-false}" = true ] && adjudge runs list --store "$STORE" --json | grep -q '"next"'; then
  adjudge runs delete "$BASELINE" --yes --store "$STORE"
  adjudge runs rename next "$BASELINE" --store "$STORE"
fi
cat "$comment"
exit 0
