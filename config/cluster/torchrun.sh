#!/bin/sh
# torchrun.sh NODE_RANK: start it on each of the 4 nodes, from 0; each has a leatd and 8 trainers.
# leat takes rank and world size from torchrun, and all ranks compare what they read before the first batch.
exec "$(dirname "$0")/node.sh" train.yaml \
    torchrun --nnodes 4 --nproc-per-node 8 --node-rank "$1" --master-addr node0 --master-port 29500 train.py
