#!/bin/bash
# install_test.sh BUILD SOURCES - the tar.gz of a finished build, whatever its preset: installed below a folder with a blank in
# its name, used, installed again, and removed without a trace of it or a loss of what was there before.
set -euo pipefail
build=$1 sources=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "install_test: $*" >&2; exit 1; }

"$sources/scripts/package" --from "$build" --only tar "$work/packages" >"$work/made" 2>&1 || fail "$(cat "$work/made")"
"$sources/scripts/package" --from "$build" --only tar "$work/again" >/dev/null
cmp "$work"/packages/*.tar.gz "$work"/again/*.tar.gz || fail "made twice it is not the same"
tar -C "$work" -xzf "$work"/packages/*.tar.gz
top=$(echo "$work"/holon-*)

home="$work/a home"
mkdir -p "$home/bin" && echo mine >"$home/bin/mine"
(cd "$home" && find . | sort) >"$work/before"
install() { HOME="$work" "$top/install.sh" --prefix "$home" "$@"; }
install >"$work/said"
grep -q "holon $(sed -n 's/^project(holon VERSION \([0-9.]*\).*/\1/p' "$sources/CMakeLists.txt")" "$work/said" || fail "it said: $(cat "$work/said")"
PATH="$home/bin:$PATH" holon version >/dev/null
[ -s "$home/share/man/man1/holon.1" ] || fail "there is no man page"
for shell in bash-completion/completions/holon zsh/site-functions/_holon fish/vendor_completions.d/holon.fish; do
  [ -s "$home/share/$shell" ] || fail "there is no $shell"
done
grep -qF "ExecStart=$home/bin/holon start" "$home/share/systemd/user/holon.service" || fail "the unit names another program"
[ "$("$home/libexec/holon/slurm-tools/squeue" --version)" = "$(PATH="$home/libexec/holon/slurm-tools:$PATH" squeue --version)" ]
if command -v python3 >/dev/null; then
  site=$(echo "$home"/lib/python*/site-packages)
  # Imported from there, its bytes compiled there: both go with it.
  (cd / && PYTHONPATH=$site python3 -c 'import holon, holon.messages, sys; assert holon.__file__.startswith(sys.path[1]), holon.__file__')
  grep -q '^Version: ' "$site"/holon-*.dist-info/METADATA || fail "pip would not know it"
fi

install >/dev/null  # over itself
HOME="$work" "$top/install.sh" --uninstall --prefix "$home" >/dev/null
(cd "$home" && find . | sort) >"$work/after"
diff "$work/before" "$work/after" || fail "what is left is not what was there before"
[ "$(cat "$home/bin/mine")" = mine ] || fail "it has touched another's file"
if HOME="$work" "$top/install.sh" --uninstall --prefix "$home" 2>/dev/null; then fail "it removed what is not there"; fi
if install --no-such-option 2>"$work/said"; then fail "an unknown option was accepted"; fi
grep -qF -- "'--no-such-option' is not accepted; --prefix DIR" "$work/said" || fail "of an unknown option it said: $(cat "$work/said")"
