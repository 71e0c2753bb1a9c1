#include "client/cli/base/grid.h"

#include <stdlib.h>
#include <string.h>

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
    text->failed |= grid->cells.failed;
    free(grid->cells.data);
    *grid = (struct leat_cli_grid){.n_columns = grid->n_columns, .indent = grid->indent};
}
