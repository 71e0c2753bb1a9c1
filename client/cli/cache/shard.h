/* shard.h: which shard a batch job prepares. */
#pragma once

#include <stdint.h>

#include "proto/base/error.h"

/* "I/N", or "auto": what the scheduler of a job array says in the environment. */
int leat_cli_shard_parse(const char *text, uint32_t *ret_shard, uint32_t *ret_n_shards,
                         struct leat_error *err);
