/* arguments.h: the command line, by tables: a command declares its options once; parsing, --help
 * and usage errors follow. Owner: the one thread.
 *
 * All options of all commands write into one struct, so that an option means the same everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/plan/render.h"
#include "proto/base/error.h"

enum {
    LEAT_CLI_OK = 0,
    LEAT_CLI_FAILURE = 1,       /* it did not work; `check` found errors */
    LEAT_CLI_USAGE = 2,         /* the command line makes no sense */
    LEAT_CLI_DATA = 3,          /* a configuration or data file is wrong, at a place that is told */
    LEAT_CLI_UNREACHABLE = 4,   /* no daemon, or no right to talk to it */
    LEAT_CLI_INTERRUPTED = 130, /* SIGINT or SIGTERM */
};

/* What each of these means, for help and reference; ends with a NULL text. */
struct leat_cli_exit {
    int status;
    const char *text;
};
extern const struct leat_cli_exit leat_cli_exits[];

enum leat_cli_format { LEAT_CLI_TEXT, LEAT_CLI_JSON, LEAT_CLI_JSONL };

struct leat_cli_number {
    bool is_given;
    uint64_t value;
};

/* Of an option that may be given several times. */
#define LEAT_CLI_STRINGS_MAX 16
struct leat_cli_strings {
    const char *items[LEAT_CLI_STRINGS_MAX];
    size_t n_items;
};

#define LEAT_CLI_MORE_MAX 256

struct leat_cli_arguments {
    const char *operand; /* FILE, STREAM, NAME; NULL: not given */
    const char *stream, *after, *tokenizer;
    struct leat_cli_number epochs, batches, workers, rank, world_size, seed, window, records,
        timeout, seconds, reconnect, epoch, step, row;
    unsigned delivery;       /* enum leat_delivery */
    unsigned format;         /* enum leat_cli_format */
    unsigned save_format;    /* enum leat_save_format */
    unsigned drawing;        /* enum leat_explain_format */
    unsigned metrics_format; /* 0: openmetrics, 1: prometheus */
    bool dot, svg, measure, no_measure;
    bool json, digest, no_daemon, no_fuse, markdown, stats;
    bool jsonl, special, skip_special, offsets, type_ids;
    const char *shard, *output, *socket;
    const char *position, *save_position;
    bool accept_changes;
    bool all, compress;
    struct leat_cli_strings vary;
    struct leat_cli_number repeat;
    const char *goal, *find, *save;
    bool compare, watch, check, wait, once, no_progress;
    struct leat_cli_number interval, updates, pid;
    const char *user, *reason, *room;
    const char *more[LEAT_CLI_MORE_MAX]; /* operands behind the first */
    size_t n_more;
};

enum leat_cli_option_kind {
    LEAT_CLI_FLAG,   /* bool */
    LEAT_CLI_NUMBER, /* struct leat_cli_number, min..max */
    LEAT_CLI_STRING, /* const char * */
    LEAT_CLI_CHOICE, /* unsigned: the index */
    LEAT_CLI_LIST,   /* struct leat_cli_strings: one more each time */
};

struct leat_cli_option {
    const char *name; /* "epochs": --epochs */
    char letter;      /* 'n': -n; 0: none */
    enum leat_cli_option_kind kind;
    size_t offset;     /* in struct leat_cli_arguments */
    const char *value; /* what the help calls it */
    uint64_t min, max;
    const char *const *choices; /* NULL-terminated */
    const char *help;
};

struct leat_cli_command {
    const char *name;                      /* "run", "cache ls" */
    const char *summary;                   /* one line */
    const char *description;               /* what it does, how it is read; may be NULL */
    const char *operand;                   /* "FILE", "[STREAM]", NULL: none */
    const char *more;                      /* "KEY...": further operands; NULL: none */
    const char *examples;                  /* lines */
    const struct leat_cli_option *options; /* ends with a NULL name */
    /* An exit status; if err is set, it is printed. */
    int (*run)(const struct leat_cli_arguments *arguments, struct leat_error *err);
};

/* Parses what follows the command's name. 0, or LEAT_CLI_USAGE with err set; 1 in *ret_wants_help
 * for --help. */
int leat_cli_parse(const struct leat_cli_command *command, int argc, char **argv,
                   struct leat_cli_arguments *ret_arguments, bool *ret_wants_help,
                   struct leat_error *err);

/* Usage, description, operands, options, examples, exit status; coloured: for a terminal. */
void leat_cli_help(const struct leat_cli_command *command, bool is_coloured,
                   struct leat_text *text);
