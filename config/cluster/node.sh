#!/bin/sh
# node.sh CONFIG COMMAND... starts a leatd on this node, runs COMMAND, and then ends the leatd. A launcher starts node.sh once on
# each node: see torchrun.sh, mpi.sh and slurm.sh.
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
    kill -0 "$daemon" || exit 1 # leatd has ended, and has printed the reason
    sleep 0.1
done
"$@"
