#include "client/cli/base/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/json_writer.h"

static bool is_incomplete;

void leat_cli_print_to(struct leat_text *text, FILE *file) {
    is_incomplete |= text->failed && file != stderr;
    if (text->data)
        (void)fwrite(text->data, 1, text->n_bytes, file);
    free(text->data);
    *text = (struct leat_text){.data = NULL};
}

void leat_cli_print(struct leat_text *text) {
    leat_cli_print_to(text, stdout);
}

bool leat_cli_print_failed(void) {
    return is_incomplete;
}

bool leat_cli_terminal_is(FILE *file) {
    return isatty(fileno(file)) == 1;
}

static bool is_dumb(void) {
    const char *term = getenv("TERM");

    return !term || !term[0] || strcmp(term, "dumb") == 0;
}

bool leat_cli_terminal_has_colour(FILE *file) {
    const char *no_colour = getenv("NO_COLOR");

    return leat_cli_terminal_is(file) && !is_dumb() && !(no_colour && no_colour[0]);
}

bool leat_cli_terminal_has_screen(void) {
    return leat_cli_terminal_is(stdin) && leat_cli_terminal_is(stdout) && !is_dumb();
}

const char *leat_cli_colour(bool is_coloured, enum leat_cli_colour colour) {
    static const char *const codes[] = {
        [LEAT_CLI_PLAIN] = "\033[0m",
        [LEAT_CLI_BOLD] = "\033[1m",
        [LEAT_CLI_RED] = "\033[1;31m",
    };

    return is_coloured ? codes[colour] : "";
}

/* ---- tables ---- */

void leat_cli_grid_init(struct leat_cli_grid *grid, size_t n_columns) {
    *grid = (struct leat_cli_grid){.n_columns = n_columns, .indent = 2};
}

void leat_cli_grid_add(struct leat_cli_grid *grid, const char *text) {
    leat_text_add_shown(&grid->cells, text);
    leat_text_add_bytes(&grid->cells, "", 1);
    grid->n_cells++;
}

/* Returns the first cell of the next row. */
static const char *print_row(const struct leat_cli_grid *grid, const char *cell, const int *widths,
                             struct leat_text *text) {
    for (size_t c = 0; c < grid->n_columns; c++) {
        bool is_left = c == 0 || grid->is_left;

        leat_text_add(text, "%*s%*s", c ? 2 : grid->indent, "", is_left ? -widths[c] : widths[c],
                      cell);
        cell += strlen(cell) + 1;
    }
    while (text->n_bytes > 0 && text->data[text->n_bytes - 1] == ' ')
        text->n_bytes--;
    leat_text_add(text, "\n");
    return cell;
}

void leat_cli_grid_print(struct leat_cli_grid *grid, struct leat_text *text) {
    int widths[LEAT_CLI_GRID_COLUMNS_MAX] = {0};
    size_t n_rows = grid->cells.failed ? 0 : grid->n_cells / grid->n_columns;
    const char *cell = grid->cells.data;

    for (size_t i = 0; i < n_rows * grid->n_columns; i++, cell += strlen(cell) + 1)
        if ((int)strlen(cell) > widths[i % grid->n_columns])
            widths[i % grid->n_columns] = (int)strlen(cell);
    cell = grid->cells.data;
    for (size_t i = 0; i < n_rows; i++)
        cell = print_row(grid, cell, widths, text);
    leat_text_end_part(text, &grid->cells);
    *grid = (struct leat_cli_grid){.n_columns = grid->n_columns, .indent = grid->indent};
}

/* ---- exit status ---- */

const struct leat_cli_exit leat_cli_exits[] = {
    {LEAT_CLI_OK, "ok"},
    {LEAT_CLI_FAILURE, "failure"},
    {LEAT_CLI_USAGE, "usage"},
    {LEAT_CLI_DATA, "a file has an error"},
    {LEAT_CLI_NO_DAEMON, "no daemon answers"},
    {LEAT_CLI_NO_RIGHT, "permission denied"},
    {LEAT_CLI_INTERRUPTED, "interrupted"},
    {0, NULL},
};

int leat_cli_error_status(const struct leat_error *err) {
    return err->file[0] || err->path[0] ? LEAT_CLI_DATA : LEAT_CLI_FAILURE;
}

void leat_cli_error_json(struct leat_text *json, const struct leat_error *err) {
    char line[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(err, line, sizeof(line));
    leat_json_open(json, "error", '{');
    leat_json_add_int(json, "code", err->code);
    leat_json_add_uint(json, "line", err->line);
    leat_json_add_uint(json, "column", err->column);
    leat_json_add_text(json, "file", err->file);
    leat_json_add_text(json, "path", err->path);
    leat_json_add_text(json, "message", err->message);
    leat_json_add_text(json, "text", line);
    leat_json_close(json, '}');
}
