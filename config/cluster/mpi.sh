#!/bin/sh
# mpi.sh starts a leatd and a trainer on each node of the file `hosts`. leat takes rank and world size from Open MPI.
# The trainer client/examples/agree_mpi.c also compares what all ranks read.
exec mpirun --hostfile hosts --map-by ppr:1:node "$(dirname "$0")/node.sh" train.yaml ./trainer
