/* arguments.h: the command line, by tables: a command declares its options once; parsing, --help
 * and usage errors follow. Owner: the one thread.
 *
 * All options of all commands write into one struct, so that an option means the same everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli/base/exit_status.h"
#include "proto/base/error.h"
#include "proto/base/text.h"

enum leat_cli_format { LEAT_CLI_TEXT, LEAT_CLI_JSON, LEAT_CLI_JSONL };

struct leat_cli_number {
    bool is_given;
    uint64_t value;
};

/* Of an option that may be given several times. */
#define LEAT_CLI_STRINGS_MAX 64
struct leat_cli_strings {
    const char *items[LEAT_CLI_STRINGS_MAX];
    size_t n_items;
};

#define LEAT_CLI_MORE_MAX 256

struct leat_cli_command;

struct leat_cli_arguments {
    const struct leat_cli_command *const *commands; /* all that there are; ends with NULL */
    const char *operand;                            /* FILE, STREAM, NAME; NULL: not given */
    bool is_file;                                   /* of an operand FILE|STREAM: it is a FILE */
    const char *stream; /* of FILE [STREAM], or --stream; NULL: not given */
    const char *after;
    struct leat_cli_number epochs, batches, workers, rank, world_size, seed, window, records,
        timeout, seconds, reconnect, epoch, step, row;
    unsigned delivery;       /* enum leat_delivery */
    unsigned format;         /* enum leat_cli_format */
    unsigned save_format;    /* enum leat_save_format */
    unsigned drawing;        /* enum leat_explain_format */
    unsigned metrics_format; /* 0: openmetrics, 1: prometheus */
    bool measure, no_measure;
    unsigned reference; /* of `stages`: 0: text, 1: json, 2: markdown */
    bool json, digest, no_daemon, no_fuse, stats, users, trainers;
    bool jsonl, special, skip_special, offsets, type_ids;
    const char *shard, *output, *socket;
    const char *position, *save_position;
    bool accept_changes;
    bool all, compress;
    struct leat_cli_strings vary, keys, shards;
    struct leat_cli_number repeat;
    unsigned goal; /* index of its choices */
    const char *find, *save;
    const char *compare;
    bool watch, check, once, no_progress, secrets;
    struct leat_cli_number interval, updates, pid;
    const char *user, *reason, *room, *since;
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
    bool is_of_file;            /* an error with a STREAM of the daemon */
    const char *help;
};

#define LEAT_CLI_AT(member) offsetof(struct leat_cli_arguments, member)
#define LEAT_CLI_OPTION_END                                                                        \
    { .name = NULL }

enum leat_cli_group {
    LEAT_CLI_GROUP_DATA,
    LEAT_CLI_GROUP_RUN,
    LEAT_CLI_GROUP_DAEMON,
    LEAT_CLI_GROUP_CACHES,
    LEAT_CLI_GROUP_TOKENIZERS,
    LEAT_CLI_GROUP_LEATCTL,
    LEAT_CLI_N_GROUPS
};

struct leat_cli_command {
    enum leat_cli_group group; /* under which help lists it */
    const char *name;          /* "run", "cache ls" */
    const char *summary;       /* one line */
    const char *description;   /* what it does, how it is read; may be NULL */
    /* "FILE", "[STREAM]"; "FILE|STREAM": told apart by leat_cli_parse(); NULL: none */
    const char *operand;
    const char *more;                      /* "[STREAM]", "[WORD...]"; NULL: none */
    bool asks_daemon;                      /* takes --socket */
    const char *examples;                  /* lines */
    const struct leat_cli_option *options; /* ends with a NULL name */
    /* An exit status; if err is set, it is printed. */
    int (*run)(const struct leat_cli_arguments *arguments, struct leat_error *err);
};

extern const struct leat_cli_option leat_cli_no_options[]; /* of a command without */
/* Options of every command; --socket only of those that ask the daemon. */
extern const struct leat_cli_option leat_cli_global_options[];
bool leat_cli_has_option(const struct leat_cli_command *command,
                         const struct leat_cli_option *global);

/* Of "--name", with those that all have, or "-n"; NULL: the command has none of that name. */
const struct leat_cli_option *leat_cli_find_option(const struct leat_cli_command *command,
                                                   const char *word, size_t n_bytes);
/* How many of the words are such options, before the command. */
size_t leat_cli_count_leading(const char *const *words, size_t n_words);

/* Parses the words of a command line without the command's name. 0, or LEAT_CLI_USAGE with err
 * set; true in *ret_wants_help for --help. */
int leat_cli_parse(const struct leat_cli_command *command, int argc, char **argv,
                   struct leat_cli_arguments *ret_arguments, bool *ret_wants_help,
                   struct leat_error *err);

/* Usage, description, operands, options, examples, exit status; coloured: for a terminal. */
void leat_cli_help(const struct leat_cli_command *command, bool is_coloured,
                   struct leat_text *text);
