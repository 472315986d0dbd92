#!/bin/bash
# largest_test.sh HOLON PYTHON SOURCES - the gate bench/largest.py: it passes where a request was measured and was quick, and only there. PYTHON is the folder
# with the built package.
set -euo pipefail
holon=$1 python=$2 sources=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
fail() { echo "largest_test: $*" >&2; cat "$work/said" >&2; exit 1; }

# Exit code and words of a run: CODE WORDS ARGS...
ends_with() {
  local wanted=$1 words=$2 code=0
  shift 2
  timeout 120 python3 "$sources/bench/largest.py" "$holon" --python "$python" --json "$work/json" "$@" >"$work/said" 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || fail "with $*: exit code $code, not $wanted"
  grep -qF -- "$words" "$work/said" || fail "with $*: it did not say '$words'"
  # Neither an instance of it nor its folder is left.
  ! compgen -G "$work/holon-largest-*" >/dev/null || fail "with $*: left $(echo "$work"/holon-largest-*)"
}

ends_with 1 "no request has that name" --only nosuch --most 100
ends_with 1 "FAILED" --only '^hold 10,000$' --size -1 --most 100
[ "$(cat "$work/json")" = '{}' ] || fail "of a request that failed it wrote $(cat "$work/json")"
ends_with 1 "above 1e-06 ms" --only '^hold 10,000$' --size 0.001 --most 0.000001
ends_with 0 "hold 10,000" --only '^hold 10,000$' --size 0.001 --most 60000

# A request that never ends: its listener does not outlive it.
sed 's/^LONGEST = .*/LONGEST = 3/; s/^HELD = .*/&\n\n\n@request("never")\ndef never(instance, size):\n    return lambda: time.sleep(1000)\n/' \
  "$sources/bench/largest.py" >"$work/largest.py"
code=0
timeout 60 python3 "$work/largest.py" "$holon" --python "$python" --only '^never$' >"$work/said" 2>&1 || code=$?
[ "$code" -eq 1 ] || fail "a request that never ends: exit code $code"
grep -q "never.*FAILED: not done in 3 s" "$work/said" || fail "a request that never ends is not told"
