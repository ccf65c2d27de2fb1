#!/bin/sh
# Train on two nodes, a process on each: `sbatch tools/containers/slurm.sh`, in a clone
# with its .venv on a disk that all nodes share. mpiexec knows Slurm's nodes.
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=2 --time=01:00:00
exec .venv/bin/python -m d2lmulti.cluster.jobs -n "$SLURM_NTASKS" \
    --limit 3500 --restarts 3 tools/containers/train.py checkpoints
