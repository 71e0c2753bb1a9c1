/* output.h: what goes to a terminal, a file or a pipe: whole texts, tables, and colours where they
 * are seen. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "proto/base/text.h"

/* Writes the text to the standard output, or to the file, and frees it. */
void leat_cli_print(struct leat_text *text);
void leat_cli_print_to(struct leat_text *text, FILE *file);

/* True if a text so far that was not for the standard error was incomplete, as memory ran out while
 * it was made. */
bool leat_cli_print_failed(void);

bool leat_cli_terminal_is(FILE *file);
/* True if the file is a terminal that may be coloured ($NO_COLOR, $TERM). */
bool leat_cli_terminal_has_colour(FILE *file);
/* True if standard input and output are one terminal that can be drawn on. */
bool leat_cli_terminal_has_screen(void);

enum leat_cli_colour { LEAT_CLI_PLAIN, LEAT_CLI_BOLD, LEAT_CLI_RED };

/* The sequence that switches to the colour (ECMA-48, "Select Graphic Rendition"); "" if nothing is
 * coloured. */
const char *leat_cli_colour(bool is_coloured, enum leat_cli_colour colour);

/* Rows of cells in columns of one width, with two blanks between them. Owner: the one
 * thread. */
#define LEAT_CLI_GRID_COLUMNS_MAX 24

struct leat_cli_grid {
    size_t n_columns, n_cells;
    int indent;             /* blanks before a row */
    bool is_left;           /* all columns are to the left; else the first one, the others right */
    struct leat_text cells; /* row by row, each as it is shown and terminated */
};

/* Rows are indented by two. n_columns is at most LEAT_CLI_GRID_COLUMNS_MAX. */
void leat_cli_grid_init(struct leat_cli_grid *grid, size_t n_columns);
/* Adds the next cell; its text is shown as leat_show() does. */
void leat_cli_grid_add(struct leat_cli_grid *grid, const char *text);
/* Adds the rows to the text, which fails if the grid ran out of memory; frees the cells. */
void leat_cli_grid_print(struct leat_cli_grid *grid, struct leat_text *text);
