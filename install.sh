#!/bin/sh
# Sets Rewind up from this checkout, or removes it. Finds a Python; `rewind install` does the rest.
set -u

usage() {
  cat <<'END'
usage: ./install.sh [options]

Sets Rewind up for you: the command `rewind`, the hooks of your agents. Run again, it is an upgrade.
On a terminal it asks; without one, or with --yes, it takes the defaults.

  --yes              ask nothing
  --tier T           how often checkpoints are taken: minimal, balanced (default) or aggressive
  --agents A,B       register hooks with these agents: claude, droid, codex, gemini, opencode
                     (default: those found)
  --no-hooks         register hooks with no agent
  --no-plugin        leave out the commands inside Claude Code (/goback, /goforward, /timeline)
  --with-ui          also install the packages of the terminal UI and the web page (needs the network)
  --no-ui            do not ask for those packages
  --dry-run          only say what would be done
  --json             print one JSON object
  --uninstall        remove Rewind; the checkpoints of your projects stay
  -h, --help         this text
END
}

fail() {
  printf 'error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
  exit "${3:-1}"
}

command=install
count=$#
while [ "$count" -gt 0 ]; do
  option=$1
  shift
  count=$((count - 1))
  case $option in
    -h | --help)
      usage
      exit 0
      ;;
    --uninstall) command=uninstall ;;
    --yes | --no-hooks | --no-plugin | --with-ui | --no-ui | --dry-run | --json | --tier=* | --agents=*) set -- "$@" "$option" ;;
    --tier | --agents)
      [ "$count" -gt 0 ] || fail "$option needs a value." "Run ./install.sh --help." 2
      set -- "$@" "$option" "$1"
      shift
      count=$((count - 1))
      ;;
    *) fail "There is no option $option" "Run ./install.sh --help." 2 ;;
  esac
done

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
[ -f "$here/bin/rewind" ] || fail "bin/rewind is not beside this script: $here" "Run install.sh in a checkout of Rewind."

# This also imports modules that a hook needs, because some builds of Python lack one of them.
fits='import sys, sqlite3, zlib; sys.exit(sys.version_info < (3, 9))'
python=
for name in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python3.9; do
  if "$name" -I -S -c "$fits" >/dev/null 2>&1; then
    python=$name
    break
  fi
done
[ -n "$python" ] || fail "Rewind needs Python 3.9 or newer, and none was found on PATH." \
  "Install one (for example: apt install python3, brew install python), then run this again."

if [ "$command" = install ] && ! command -v git >/dev/null 2>&1; then
  printf 'warning: git was not found. Rewind works without it; only an ignore file that the settings of git name stays unknown.\n' >&2
fi

exec "$python" -I -S "$here/bin/rewind" "$command" "$@"
