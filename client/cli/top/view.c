/* view.c: see view.h. Three tables below a head: their columns are tables here. What does
 * not fit is cut at the right, so the columns that matter most come first. On a low screen only the
 * table that keys go to is shown. */
#include "client/cli/top/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "client/cli/base/units.h"

#define CELL_MAX     96
#define BAR_WIDTH    10
#define HEAD_ROWS    3
#define LINES_FIRST  64 /* of a picture; twice as many when they are full */
#define ALL_ROWS_MIN 16 /* from so many on all three tables are shown */

#define INVERSE "\033[7m"
#define BOLD    "\033[1m"
#define CYAN    "\033[36m"
#define NORMAL  "\033[0m"

/* ---- a line ---- */

struct line {
    struct leat_text *text;
    size_t n, max; /* columns */
};

/* The next character: its columns, and how long it is. What cannot be shown is 0 columns wide. */
static int next_character(const char *value, size_t *ret_n_bytes) {
    mbstate_t state = {0};
    wchar_t character;
    size_t n = mbrtowc(&character, value, strlen(value), &state);

    *ret_n_bytes = n == 0 || n > 16 ? 1 : n;
    return n == 0 || n > 16 || wcwidth(character) <= 0 ? 0 : wcwidth(character);
}

/* Cut at the end of the line; what cannot be shown is a question mark. */
static void add(struct line *line, const char *value) {
    while (*value && line->n < line->max) {
        size_t n_bytes;
        int n = next_character(value, &n_bytes);

        if (line->n + (size_t)(n > 0 ? n : 1) > line->max)
            return;
        leat_text_add_bytes(line->text, n > 0 ? value : "?", n > 0 ? n_bytes : 1);
        line->n += (size_t)(n > 0 ? n : 1);
        value += n_bytes;
    }
}

static void add_blanks(struct line *line, size_t n) {
    for (; n > 0 && line->n < line->max; n--, line->n++)
        leat_text_add_bytes(line->text, " ", 1);
}

static void add_mark(struct line *line, const char *mark) {
    leat_text_add_bytes(line->text, mark, strlen(mark));
}

static void add_cell(struct line *line, const char *value, size_t width, bool is_left) {
    size_t n = strlen(value), start = line->n, max = line->max;

    if (!is_left)
        add_blanks(line, n < width ? width - n : 0);
    if (start + width < max)
        line->max = start + width;
    add(line, value);
    add_blanks(line, line->max - line->n);
    line->max = max;
}

static struct leat_text *next_line(struct leat_top_picture *picture) {
    size_t n = picture->n_allocated ? 2 * picture->n_allocated : LINES_FIRST;
    struct leat_text *lines;

    if (picture->n_lines == picture->n_allocated) {
        lines = realloc(picture->lines, n * sizeof(*lines));
        if (!lines)
            return &picture->lost;
        picture->lines = lines;
        picture->n_allocated = n;
    }
    picture->lines[picture->n_lines] = (struct leat_text){.data = NULL};
    return &picture->lines[picture->n_lines++];
}

/* To be filled before the next one. */
static struct line begin(struct leat_top_picture *picture, const struct leat_top_view *view) {
    return (struct line){.text = next_line(picture), .max = view->n_columns};
}

/* ---- cells ---- */

static void put_rate(double value, char *cell) {
    static const char *const units[] = {"", "k", "M", "G", "T"};
    size_t unit = 0;

    for (; value >= 9999.5 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
        value /= 1000;
    (void)snprintf(cell, CELL_MAX, value < 99.95 ? "%.1f%s" : "%.0f%s", value, units[unit]);
}

static void put_bar(double share, char *cell) {
    int n = (int)(share * BAR_WIDTH + 0.5);

    (void)snprintf(cell, CELL_MAX, "[%.*s%.*s]%4.0f%%", n, "##########", BAR_WIDTH - n,
                   "          ", 100 * share);
}

/* ---- tables ---- */

enum column_kind { TEXT, RATE, BYTES_RATE, BAR, TOTAL, NUMBER, PAIR, TIME };

struct column {
    const char *title;
    size_t width; /* 0: of a bar */
    enum column_kind kind;
    size_t offset; /* in a row: of a text, a double, a uint64_t or two of these */
};

#define SHARE         BAR
#define TRAINER_SHARE BAR

static const struct column stream_columns[] = {
    {"stream", 16, TEXT, offsetof(struct leat_top_stream, name)},
#define IN_USE PAIR
#define LEAT_TOP_COLUMN(upper, title, width, how, member, key)                                     \
    {title, width, how,                                                                            \
     how == PAIR ? offsetof(struct leat_top_stream, slots)                                         \
                 : offsetof(struct leat_top_stream, values[LEAT_TOP_COLUMN_##upper])},
#include "pipeline/run/profile/figures.def"
    {.title = NULL},
};

#define STAGE(member) offsetof(struct leat_top_stage, member)
static const struct column stage_columns[] = {
    {"stages", 24, TEXT, STAGE(name)},       {"used", 0, BAR, STAGE(used)},
    {"threads", 7, RATE, STAGE(threads)},    {"records/s", 9, RATE, STAGE(records_rate)},
    {"half below", 10, TIME, STAGE(p50_ns)}, {"errors", 6, NUMBER, STAGE(n_errors)},
    {"role", 11, TEXT, STAGE(role)},         {.title = NULL},
};

#define TRAINER(member) offsetof(struct leat_top_trainer, member)
static const struct column trainer_columns[] = {
    {"trainer of", 16, TEXT, TRAINER(stream)},
    {"pid", 7, NUMBER, TRAINER(pid)},
    {"waits", 0, BAR, TRAINER(waits)},
    {"batches/s", 9, RATE, TRAINER(batch_rate)},
    {"epoch", 5, NUMBER, TRAINER(epoch)},
    {"step", 9, NUMBER, TRAINER(step)},
    {"rank", 7, PAIR, TRAINER(rank)},
    {"holds all", 0, BAR, TRAINER(holds)},
    {"uid", 6, NUMBER, TRAINER(uid)},
    {"client", 24, TEXT, TRAINER(client)},
    {.title = NULL},
};

static size_t width_of(const struct column *column) {
    return column->kind == BAR ? BAR_WIDTH + 7 : column->width;
}

static bool is_left(const struct column *column) {
    return column->kind == TEXT || column->kind == BAR;
}

static void put_cell(const struct column *column, const void *row, char *cell) {
    const void *at = (const char *)row + column->offset;
    const uint64_t *numbers = at;
    char unit[LEAT_CLI_UNIT_MAX];

    switch (column->kind) {
    case TEXT:
        (void)snprintf(cell, CELL_MAX, "%.*s", CELL_MAX - 1, *(const char *const *)at);
        return;
    case RATE:
        put_rate(*(const double *)at, cell);
        return;
    case BYTES_RATE:
        (void)snprintf(cell, CELL_MAX, "%s", leat_cli_bytes((uint64_t) * (const double *)at, unit));
        return;
    case BAR:
        put_bar(*(const double *)at, cell);
        return;
    case TOTAL:
        (void)snprintf(cell, CELL_MAX, "%.0f", *(const double *)at);
        return;
    case NUMBER:
        (void)snprintf(cell, CELL_MAX, "%" PRIu64, numbers[0]);
        return;
    case PAIR:
        (void)snprintf(cell, CELL_MAX, "%" PRIu64 "/%" PRIu64, numbers[0], numbers[1]);
        return;
    case TIME:
        (void)snprintf(cell, CELL_MAX, "%s", leat_cli_duration(numbers[0], unit));
        return;
    }
}

static const struct column *const pane_columns[] = {stream_columns, stage_columns, trainer_columns};
static const char *const orders[LEAT_TOP_N_PANES][3] = {
    {"by name", "by batches/s", "by waiting"},
    {"by order", "by use", ""},
    {"by waiting", "by stream", "by batches/s"},
};

/* The rows of a table, all of one size. */
struct rows {
    const char *items;
    size_t n, size;
    size_t selected; /* SIZE_MAX: none */
};

static struct rows rows_of(const struct leat_top_view *view, const struct leat_top_model *model,
                           enum leat_top_pane pane) {
    const struct leat_top_stream *stream = leat_top_view_chosen(view, model);

    if (pane == LEAT_TOP_STREAMS)
        return (struct rows){
            .items = (const char *)model->streams,
            .n = model->n_streams,
            .size = sizeof(*model->streams),
            .selected = stream && !view->is_whole ? (size_t)(stream - model->streams) : SIZE_MAX};
    if (pane == LEAT_TOP_TRAINERS)
        return (struct rows){.items = (const char *)model->trainers,
                             .n = model->n_trainers,
                             .size = sizeof(*model->trainers),
                             .selected = SIZE_MAX};
    return (struct rows){.items = stream ? (const char *)stream->stages : NULL,
                         .n = stream ? stream->n_stages : 0,
                         .size = sizeof(struct leat_top_stage),
                         .selected = SIZE_MAX};
}

static void draw_titles(struct leat_top_view *view, const struct leat_top_model *model,
                        enum leat_top_pane pane, struct leat_top_picture *picture) {
    const struct leat_top_stream *stream = leat_top_view_chosen(view, model);
    bool is_chosen = pane == view->pane && !view->is_whole;
    struct line line = begin(picture, view);
    char first[CELL_MAX];

    (void)snprintf(first, sizeof(first), pane == LEAT_TOP_STAGES && stream ? "%s of %s" : "%s",
                   pane_columns[pane][0].title, stream ? stream->name : "");
    add_mark(&line, view->is_whole ? "" : is_chosen ? INVERSE BOLD : BOLD);
    for (const struct column *column = pane_columns[pane]; column->title; column++) {
        add_cell(&line, column == pane_columns[pane] ? first : column->title, width_of(column),
                 is_left(column));
        add_blanks(&line, 1);
    }
    add_blanks(&line, is_chosen ? line.max : 0);
    add_mark(&line, view->is_whole ? "" : NORMAL);
}

static void draw_row(const struct leat_top_view *view, const struct column *columns,
                     const void *row, bool is_selected, struct leat_top_picture *picture) {
    struct line line = begin(picture, view);
    char cell[CELL_MAX];

    add_mark(&line, is_selected ? INVERSE : "");
    for (const struct column *column = columns; column->title; column++) {
        bool has_colour = column->kind == BAR && view->has_colour && !is_selected;

        put_cell(column, row, cell);
        add_mark(&line, has_colour ? CYAN : "");
        add_cell(&line, cell, width_of(column), is_left(column));
        add_mark(&line, has_colour ? NORMAL : "");
        add_blanks(&line, 1);
    }
    add_mark(&line, is_selected ? NORMAL : "");
}

/* n_rows: with the title. */
static void draw_table(struct leat_top_view *view, const struct leat_top_model *model,
                       enum leat_top_pane pane, size_t n_rows, struct leat_top_picture *picture) {
    struct rows rows = rows_of(view, model, pane);
    size_t *first = &view->first[pane];
    size_t n_shown = n_rows > 0 ? n_rows - 1 : 0;

    if (n_rows == 0)
        return;
    draw_titles(view, model, pane, picture);
    if (rows.selected != SIZE_MAX && rows.selected < *first)
        *first = rows.selected;
    if (rows.selected != SIZE_MAX && n_shown > 0 && rows.selected >= *first + n_shown)
        *first = rows.selected - n_shown + 1;
    if (*first + n_shown > rows.n)
        *first = rows.n > n_shown ? rows.n - n_shown : 0;
    for (size_t i = *first; i < rows.n && i < *first + n_shown; i++)
        draw_row(view, pane_columns[pane], rows.items + i * rows.size, i == rows.selected, picture);
}

/* ---- the head ---- */

static void draw_who(struct leat_top_view *view, const struct leat_top_model *model,
                     struct leat_top_picture *picture) {
    struct line line = begin(picture, view);
    const Leat__StatusReply *status = model->status;
    char text[256], up[LEAT_CLI_UNIT_MAX];

    if (!status)
        return;
    (void)snprintf(
        text, sizeof(text), "leatd %.32s  %u trainers, %u streams, %u workers, up %s%s%s",
        status->version, status->n_sessions, status->n_streams, status->n_workers,
        leat_cli_duration(status->uptime_ns, up), status->is_draining ? "  DRAINING" : "",
        status->n_stalled ? "  STALLED (leatctl streams)" : "");
    add(&line, text);
}

static void add_gauge(const struct leat_top_view *view, struct line *line, const char *name,
                      double share) {
    char bar[CELL_MAX];

    put_bar(share > 1 ? 1 : share, bar);
    add(line, name);
    add_mark(line, view->has_colour ? CYAN : "");
    add(line, bar);
    add_mark(line, view->has_colour ? NORMAL : "");
}

static void draw_processors(struct leat_top_view *view, const struct leat_top_model *model,
                            struct leat_top_picture *picture) {
    struct line line = begin(picture, view);
    double n_workers = model->status && model->status->n_workers ? model->status->n_workers : 1;
    char text[128];

    add_gauge(view, &line, "workers ", model->workers / n_workers);
    (void)snprintf(text, sizeof(text), "  CPUs %.2f  ", model->cpus);
    add(&line, text);
    add_gauge(view, &line, "loop ", model->loop);
}

static void draw_memory(struct leat_top_view *view, const struct leat_top_model *model,
                        struct leat_top_picture *picture) {
    char used[LEAT_CLI_UNIT_MAX], limit[LEAT_CLI_UNIT_MAX], rings[LEAT_CLI_UNIT_MAX], text[200];
    struct line line = begin(picture, view);
    const Leat__StatusReply *status = model->status;

    if (!status)
        return;
    if (status->memory_limit_bytes > 0) {
        add_gauge(view, &line, "memory  ",
                  (double)status->memory_used_bytes / (double)status->memory_limit_bytes);
        (void)snprintf(text, sizeof(text), "  %s of %s",
                       leat_cli_bytes(status->memory_used_bytes, used),
                       leat_cli_bytes(status->memory_limit_bytes, limit));
    } else {
        (void)snprintf(text, sizeof(text), "memory  %s", leat_cli_bytes(status->rss_bytes, used));
    }
    add(&line, text);
    (void)snprintf(text, sizeof(text), "  rings %s  slots free %u/%u",
                   leat_cli_bytes(status->ring_bytes, rings), status->n_slots_free,
                   status->n_slots);
    add(&line, text);
}

/* ---- the whole ---- */

static void draw_help(const struct leat_top_view *view, struct leat_top_picture *picture) {
    static const char *const help[] = {
        "tab          next table: streams, stages of a stream, trainers",
        "up, down     choose a stream; scroll the other tables",
        "s            change the sort order",
        "q            quit",
        "?            back",
        "",
        "used           how busy the threads of the stage are",
        "trainers wait  fraction of time without a ready batch: leat is too slow",
        "no slot free   fraction of time without a free slot: trainers are too slow",
        "in use         slots that hold a batch, of all slots",
        "holds all      fraction of time at the trainer's batch limit",
        "To see what limits a stream, run `leatctl why STREAM`.",
    };

    for (size_t i = 0; i < sizeof(help) / sizeof(*help) && picture->n_lines + 1 < view->n_rows;
         i++) {
        struct line line = begin(picture, view);

        add(&line, help[i]);
    }
}

static void draw_keys(const struct leat_top_view *view, struct leat_top_picture *picture) {
    struct line line;
    char keys[128];

    for (size_t n = picture->n_lines; n + 1 < view->n_rows; n++)
        (void)begin(picture, view);
    line = begin(picture, view);
    (void)snprintf(keys, sizeof(keys), "q quit  ? help  tab table  arrows choose  s sort (now: %s)",
                   orders[view->pane][view->order[view->pane]]);
    add(&line, view->notice ? view->notice : keys);
}

/* The room for the tables behind this one: as much as its own, if they need it. */
static size_t reserve(const struct leat_top_view *view, const struct leat_top_model *model,
                      unsigned pane, size_t n_rows) {
    size_t n_part = n_rows / (LEAT_TOP_N_PANES - pane), n = 0;

    for (unsigned later = pane + 1; later < LEAT_TOP_N_PANES; later++) {
        size_t n_wanted = rows_of(view, model, later).n + 2;

        n += n_wanted < n_part ? n_wanted : n_part;
    }
    return n;
}

/* Rows for each table: what it wants, if there is room. */
static void draw_three(struct leat_top_view *view, const struct leat_top_model *model,
                       size_t n_rows, struct leat_top_picture *picture) {
    for (unsigned pane = 0; pane < LEAT_TOP_N_PANES; pane++) {
        size_t n_left = n_rows - reserve(view, model, pane, n_rows);
        size_t n_wanted = rows_of(view, model, pane).n + 2; /* a title, an empty row */
        size_t n = n_wanted < n_left ? n_wanted : n_left;

        draw_table(view, model, pane, n_wanted <= n_left ? n - 1 : n, picture);
        if (n_wanted <= n_left)
            (void)begin(picture, view);
        n_rows -= n;
    }
}

static void draw_whole(struct leat_top_view *view, const struct leat_top_model *model,
                       struct leat_top_picture *picture) {
    struct leat_top_view first = *view;

    draw_table(view, model, LEAT_TOP_STREAMS, model->n_streams + 1, picture);
    for (size_t i = 0; i < model->n_streams; i++) {
        (void)begin(picture, view);
        leat_top_view_choose(view, &model->streams[i]);
        leat_top_model_sort_stages(&model->streams[i], view->order[LEAT_TOP_STAGES]);
        draw_table(view, model, LEAT_TOP_STAGES, model->streams[i].n_stages + 1, picture);
    }
    (void)begin(picture, view);
    draw_table(view, model, LEAT_TOP_TRAINERS, model->n_trainers + 1, picture);
    *view = first;
}

static void bound_size(struct leat_top_view *view) {
    if (view->n_rows > LEAT_TOP_ROWS_MAX)
        view->n_rows = LEAT_TOP_ROWS_MAX;
    if (view->n_rows < LEAT_TOP_ROWS_MIN)
        view->n_rows = LEAT_TOP_ROWS_MIN;
    if (view->n_columns > LEAT_TOP_COLUMNS_MAX)
        view->n_columns = LEAT_TOP_COLUMNS_MAX;
    if (view->n_columns < LEAT_TOP_COLUMNS_MIN)
        view->n_columns = LEAT_TOP_COLUMNS_MIN;
}

static void draw_panes(struct leat_top_view *view, struct leat_top_model *model,
                       struct leat_top_picture *picture) {
    struct leat_top_stream *stream = leat_top_view_chosen(view, model);
    size_t n_rows = view->n_rows - 1 > picture->n_lines ? view->n_rows - 1 - picture->n_lines : 0;

    if (stream)
        leat_top_model_sort_stages(stream, view->order[LEAT_TOP_STAGES]);
    if (view->n_rows >= ALL_ROWS_MIN)
        draw_three(view, model, n_rows, picture);
    else
        draw_table(view, model, view->pane, n_rows, picture);
}

void leat_top_view_draw(struct leat_top_view *view, struct leat_top_model *model,
                        struct leat_top_picture *ret_picture) {
    *ret_picture = (struct leat_top_picture){.n_lines = 0};
    bound_size(view);
    leat_top_model_sort_streams(model, view->order[LEAT_TOP_STREAMS]);
    leat_top_model_sort_trainers(model, view->order[LEAT_TOP_TRAINERS]);
    draw_who(view, model, ret_picture);
    if (view->is_whole || view->n_rows > HEAD_ROWS + 3) {
        draw_processors(view, model, ret_picture);
        draw_memory(view, model, ret_picture);
    }
    if (view->is_whole) {
        (void)begin(ret_picture, view);
        draw_whole(view, model, ret_picture);
        return;
    }
    if (view->shows_help)
        draw_help(view, ret_picture);
    else
        draw_panes(view, model, ret_picture);
    draw_keys(view, ret_picture);
}

void leat_top_picture_deinit(struct leat_top_picture *picture) {
    for (size_t i = 0; i < picture->n_lines; i++)
        free(picture->lines[i].data);
    free(picture->lines);
    free(picture->lost.data);
    *picture = (struct leat_top_picture){.n_lines = 0};
}
