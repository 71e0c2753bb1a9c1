/* grid.c: see grid.h. */
#include "client/cli/base/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/shown.h"

void leat_cli_grid_init(struct leat_cli_grid *grid, size_t n_columns) {
    *grid = (struct leat_cli_grid){.n_columns = n_columns};
}

static bool grow(struct leat_cli_grid *grid) {
    size_t capacity = grid->capacity ? 2 * grid->capacity : 64;
    void *cells = reallocarray(grid->cells, capacity, sizeof(*grid->cells));

    if (!cells)
        return false;
    grid->cells = cells;
    grid->capacity = capacity;
    return true;
}

void leat_cli_grid_add(struct leat_cli_grid *grid, const char *text) {
    if (grid->failed || (grid->n_cells == grid->capacity && !grow(grid))) {
        grid->failed = true;
        return;
    }
    (void)leat_show(grid->cells[grid->n_cells++], sizeof(grid->cells[0]), text);
}

static void print_row(const struct leat_cli_grid *grid, size_t first, const int *widths,
                      struct leat_text *text) {
    for (size_t c = 0; c < grid->n_columns; c++)
        leat_text_add(text, c ? "  %*s" : "  %-*s", widths[c], grid->cells[first + c]);
    while (text->n_bytes > 0 && text->data[text->n_bytes - 1] == ' ')
        text->n_bytes--;
    leat_text_add(text, "\n");
}

void leat_cli_grid_print(struct leat_cli_grid *grid, struct leat_text *text) {
    int widths[LEAT_CLI_GRID_COLUMNS_MAX] = {0};
    size_t n_rows = grid->n_cells / grid->n_columns;

    for (size_t i = 0; i < n_rows * grid->n_columns; i++) {
        int n = (int)strlen(grid->cells[i]);

        if (n > widths[i % grid->n_columns])
            widths[i % grid->n_columns] = n;
    }
    for (size_t i = 0; i < n_rows; i++)
        print_row(grid, i * grid->n_columns, widths, text);
    free(grid->cells);
    *grid = (struct leat_cli_grid){.n_columns = grid->n_columns};
}
