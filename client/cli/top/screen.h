/* screen.h: a terminal that is drawn on as a whole, and given back as it was however the program
 * ends by itself: by exit() as well. Owner: the one thread; there is one screen.
 *
 * Signals that would end or stop the program come through a descriptor instead, so that the
 * terminal is put right first.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/base/text.h"

struct leat_screen {
    int signals; /* a signalfd: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH */
    size_t n_rows, n_columns;
    size_t n_shown;
    struct leat_text *shown; /* what is on it, line by line: what stays is not written again */
};

/* Standard input and output are terminals. 0 or -errno. */
int leat_screen_open(struct leat_screen *screen, struct leat_error *err);
void leat_screen_close(struct leat_screen *screen);
/* Sets the size; the next frame is written whole. */
void leat_screen_resize(struct leat_screen *screen);
/* lines without an end, at most n_rows, n_columns wide. */
void leat_screen_show(struct leat_screen *screen, const struct leat_text *lines, size_t n_lines);
/* Gives the terminal back and stops, as ^Z does; goes on as before. */
void leat_screen_stop(struct leat_screen *screen);
/* The next signal that came, 0: none. */
int leat_screen_signal(struct leat_screen *screen);
