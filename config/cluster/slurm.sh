#!/bin/bash
# sbatch slurm.sh: a leatd and a trainer on each of 4 nodes. leat takes rank and world size from srun. For several trainers a
# node, let torchrun start them: srun node.sh train.yaml torchrun --nproc-per-node 8 --nnodes "$SLURM_NNODES" ... train.py
# A job that is requeued goes on where your checkpoint's position says.
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --requeue
srun ./node.sh train.yaml python3 train.py
