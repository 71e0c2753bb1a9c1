/* checkpoint.h: positions on the command line (--position TEXT or @FILE, --save-position FILE), and
 * the position of a run without a daemon. Owner: the one thread. */
#pragma once

#include "client/cli/base/arguments.h"
#include "pipeline/run/pipeline.h"
#include "proto/position.h"

/* Reads --position; ret_text is "" without it. 0 or -errno: no such file, or it holds no position.
 */
int leat_cli_checkpoint_read(const struct leat_cli_arguments *arguments,
                             char ret_text[LEAT_POSITION_TEXT_SIZE], struct leat_error *err);
/* Writes the file of --save-position, if it was given, under a temporary name, and renames it. */
int leat_cli_checkpoint_write(const struct leat_cli_arguments *arguments, const char *position,
                              struct leat_error *err);

/* Identifies the plan's data, and keeps what was read for a later process (plan/data_kept.h). 0 or
 * -errno. */
int leat_cli_identify_data(struct leat_plan *plan, const struct leat_opener *opener,
                           struct leat_error *err);

/* The position of a run without a daemon. */
struct leat_cli_place {
    struct leat_position position; /* of the next batch */
    uint64_t first_epoch, first_step, n_steps, n_taken;
};
/* Makes `options` start at the position, if there is one, after checking that its spec and data are
 * those of the plan, as the daemon does. Identifies the plan's data. */
int leat_cli_place_start(struct leat_cli_place *place, const char *position, bool accepts_changes,
                         struct leat_plan *plan, struct leat_run_options *options,
                         struct leat_error *err);
void leat_cli_place_take(struct leat_cli_place *place, const struct leat_output *output);
/* The same text as of leat_stream_position(). */
void leat_cli_place_print(const struct leat_cli_place *place,
                          char ret_text[LEAT_POSITION_TEXT_SIZE]);
