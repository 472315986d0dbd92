#!/bin/sh
# install.sh - puts holon below ~/.local, or below a folder of your choice; nobody has to be root.
#
#   ./install.sh                    ~/.local: bin/holon, man pages, completions, a systemd user unit, the Python package
#   ./install.sh --prefix DIR       below DIR
#   ./install.sh --no-python        without the Python package
#   ./install.sh --uninstall [--prefix DIR]    removes what it has put there, and nothing else
#
# Needs a POSIX shell and cp, mkdir, mktemp, mv, ln, rm, rmdir, sed; python3, 3.9 or later, for the Python package alone.
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
newline='
'
case $prefix in *"$newline"*) echo "install.sh: the name of the folder has two lines" >&2; exit 2 ;; esac

# ---- the list: a line for each file that this script has put, below the prefix; "#FOLDER" for each folder that it has made ----------------

list=$prefix/share/holon/installed

remove_file() {  # A line of the list
  # shellcheck disable=SC2086  # what Python compiles is named by a pattern
  rm -f "$prefix"/$1
}
# From the innermost on; one that is not empty has something of somebody else's.
remove_folders() {  # FOLDERS, a line each
  printf '%s' "$1" | sed '1!G;h;$!d' | while IFS= read -r folder; do rmdir "$prefix/$folder" 2>/dev/null || :; done
}
files_in() { sed '/^#/d' "$list"; }
folders_in() { sed -n 's/^#//p' "$list"; }
has_line() {  # LINES LINE
  case "$newline$1$newline" in *"$newline$2$newline"*) return 0 ;; esac
  return 1
}

if [ -n "$uninstall" ]; then
  [ -f "$list" ] || { echo "install.sh: there is no holon of this script's below $prefix" >&2; exit 1; }
  files_in | while IFS= read -r file; do remove_file "$file"; done
  folders=$(folders_in)
  rm -f "$list"
  remove_folders "$folders$newline"
  rmdir "$prefix" 2>/dev/null || :
  echo "holon is gone from $prefix"
  exit 0
fi

"$here/bin/holon" version >/dev/null || { echo "install.sh: bin/holon does not run here ($(uname -sm))" >&2; exit 1; }
old_files='' old_folders=''
if [ -f "$list" ]; then old_files=$(files_in) old_folders=$(folders_in); fi

# ---- what is to be put: `work` has it as it will lie below the prefix, where it is not in the archive as it is -----------------------------

work=$(mktemp -d) unfinished=''
trap 'rm -rf "$work"; [ -z "$unfinished" ] || rm -f "$unfinished"' EXIT
trap 'exit 1' HUP INT TERM
wanted=''
want() { wanted="$wanted$1$newline"; }
make_below_work() { mkdir -p "$work/${1%/*}"; }

for file in bin/holon share/man/man1/* share/bash-completion/completions/holon share/zsh/site-functions/_holon \
  share/fish/vendor_completions.d/holon.fish share/doc/holon/*; do
  for found in "$here"/$file; do [ ! -f "$found" ] || want "${found#"$here"/}"; done
done

slurm=libexec/holon/slurm/srun
for name in sbatch srun squeue scancel sacct sinfo scontrol salloc; do slurm="$slurm libexec/holon/slurm-tools/$name"; done
for file in $slurm; do
  make_below_work "$file"
  ln -s ../../../bin/holon "$work/$file"
  want "$file"
done

# In a unit `%` stands for something else, and so do `&` and the bar in what sed puts in.
unit=share/systemd/user/holon.service no_unit=''
case $prefix in
  *[\\\"\']*) no_unit="systemd takes no program in a folder with a quote or a backslash in its name" ;;
  *)
    make_below_work "$unit"
    folder=$(printf '%s\n' "$prefix/bin" | sed 's/%/%%/g; s/[&|]/\\&/g')
    sed "s|@BINDIR@|$folder|" "$here/$unit" >"$work/$unit"
    want "$unit"
    ;;
esac

# A wheel is an archive whose folders belong there as they are; neither pip nor a network is needed. Prints where it belongs, and then the files.
unpack_wheel() {  # WHEEL FOLDER
  python3 - "$1" "$2" <<'PYTHON'
import sys, zipfile
wheel, work = sys.argv[1:]
site = "lib/python%d.%d/site-packages/" % sys.version_info[:2]
archive = zipfile.ZipFile(wheel)
archive.extractall(work + "/" + site)
print("\n".join(site + name for name in archive.namelist()))
PYTHON
}
compiled='' caches='' left_out=''
if [ -n "$python" ]; then
  if ! command -v python3 >/dev/null; then
    left_out="there is no python3 here"
  elif ! python3 -c 'import sys; sys.exit(0 if sys.version_info >= (3, 9) else 9)'; then
    left_out="python3 does not run, or is older than 3.9"
  else
    for wheel in "$here"/share/holon/holon-*.whl; do
      unpacked=$(unpack_wheel "$wheel" "$work") || { left_out="python3 could not unpack it"; break; }
      wanted="$wanted$unpacked$newline"
    done
  fi
fi
# What Python compiles when it is first imported goes with it.
for file in $wanted; do
  case $file in *.py) ;; *) continue ;; esac
  name=${file##*/} cache=${file%/*}/__pycache__
  compiled="$compiled$cache/${name%.py}.*.pyc$newline"
  has_line "$caches" "$cache" || caches="$caches$cache$newline"
done

for file in $wanted; do
  if has_line "$old_files" "$file" || ! { [ -e "$prefix/$file" ] || [ -L "$prefix/$file" ]; }; then continue; fi
  echo "install.sh: $prefix/$file is there, and this script has not put it there; nothing was changed. Remove it, or take another --prefix" >&2
  exit 1
done

# ---- put: each line is in the list before the file is there, so that --uninstall removes what an end half-way leaves -------------------------

record() { printf '%s\n' "$1" >>"$list"; }
folders=''
make_folder() {  # FOLDER, below the prefix
  [ ! -d "$prefix/$1" ] || return 0
  case $1 in */*) make_folder "${1%/*}" ;; esac
  mkdir "$prefix/$1"
  folders="$folders$1$newline"
  [ ! -f "$list" ] || record "#$1"
}
# A file that is in use is replaced, not written to: instances that run go on with theirs.
put() {  # FILE, below the prefix
  local_copy=$work/$1
  [ -e "$local_copy" ] || [ -L "$local_copy" ] || local_copy=$here/$1
  make_folder "${1%/*}"
  unfinished=$prefix/$1.new
  cp -P "$local_copy" "$unfinished"
  mv -f "$unfinished" "$prefix/$1"
  unfinished=''
}
mkdir -p "$prefix"
make_folder share/holon
# What was made before there was a list.
printf '%s' "$folders" | sed 's/^/#/' >>"$list"
printf '%s' "$caches" | sed 's/^/#/' >>"$list"
for file in $compiled; do has_line "$old_files" "$file" || record "$file"; done
for file in $wanted; do
  has_line "$old_files" "$file" || record "$file"
  put "$file"
done

# ---- another version's that this one does not have ----------------------------------------------------------------------------------------

printf '%s\n' "$old_files" | while IFS= read -r file; do
  [ -z "$file" ] || has_line "$wanted$compiled" "$file" || remove_file "$file"
done
remove_folders "$old_folders$newline"
kept=$(printf '%s\n' "$old_folders" | while IFS= read -r folder; do
  [ -z "$folder" ] || [ ! -d "$prefix/$folder" ] || has_line "$folders$caches" "$folder" || printf '#%s\n' "$folder"
done)
{
  [ -z "$kept" ] || printf '%s\n' "$kept"
  printf '%s' "$folders$caches" | sed 's/^/#/'
  printf '%s' "$wanted$compiled"
} >"$list.new"
mv -f "$list.new" "$list"

echo "$("$prefix/bin/holon" version) is in $prefix/bin"
case :${PATH:-}: in
  *:"$prefix/bin":*) ;;
  *) echo "  PATH=$prefix/bin:\$PATH finds it" ;;
esac
echo "  PATH=$prefix/libexec/holon/slurm-tools:\$PATH has Slurm's commands answered by holon"
[ -z "$no_unit" ] || echo "  the unit was left out: $no_unit"
[ -z "$left_out" ] || echo "  the Python package was left out: $left_out"
