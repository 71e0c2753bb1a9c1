/* progress.h: a line on the terminal (standard error) with the progress of long work, its rate and
 * the time left. Without a terminal, or with --no-progress, there is none. Owner: the one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/text.h"

enum leat_progress_unit { LEAT_PROGRESS_BYTES, LEAT_PROGRESS_RECORDS, LEAT_PROGRESS_RUNS };

struct leat_cli_progress {
    bool is_wanted, has_shown;
    enum leat_progress_unit unit;
    uint64_t start_ns, shown_ns;
};

void leat_cli_progress_begin(struct leat_cli_progress *progress, enum leat_progress_unit unit,
                             bool is_hidden);
/* Updates the line at most ten times a second. n_total 0: unknown. about: the present item, or "".
 */
void leat_cli_progress_show(struct leat_cli_progress *progress, uint64_t n_done, uint64_t n_total,
                            const char *about);
/* Removes the line, so that other text can be written; the next update brings it back. */
void leat_cli_progress_hide(struct leat_cli_progress *progress);

/* Adds the line itself, of at most n_columns. Pure. */
void leat_cli_progress_line(struct leat_text *text, enum leat_progress_unit unit, uint64_t n_done,
                            uint64_t n_total, uint64_t elapsed_ns, const char *about,
                            size_t n_columns);
