#!/bin/sh
# node.sh CONFIG COMMAND...: runs COMMAND on this node with a leatd beside it, which ends with it. Launchers start it once on each
# node: torchrun.sh, mpi.sh and slurm.sh say how.
set -eu
config=$1
shift
LEAT_SOCKET=$(mktemp -d "${TMPDIR:-/tmp}/leat.XXXXXX")
export LEAT_SOCKET
leatd --config "$config" --socket-dir "$LEAT_SOCKET" &
daemon=$!
trap 'kill "$daemon" 2>/dev/null || true; wait "$daemon" || true; rm -rf "$LEAT_SOCKET"' EXIT
trap 'exit 143' TERM INT
until leatctl status >/dev/null 2>&1; do
    kill -0 "$daemon" || exit 1 # it has said why
    sleep 0.1
done
"$@"
