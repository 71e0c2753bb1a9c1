/* keys.c: see view.h: keys of a terminal (ECMA-48: ESC [ parameters final, or ESC O final),
 * and what they change of the view. */
#include <stdio.h>
#include <string.h>

#include "client/cli/top/view.h"

#define ESCAPE 0x1b
#define PAGE   10

/* The values of *state: which byte of an escape sequence comes next. */
enum { START, AFTER_ESCAPE, IN_SEQUENCE, AFTER_5, AFTER_6, AFTER_OTHER };

static enum leat_top_key final_key(unsigned state, unsigned char byte) {
    if (byte == '~')
        return state == AFTER_5   ? LEAT_TOP_KEY_PAGE_UP
               : state == AFTER_6 ? LEAT_TOP_KEY_PAGE_DOWN
                                  : LEAT_TOP_KEY_NONE;
    switch (byte) {
    case 'A':
        return LEAT_TOP_KEY_UP;
    case 'B':
        return LEAT_TOP_KEY_DOWN;
    case 'C':
        return LEAT_TOP_KEY_NEXT;
    case 'D':
    case 'Z':
        return LEAT_TOP_KEY_PREVIOUS;
    default:
        return LEAT_TOP_KEY_NONE;
    }
}

static enum leat_top_key plain_key(unsigned char byte) {
    switch (byte) {
    case 'q':
    case 'Q':
    case 0x03:
        return LEAT_TOP_KEY_QUIT; /* ^C */
    case 's':
        return LEAT_TOP_KEY_SORT;
    case '?':
    case 'h':
        return LEAT_TOP_KEY_HELP;
    case '\t':
        return LEAT_TOP_KEY_NEXT;
    case 'k':
        return LEAT_TOP_KEY_UP;
    case 'j':
        return LEAT_TOP_KEY_DOWN;
    case 0x1a:
        return LEAT_TOP_KEY_STOP; /* ^Z */
    case 0x0c:
        return LEAT_TOP_KEY_REDRAW; /* ^L */
    default:
        return LEAT_TOP_KEY_NONE;
    }
}

enum leat_top_key leat_top_key_take(unsigned *state, unsigned char byte) {
    unsigned was = *state;

    if (byte == ESCAPE) {
        *state = AFTER_ESCAPE;
        return LEAT_TOP_KEY_NONE;
    }
    if (was == AFTER_ESCAPE && (byte == '[' || byte == 'O')) {
        *state = IN_SEQUENCE;
        return LEAT_TOP_KEY_NONE;
    }
    if (was >= IN_SEQUENCE && byte >= 0x20 && byte < 0x40) { /* parameters */
        *state = was != IN_SEQUENCE ? AFTER_OTHER
                 : byte == '5'      ? AFTER_5
                 : byte == '6'      ? AFTER_6
                                    : AFTER_OTHER;
        return LEAT_TOP_KEY_NONE;
    }
    *state = START;
    return was >= IN_SEQUENCE ? final_key(was, byte) : plain_key(byte);
}

/* ---- what they change ---- */

struct leat_top_stream *leat_top_view_chosen(const struct leat_top_view *view,
                                             const struct leat_top_model *model) {
    struct leat_top_stream *last = NULL;

    for (size_t i = 0; i < model->n_streams; i++) {
        struct leat_top_stream *stream = &model->streams[i];

        if (strcmp(stream->name, view->stream) != 0)
            continue;
        if (stream->nth == view->nth)
            return stream;
        last = !last || stream->nth > last->nth ? stream : last;
    }
    return last ? last : model->n_streams > 0 ? &model->streams[0] : NULL;
}

void leat_top_view_choose(struct leat_top_view *view, const struct leat_top_stream *stream) {
    (void)snprintf(view->stream, sizeof(view->stream), "%s", stream->name);
    view->nth = stream->nth;
}

static void choose_stream(struct leat_top_view *view, const struct leat_top_model *model,
                          long step) {
    long at, last = (long)model->n_streams - 1;

    if (last < 0)
        return;
    at = leat_top_view_chosen(view, model) - model->streams + step;
    leat_top_view_choose(view, &model->streams[at < 0 ? 0 : at > last ? last : at]);
    view->first[LEAT_TOP_STAGES] = 0;
}

static void move(struct leat_top_view *view, const struct leat_top_model *model, long step) {
    size_t *first = &view->first[view->pane];

    if (view->pane == LEAT_TOP_STREAMS)
        choose_stream(view, model, step);
    else if (step > 0)
        *first += (size_t)step; /* drawing keeps it within what there is */
    else
        *first -= *first < (size_t)-step ? *first : (size_t)-step;
}

static void take_shown(struct leat_top_view *view, const struct leat_top_model *model,
                       enum leat_top_key key) {
    static const unsigned n_orders[LEAT_TOP_N_PANES] = {3, 2, 3};

    switch (key) {
    case LEAT_TOP_KEY_UP:
        move(view, model, -1);
        break;
    case LEAT_TOP_KEY_DOWN:
        move(view, model, 1);
        break;
    case LEAT_TOP_KEY_PAGE_UP:
        move(view, model, -PAGE);
        break;
    case LEAT_TOP_KEY_PAGE_DOWN:
        move(view, model, PAGE);
        break;
    case LEAT_TOP_KEY_NEXT:
        view->pane = (view->pane + 1) % LEAT_TOP_N_PANES;
        break;
    case LEAT_TOP_KEY_PREVIOUS:
        view->pane = (view->pane + LEAT_TOP_N_PANES - 1) % LEAT_TOP_N_PANES;
        break;
    case LEAT_TOP_KEY_SORT:
        view->order[view->pane] = (view->order[view->pane] + 1) % n_orders[view->pane];
        break;
    default:
        break;
    }
}

void leat_top_view_take(struct leat_top_view *view, const struct leat_top_model *model,
                        enum leat_top_key key) {
    if (key == LEAT_TOP_KEY_HELP)
        view->shows_help = !view->shows_help;
    else if (view->shows_help && key != LEAT_TOP_KEY_NONE)
        view->shows_help = false;
    else
        take_shown(view, model, key);
}
