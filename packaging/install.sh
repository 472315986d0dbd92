#!/bin/sh
# install.sh - puts holon below ~/.local, or below a folder of your choice; nobody has to be root.
#
#   ./install.sh                    ~/.local: bin/holon, man pages, completions, a systemd user unit, the Python package
#   ./install.sh --prefix DIR       below DIR
#   ./install.sh --no-python        without the Python package
#   ./install.sh --uninstall [--prefix DIR]    removes what it has put there, and nothing else
#
# Needs a POSIX shell and cp, mkdir, ln, rm, rmdir, sed; python3 for the Python package alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=${HOME:-}/.local python=yes uninstall=
while [ $# -gt 0 ]; do
  case $1 in
    --prefix) [ $# -gt 1 ] || { echo "install.sh: --prefix wants a folder" >&2; exit 2; }; prefix=$2; shift ;;
    --no-python) python= ;;
    --uninstall) uninstall=yes ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "install.sh: '$1' is not accepted; --prefix DIR, --no-python, --uninstall and --help are" >&2; exit 2 ;;
  esac
  shift
done
case $prefix in
  /.local) echo "install.sh: HOME is not set; --prefix DIR says where" >&2; exit 2 ;;
  /*) ;;
  *) prefix=$(pwd)/$prefix ;;
esac
list=$prefix/share/holon/installed

remove_installed() {
  [ -f "$list" ] || return 0
  # shellcheck disable=SC2086  # what Python compiles is named by a pattern
  while IFS= read -r file; do case $file in '#'*) ;; *) rm -f "$prefix"/$file ;; esac; done <"$list"
  # From the innermost on: a folder goes when it is empty, and only those that this has made.
  sed -n 's/^#//p' "$list" | sed '1!G;h;$!d' >"$list.folders"
  rm -f "$list"
  mv "$list.folders" "$prefix/.holon-folders"
  while IFS= read -r folder; do rmdir "$prefix/$folder" 2>/dev/null || :; done <"$prefix/.holon-folders"
  rm -f "$prefix/.holon-folders"
  rmdir "$prefix" 2>/dev/null || :
}
if [ -n "$uninstall" ]; then
  [ -f "$list" ] || { echo "install.sh: there is no holon of this script's below $prefix" >&2; exit 1; }
  remove_installed
  echo "holon is gone from $prefix"
  exit 0
fi

"$here/bin/holon" version >/dev/null || { echo "install.sh: bin/holon does not run here ($(uname -sm))" >&2; exit 1; }
remove_installed  # of another version

make_folder() {  # FOLDER, below the prefix
  [ ! -d "$prefix/$1" ] || return 0
  case $1 in */*) make_folder "${1%/*}" ;; esac
  mkdir "$prefix/$1"
  folders="$folders$1
"
}
note() { files="$files$1
"; }
folders='' files=''
mkdir -p "$prefix"
make_folder share/holon
# A file that is in use is replaced, not written to: instances that run go on with theirs.
put() {  # FILE, below both
  make_folder "${1%/*}"
  cp "$here/$1" "$prefix/$1.new"
  mv "$prefix/$1.new" "$prefix/$1"
  note "$1"
}
for file in bin/holon share/man/man1/* share/bash-completion/completions/holon share/zsh/site-functions/_holon \
  share/fish/vendor_completions.d/holon.fish share/doc/holon/*; do
  for found in "$here"/$file; do [ ! -f "$found" ] || put "${found#"$here"/}"; done
done
[ ! -f "$here/libexec/holon/holon-pmix" ] || put libexec/holon/holon-pmix
link() {  # TARGET NAME, below the prefix
  make_folder "${2%/*}"
  rm -f "$prefix/$2"
  ln -s "$1" "$prefix/$2"
  note "$2"
}
link ../../../bin/holon libexec/holon/slurm/srun
for name in sbatch srun squeue scancel sacct sinfo scontrol salloc; do link ../../../bin/holon "libexec/holon/slurm-tools/$name"; done
make_folder share/systemd/user
sed "s|@BINDIR@|$prefix/bin|" "$here/share/systemd/user/holon.service" >"$prefix/share/systemd/user/holon.service"
note share/systemd/user/holon.service

if [ -n "$python" ] && command -v python3 >/dev/null; then
  site=lib/$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/site-packages
  make_folder "$site"
  # A wheel is an archive whose folders belong there as they are; neither pip nor a network is needed.
  for wheel in "$here"/share/holon/holon-*.whl; do
    python3 - "$wheel" "$prefix/$site" >"$prefix/share/holon/python-files" <<'PYTHON'
import os, sys, zipfile
wheel, site = sys.argv[1:]
archive = zipfile.ZipFile(wheel)
archive.extractall(site)
folders = {os.path.dirname(name) for name in archive.namelist()}
for folder in sorted({"/".join(f.split("/")[:n]) for f in folders for n in range(1, f.count("/") + 2)}):
    print("#" + folder)
    print("#" + folder + "/__pycache__")
print("\n".join(archive.namelist()))
PYTHON
    while IFS= read -r line; do
      case $line in
        '#'*) folders="$folders$site/${line#?}
" ;;
        *) note "$site/$line"
          case $line in *.py) base=${line##*/}; note "$site/${line%/*}/__pycache__/${base%.py}.*.pyc" ;; esac ;;
      esac
    done <"$prefix/share/holon/python-files"
    rm -f "$prefix/share/holon/python-files"
  done
fi
{ printf '%s' "$folders" | sed 's/^/#/'; printf '%s' "$files"; } >"$list"

echo "$("$prefix/bin/holon" version) is in $prefix/bin"
case :${PATH:-}: in
  *:"$prefix/bin":*) ;;
  *) echo "  PATH=$prefix/bin:\$PATH finds it" ;;
esac
echo "  PATH=$prefix/libexec/holon/slurm-tools:\$PATH has Slurm's commands answered by holon"
if [ -n "$python" ] && ! command -v python3 >/dev/null; then echo "  python3 is not here: the Python package was left out"; fi
