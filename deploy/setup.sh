# Sourced by deploy/up.sh and tests/run.sh, from the project's root. Defines set_up EXTRAS.

VENV=${VENV:-.venv}
PYTHON=${PYTHON:-python3}

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }

# What an installed environment depends on; when it changes, the install runs again.
fingerprint() {
    { cat pyproject.toml deploy/constraints.txt; echo "$1 ${TORCH_INDEX:-}"; "$VENV/bin/python" -V; pwd; } | cksum
}

set_up() {
    if ! "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "Turnout needs Python 3.11 or newer; set PYTHON=... ($PYTHON is $("$PYTHON" -V 2>&1 || echo missing))" >&2
        return 1
    fi
    if [ -x "$VENV/bin/python" ]; then
        say "reusing the environment in $VENV"
    else
        say "making a virtual environment in $VENV"
        "$PYTHON" -m venv "$VENV"
    fi
    stamp="$VENV/turnout-$(echo "$1" | tr ',' '-').stamp"
    if [ "$(cat "$stamp" 2>/dev/null)" = "$(fingerprint "$1")" ]; then
        say "reusing the installed packages (nothing changed since)"
        return 0
    fi
    say "installing Turnout with [$1] (the first time takes a few minutes)"
    "$VENV/bin/python" -m pip install --quiet --upgrade 'pip>=24'
    case ",$1," in *engine* | *classify* | *test*)
        say "torch first, as deploy/constraints.txt pins it"
        "$VENV/bin/python" -m pip install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} -c deploy/constraints.txt torch ;;
    esac
    "$VENV/bin/python" -m pip install -c deploy/constraints.txt -e ".[$1]"
    fingerprint "$1" > "$stamp"
}
