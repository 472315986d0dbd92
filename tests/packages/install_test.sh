#!/bin/bash
# install_test.sh BUILD SOURCES - the tar.gz of a finished build, whatever its preset: installed below a folder whose name has all that a shell, sed and systemd
# take for something else, used, installed again, and removed without a trace of it or a loss of what was there before; ended half-way, and removed.
set -euo pipefail
build=$1 sources=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "install_test: $*" >&2; exit 1; }

# ---- the packages ------------------------------------------------------------------------------------

"$sources/scripts/package" --from "$build" --only tar --only wheel "$work/packages" >"$work/made" 2>&1 || fail "$(cat "$work/made")"
"$sources/scripts/package" --from "$build" --only tar "$work/again" >/dev/null 2>&1
cmp "$work"/packages/*.tar.gz "$work"/again/*.tar.gz || fail "made twice it is not the same"
for kind in deb rpm nonsense; do
  if "$sources/scripts/package" --from "$build" --only "$kind" "$work/refused" 2>"$work/said"; then fail "--from with --only $kind was accepted"; fi
  grep -qF -- "--only $kind is not accepted" "$work/said" || fail "of --only $kind it said: $(cat "$work/said")"
done
tar -C "$work" -xzf "$work"/packages/*.tar.gz
top=$(echo "$work"/holon-*)
python3 -m zipfile -e "$work"/packages/*.whl "$work/wheel"
for licence in LICENSE LICENCES.md NOTICES; do
  [ -s "$top/share/doc/holon/$licence" ] || fail "the tar.gz has no $licence"
  cmp "$work"/wheel/holon-*.dist-info/"$licence" "$top/share/doc/holon/$licence" || fail "the wheel has no $licence"
done
grep -q "Copyright (c) 2022 Leon Sorokin" "$top/share/doc/holon/NOTICES" || fail "NOTICES lacks what npm has brought"
if HOLON_DOC=$work "$sources/packaging/notices" "$work" >/dev/null 2>"$work/said"; then fail "notices that are missing were passed over"; fi
grep -qF "missing: $work/libzmq3-dev/copyright" "$work/said" || fail "of what is missing it said: $(cat "$work/said")"

# ---- installed, used, removed ------------------------------------------------------------------------

home="$work/a home & 100% of|it"
mkdir -p "$home/bin" && echo mine >"$home/bin/mine"
(cd "$home" && find . | sort) >"$work/before"
unit=$home/share/systemd/user/holon.service
install() { HOME="$work" "$top/install.sh" --prefix "$home" "$@"; }
remove() {
  HOME="$work" "$top/install.sh" --uninstall --prefix "$home" >/dev/null
  (cd "$home" && find . | sort) >"$work/after"
  diff "$work/before" "$work/after" || fail "$1: what is left is not what was there before"
  [ "$(cat "$home/bin/mine")" = mine ] || fail "$1: it has touched another's file"
}
echo old >"$top/share/doc/holon/old"  # of the version before
install >"$work/said"
grep -q "holon $(sed -n 's/^project(holon VERSION \([0-9.]*\).*/\1/p' "$sources/CMakeLists.txt")" "$work/said" || fail "it said: $(cat "$work/said")"
PATH="$home/bin:$PATH" holon version >/dev/null
[ -s "$home/share/man/man1/holon.1" ] || fail "there is no man page"
for shell in bash-completion/completions/holon zsh/site-functions/_holon fish/vendor_completions.d/holon.fish; do
  [ -s "$home/share/$shell" ] || fail "there is no $shell"
done
grep -qF "ExecStart=\"$work/a home & 100%% of|it/bin/holon\" start" "$unit" || fail "the unit names another program: $(grep ExecStart "$unit")"
if command -v systemd-analyze >/dev/null; then
  cp "$unit" "$work/holon.service"  # it takes no such name of a folder itself
  SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$work/holon.service" >"$work/said" 2>&1 || fail "the unit is refused: $(cat "$work/said")"
  if grep -q "^$work/holon.service\|^holon.service" "$work/said"; then fail "of the unit is said: $(cat "$work/said")"; fi
fi
[ "$("$home/libexec/holon/slurm-tools/squeue" --version)" = "$(PATH="$home/libexec/holon/slurm-tools:$PATH" squeue --version)" ]
if command -v python3 >/dev/null; then
  site=$(echo "$home"/lib/python*/site-packages)
  # Imported from there, its bytes compiled there: both go with it.
  (cd / && PYTHONPATH=$site python3 -c 'import holon, holon.messages, sys; assert holon.__file__.startswith(sys.path[1]), holon.__file__')
  grep -q '^Version: ' "$site"/holon-*.dist-info/METADATA || fail "pip would not know it"
fi

rm "$top/share/doc/holon/old"
install >/dev/null  # over another version
[ ! -e "$home/share/doc/holon/old" ] || fail "what only the version before had is there still"
remove "installed twice"
if HOME="$work" "$top/install.sh" --uninstall --prefix "$home" 2>/dev/null; then fail "it removed what is not there"; fi
if install --no-such-option 2>"$work/said"; then fail "an unknown option was accepted"; fi
grep -qF -- "'--no-such-option' is not accepted; --prefix DIR" "$work/said" || fail "of an unknown option it said: $(cat "$work/said")"

quoted="$work/\"a\" \\home"
HOME="$work" "$top/install.sh" --prefix "$quoted" >"$work/said"
grep -q "the unit was left out: systemd takes no program" "$work/said" || fail "with a quote in the prefix it said: $(cat "$work/said")"
PATH="$quoted/bin:$PATH" holon version >/dev/null
HOME="$work" "$top/install.sh" --uninstall --prefix "$quoted" >/dev/null
[ ! -e "$quoted" ] || fail "with a quote in the prefix something is left"

# ---- what is another's -------------------------------------------------------------------------------

for theirs in bin/holon libexec/holon/slurm-tools/squeue; do
  mkdir -p "$(dirname "$home/$theirs")" && echo theirs >"$home/$theirs"
  (cd "$home" && find . | sort) >"$work/before.theirs"
  if install 2>"$work/said"; then fail "another's $theirs was overwritten"; fi
  grep -qF "$home/$theirs is there, and this script has not put it there" "$work/said" || fail "of another's file it said: $(cat "$work/said")"
  (cd "$home" && find . | sort) | diff "$work/before.theirs" - || fail "refused, it has put something"
  [ "$(cat "$home/$theirs")" = theirs ] || fail "refused, it has touched another's $theirs"
  rm "$home/$theirs" && rm -rf "$home/libexec"
done

# ---- a Python that is of no use: CODE of the look at its version, and of the work --------------------

tools=$work/tools
mkdir "$tools"
with_tools() { PATH="$tools:$PATH" install; }
for codes in "1 1" "9 0" "0 1"; do
  read -r look work_code <<<"$codes"
  printf '#!/bin/sh\n[ "$1" = -c ] && exit %s\necho lib/python3/site-packages/half\nexit %s\n' "$look" "$work_code" >"$tools/python3"
  chmod +x "$tools/python3"
  with_tools >"$work/said" 2>&1 || fail "a python3 of no use ended it: $(cat "$work/said")"
  grep -q "the Python package was left out: python3" "$work/said" || fail "of a python3 of no use ($codes) it said: $(cat "$work/said")"
  [ ! -e "$home/lib" ] || fail "of a python3 of no use ($codes) there is $home/lib"
  PATH="$home/bin:$PATH" holon version >/dev/null
  remove "with a python3 of no use"
done
rm "$tools/python3"

# ---- an end half-way ---------------------------------------------------------------------------------

printf '#!/bin/sh\nfor last; do :; done\ncase $last in */squeue) exit 1 ;; esac\nexec /bin/mv "$@"\n' >"$tools/mv"
chmod +x "$tools/mv"
if with_tools >/dev/null 2>&1; then fail "it went on without mv"; fi
[ -e "$home/bin/holon" ] || fail "it ended before the half"
remove "ended half-way"
install >/dev/null
if with_tools >/dev/null 2>&1; then fail "it went on without mv"; fi
PATH="$home/bin:$PATH" holon version >/dev/null || fail "ended half-way over another version, there is no program"
install >/dev/null
remove "ended half-way over another version, and done again"
