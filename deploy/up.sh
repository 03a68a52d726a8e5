#!/bin/sh
# From a fresh clone to a running gateway: environment, install, demo weights, start. Run it again at any time: what is
# there already is reused. Extra arguments go to `turnout serve` (for example: sh deploy/up.sh --port 9000).
#
#   VENV=.venv            where the virtual environment goes
#   PYTHON=python3        the interpreter to make it with (3.11 or newer)
#   TORCH_INDEX=URL       take torch from this package index (PyTorch's CPU index, or one for your CUDA version)
set -eu
cd "$(dirname "$0")/.."
. deploy/setup.sh

set_up classify,engine
"$VENV/bin/turnout" models pull smollm2-135m-instruct
TURNOUT_TELEMETRY__LOG=${TURNOUT_TELEMETRY__LOG:-console}
export TURNOUT_TELEMETRY__LOG
exec "$VENV/bin/turnout" serve policies/demo.yaml "$@"
