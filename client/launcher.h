/* launcher.h: which rank a process is, of how many, by what it was told or what its launcher left
 * in the environment.
 *
 * Looked at, the first that is there counts, since it is the innermost: LEAT_RANK (for launchers
 * that are not known), torchrun, mlx.launch, Open MPI, MPICH (and whatever speaks PMI), Slurm,
 * Kubernetes' indexed jobs. What is there in part, or makes no sense, is an error that names the
 * variables: a trainer that by mistake takes itself for the only one would see all of the data.
 * Reads the environment, as getenv() does.
 */
#pragma once

#include <stdint.h>

#include "client/leat.h"
#include "proto/base/error.h"

#define LEAT_LAUNCHER_MAX_WORLD (1U << 20)

struct leat_ranks {
    uint32_t rank, world_size;
    uint32_t local_rank, local_world_size; /* among those on this machine; size 0: unknown */
    const char *source; /* "arguments", "torchrun", ...; "": nobody said anything. Static */
};

/* Completes what was given: world_size 0: both are the launcher's; rank LEAT_RANK_LAUNCHER: that is
 * the launcher's, who must not say another size; else both are as given, and the launcher is only
 * asked for the local rank, if it says the same. Without a launcher: rank 0 of 1. 0, or -EINVAL
 * with what is wrong. */
int leat_launcher_complete(struct leat_ranks *ranks, struct leat_error *err);
