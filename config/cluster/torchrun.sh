#!/bin/sh
# Start `torchrun.sh NODE_RANK` on each of the 4 nodes, with NODE_RANK from 0 to 3. It runs a leatd and 8 trainers on the node.
# leat takes rank and world size from torchrun. Before the first batch, all ranks compare what they read.
exec "$(dirname "$0")/node.sh" train.yaml \
    torchrun --nnodes 4 --nproc-per-node 8 --node-rank "$1" --master-addr node0 --master-port 29500 train.py
