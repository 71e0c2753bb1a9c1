/* progress.h: a line on the terminal (standard error) that says how far long work has come, how
 * fast it is, and how long it will take; none where no terminal is, or --no-progress was given.
 * Owner: the one thread.
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
/* Not more often than the eye sees. n_total 0: it is not known. about: what it is at; may be "". */
void leat_cli_progress_show(struct leat_cli_progress *progress, uint64_t n_done, uint64_t n_total,
                            const char *about);
/* Takes the line away, so that something else may be written; the next show() brings it back. */
void leat_cli_progress_hide(struct leat_cli_progress *progress);

/* The line itself, of at most that many columns; pure. */
void leat_cli_progress_line(struct leat_text *text, enum leat_progress_unit unit, uint64_t n_done,
                            uint64_t n_total, uint64_t elapsed_ns, const char *about,
                            size_t n_columns);
