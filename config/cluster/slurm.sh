#!/bin/bash
# Start this job with `sbatch slurm.sh`. It runs a leatd and a trainer on each of 4 nodes. leat takes rank and world size from
# srun. For several trainers on a node, start them with torchrun:
# srun node.sh train.yaml torchrun --nproc-per-node 8 --nnodes "$SLURM_NNODES" ... train.py
# If Slurm requeues the job, training continues at the position in your checkpoint.
# To train from an object store, first make a prepared set there. This command writes the job that makes it:
# leatctl prepare train.yaml --job slurm -o s3://bucket/sets/train/ > prepare.sh
# Then write `cache: {prepared: "s3://bucket/sets/train/"}` into train.yaml. leat takes the credentials from ~/.aws.
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --requeue
srun ./node.sh train.yaml python3 train.py
