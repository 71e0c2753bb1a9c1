/* launcher.h: the rank of this process and the size of its world, from arguments or from the
 * variables that a launcher has set.
 *
 * The first launcher found counts, since it is the innermost: LEAT_RANK (for launchers that are not
 * in the table), torchrun, mlx.launch, Open MPI, MPICH and others that speak PMI, Slurm, indexed
 * jobs of Kubernetes. Variables that are incomplete or contradictory are an error that names them:
 * a trainer that takes itself for the only one would see all of the data. Uses getenv().
 */
#pragma once

#include <stdint.h>

#include "client/leat.h"
#include "proto/base/error.h"

#define LEAT_LAUNCHER_MAX_WORLD (1U << 20)

struct leat_ranks {
    uint32_t rank, world_size;
    uint32_t local_rank, local_world_size; /* among those on this machine; size 0: unknown */
    const char *source; /* "arguments", "torchrun", ...; "": no launcher was found. Static */
};

/* Completes what was given. If world_size is 0, rank and size are the launcher's. If rank is
 * LEAT_RANK_LAUNCHER, the rank is the launcher's, whose size must be the one given. Otherwise both
 * are as given, and a launcher that agrees supplies the local rank. Without a launcher: rank 0
 * of 1. 0, or -EINVAL with the reason. */
int leat_launcher_complete(struct leat_ranks *ranks, struct leat_error *err);
