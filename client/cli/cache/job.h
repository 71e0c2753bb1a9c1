/* job.h: `leatctl prepare --job`: jobs that prepare all shards of a set, and seal it. */
#pragma once

#include "client/cli/base/arguments.h"

extern const char *const leat_cli_job_kinds[]; /* the first: none; ends with NULL */

/* Prints the job of that kind. An exit status. */
int leat_cli_job_print(const struct leat_cli_arguments *arguments, struct leat_error *err);
