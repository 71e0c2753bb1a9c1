/* grid.h: cells of text in columns of one width: the first to the left, the others to the right.
 * Owner: the one thread.
 */
#pragma once

#include "proto/base/text.h"

#define LEAT_CLI_GRID_CELL_MAX    160
#define LEAT_CLI_GRID_COLUMNS_MAX 24

struct leat_cli_grid {
    size_t n_columns, n_cells, capacity;
    char (*cells)[LEAT_CLI_GRID_CELL_MAX]; /* row by row */
    bool failed;                           /* memory ran out: rows are missing */
};

/* n_columns at most LEAT_CLI_GRID_COLUMNS_MAX. */
void leat_cli_grid_init(struct leat_cli_grid *grid, size_t n_columns);
/* The next cell, as it is shown (proto/base/shown.h); longer ones are cut. */
void leat_cli_grid_add(struct leat_cli_grid *grid, const char *text);
/* Prints the rows, two blanks before each column, and frees. */
void leat_cli_grid_print(struct leat_cli_grid *grid, struct leat_text *text);
