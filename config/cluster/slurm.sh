#!/bin/bash
# sbatch slurm.sh: a leatd and a trainer on each of 4 nodes. leat takes rank and world size from srun. For several trainers a
# node, let torchrun start them: srun node.sh train.yaml torchrun --nproc-per-node 8 --nnodes "$SLURM_NNODES" ... train.py
# A job that is requeued goes on where your checkpoint's position says.
# To train from an object store: leatctl prepare train.yaml --job slurm -o s3://bucket/sets/train/ > prepare.sh prints the job that
# stores the set, and `cache: {prepared: "s3://bucket/sets/train/"}` in train.yaml reads it, with the credentials of ~/.aws.
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --requeue
srun ./node.sh train.yaml python3 train.py
