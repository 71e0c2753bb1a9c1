/* output.h: what goes to a terminal, a file or a pipe: whole texts, tables, and colours where they
 * are seen. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "proto/base/error.h"
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

/* How leatctl ends: its exit status, and errors for programs. */
enum {
    LEAT_CLI_OK = 0,
    LEAT_CLI_FAILURE = 1,   /* the command failed; `check` found errors */
    LEAT_CLI_USAGE = 2,     /* the command line makes no sense */
    LEAT_CLI_DATA = 3,      /* a configuration or data file is wrong, and the error says where */
    LEAT_CLI_NO_DAEMON = 4, /* no daemon was reached */
    LEAT_CLI_NO_RIGHT = 5,  /* the daemon or its socket refuses this user */
    LEAT_CLI_INTERRUPTED = 130, /* SIGINT or SIGTERM */
};

/* The table explains each status for help and reference; it ends with a NULL text. */
struct leat_cli_exit {
    int status;
    const char *text;
};
extern const struct leat_cli_exit leat_cli_exits[];

/* LEAT_CLI_DATA if the error has a place in a file or configuration, else LEAT_CLI_FAILURE. */
int leat_cli_error_status(const struct leat_error *err);
/* {"code": -2, "file": .., "line": .., "column": .., "path": .., "message": .., "text": ..} */
void leat_cli_error_json(struct leat_text *json, const struct leat_error *err);
