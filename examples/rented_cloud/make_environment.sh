#!/usr/bin/env bash
# Make the cloud's own environment from locked packages, without halfmask.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=${1:-out/rented_cloud/environment}
"${PYTHON:-python3}" -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --require-hashes \
  -r examples/rented_cloud/requirements.txt
