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
        found=$("$PYTHON" -V 2>/dev/null) || found="not there"
        echo "Turnout needs Python 3.11 or newer, and $PYTHON is $found: name another with PYTHON=..." >&2
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
    say "installing Turnout with [$1]: a few minutes and about 2 GB the first time"
    say "torch first, as deploy/constraints.txt pins it"
    pip_install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch
    pip_install -e ".[$1]"
    fingerprint "$1" > "$stamp"
}

pip_install() {
    if ! "$VENV/bin/python" -m pip install --disable-pip-version-check -c deploy/constraints.txt "$@"; then
        say "pip could not install (see above). Can it reach its package index? Run the same line again: it goes on from here"
        return 1
    fi
}
