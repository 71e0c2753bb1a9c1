/* inline.h: a stream run in this process, on this thread, without a daemon. */
#pragma once

#include "client/cli/run/report.h"
#include "client/launcher.h"
#include "proto/spec.h"

/* Reports the batches that the arguments ask for, from the position on ("": from the beginning). 0
 * or -errno; -EINTR: a signal came. */
int leat_cli_inline_run(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
                        const struct leat_ranks *ranks, const char *position,
                        struct leat_cli_report *report, struct leat_error *err);
