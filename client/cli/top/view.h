/* view.h: the picture that `leatctl top` draws of a model: lines of at most that many columns,
 * whatever the names in it hold. Pure, but for the locale's characters. Owner: the one thread.
 */
#pragma once

#include "client/cli/top/model.h"

#define LEAT_TOP_ROWS_MAX    1000
#define LEAT_TOP_COLUMNS_MAX 1000
#define LEAT_TOP_ROWS_MIN    3
#define LEAT_TOP_COLUMNS_MIN 10

enum leat_top_pane { LEAT_TOP_STREAMS, LEAT_TOP_STAGES, LEAT_TOP_TRAINERS, LEAT_TOP_N_PANES };

enum leat_top_key {
    LEAT_TOP_KEY_NONE, /* means nothing, or is not whole yet */
    LEAT_TOP_KEY_UP,
    LEAT_TOP_KEY_DOWN,
    LEAT_TOP_KEY_PAGE_UP,
    LEAT_TOP_KEY_PAGE_DOWN,
    LEAT_TOP_KEY_NEXT, /* tab, right */
    LEAT_TOP_KEY_PREVIOUS,
    LEAT_TOP_KEY_SORT,
    LEAT_TOP_KEY_HELP,
    LEAT_TOP_KEY_QUIT,
    LEAT_TOP_KEY_STOP, /* ^Z */
    LEAT_TOP_KEY_REDRAW,
};

/* The user's choices. */
struct leat_top_view {
    size_t n_rows, n_columns;
    bool has_colour, shows_help;
    bool is_whole;           /* all lines, however many there are: to be printed */
    enum leat_top_pane pane; /* that keys go to */
    unsigned order[LEAT_TOP_N_PANES];
    size_t first[LEAT_TOP_N_PANES]; /* line that is shown first */
    char stream[256];               /* whose stages are shown; "": the first */
    size_t nth;                     /* of those of that name */
    const char *notice;             /* on the last line; NULL: the keys */
};

struct leat_top_picture {
    size_t n_lines, n_allocated;
    struct leat_text *lines; /* without an end of line */
    struct leat_text lost;   /* those that there was no memory for */
};

/* Sorts the model as the view says. The picture is to be given back. */
void leat_top_view_draw(struct leat_top_view *view, struct leat_top_model *model,
                        struct leat_top_picture *ret_picture);
void leat_top_picture_deinit(struct leat_top_picture *picture);

/* The stream that is chosen; one that is gone is the last of its name, or the first of all. NULL:
 * there is none. */
struct leat_top_stream *leat_top_view_chosen(const struct leat_top_view *view,
                                             const struct leat_top_model *model);
void leat_top_view_choose(struct leat_top_view *view, const struct leat_top_stream *stream);

/* A byte of the keyboard; *state is 0 at first, and keeps what came of an escape sequence. */
enum leat_top_key leat_top_key_take(unsigned *state, unsigned char byte);
/* Handles a key; the model is the one that was drawn last. */
void leat_top_view_take(struct leat_top_view *view, const struct leat_top_model *model,
                        enum leat_top_key key);
