/* checkpoint.h: positions on the command line: --position TEXT or @FILE, --save-position FILE, and
 * where a run without a daemon stands. Owner: the one thread. */
#pragma once

#include "client/cli/base/arguments.h"
#include "pipeline/plan/plan.h"
#include "pipeline/run/run.h"
#include "proto/position.h"

/* What --position says. 0: ret_text is "" if it was not given; -errno: no such file, or it holds no
 * position. */
int leat_cli_checkpoint_read(const struct leat_cli_arguments *arguments,
                             char ret_text[LEAT_POSITION_TEXT_SIZE], struct leat_error *err);
/* To where --save-position says, if it was given; under a temporary name, then renamed. */
int leat_cli_checkpoint_write(const struct leat_cli_arguments *arguments, const char *position,
                              struct leat_error *err);

/* Of a run without a daemon. */
struct leat_cli_place {
    struct leat_position position; /* of the next batch */
    uint64_t first_epoch, first_step, n_steps, n_taken;
};
/* Makes `options` go on at the position, if there is one, after checking that spec and data are
 * those of it, as the daemon does. Identifies the plan's data. */
int leat_cli_place_start(struct leat_cli_place *place, const char *position, bool accepts_changes,
                         struct leat_plan *plan, struct leat_run_options *options,
                         struct leat_error *err);
void leat_cli_place_take(struct leat_cli_place *place, const struct leat_output *output);
/* As leat_stream_position() has it. */
void leat_cli_place_print(const struct leat_cli_place *place,
                          char ret_text[LEAT_POSITION_TEXT_SIZE]);
