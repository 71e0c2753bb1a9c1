/* grid.h: rows of cells in columns of one width, with two blanks between them. Owner: the one
 * thread. */
#pragma once

#include "proto/base/text.h"

#define LEAT_CLI_GRID_COLUMNS_MAX 24

struct leat_cli_grid {
    size_t n_columns, n_cells;
    int indent;             /* blanks before a row */
    bool is_left;           /* all columns are to the left; else the first one, the others right */
    struct leat_text cells; /* row by row, each as it is shown and terminated */
};

/* Rows are indented by two. n_columns is at most LEAT_CLI_GRID_COLUMNS_MAX. */
void leat_cli_grid_init(struct leat_cli_grid *grid, size_t n_columns);
/* Adds the next cell; its text is shown as proto/base/shown.h says. */
void leat_cli_grid_add(struct leat_cli_grid *grid, const char *text);
/* Adds the rows to the text, which fails if the grid ran out of memory; frees the cells. */
void leat_cli_grid_print(struct leat_cli_grid *grid, struct leat_text *text);
