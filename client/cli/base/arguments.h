/* arguments.h: the command line by tables. A command declares its options once; parsing, --help and
 * usage errors follow. Owner: the one thread.
 *
 * All options of all commands write into one struct, so that an option means the same everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli/base/output.h"
#include "proto/base/error.h"
#include "proto/base/text.h"

enum leat_cli_format { LEAT_CLI_TEXT, LEAT_CLI_JSON, LEAT_CLI_JSONL };

struct leat_cli_number {
    bool is_given;
    uint64_t value;
};

/* The values of an option that may be given several times. */
#define LEAT_CLI_STRINGS_MAX 64
struct leat_cli_strings {
    const char *items[LEAT_CLI_STRINGS_MAX];
    size_t n_items;
};

#define LEAT_CLI_MORE_MAX 256

struct leat_cli_command;

struct leat_cli_arguments {
    const struct leat_cli_command *const *commands; /* all commands; ends with NULL */
    const char *operand;                            /* FILE, STREAM, NAME; NULL: not given */
    bool is_file;                                   /* an operand FILE|STREAM is a FILE */
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
    const char *shard, *output, *socket, *ranks;
    const char *position, *save_position;
    bool accept_changes;
    bool all, compress, seal;
    struct leat_cli_strings vary, keys, shards;
    struct leat_cli_number repeat;
    unsigned job;  /* of `prepare`; 0: none */
    unsigned goal; /* index of its choices */
    const char *find, *save;
    const char *compare;
    bool watch, check, once, no_progress, secrets;
    struct leat_cli_number interval, updates, pid;
    const char *user, *reason, *room, *since;
    const char *more[LEAT_CLI_MORE_MAX]; /* operands after the first */
    size_t n_more;
};

enum leat_cli_option_kind {
    LEAT_CLI_FLAG,   /* bool */
    LEAT_CLI_NUMBER, /* struct leat_cli_number, min..max */
    LEAT_CLI_STRING, /* const char * */
    LEAT_CLI_CHOICE, /* unsigned: the index */
    LEAT_CLI_LIST,   /* struct leat_cli_strings: appends */
};

struct leat_cli_option {
    const char *name; /* "epochs": --epochs */
    char letter;      /* 'n': -n; 0: none */
    enum leat_cli_option_kind kind;
    size_t offset;     /* in struct leat_cli_arguments */
    const char *value; /* its name in the help */
    uint64_t min, max;
    const char *const *choices; /* NULL-terminated */
    bool is_of_file;            /* an error if the operand is a STREAM of the daemon */
    const char *help;
};

#define LEAT_CLI_AT(member) offsetof(struct leat_cli_arguments, member)
/* A row of a table of options; the other fields follow the help as `.value = "N"`. */
#define LEAT_CLI_OPTION(kind_, name_, member, help_, ...)                                          \
    {                                                                                              \
        .name = (name_), .kind = LEAT_CLI_##kind_, .offset = LEAT_CLI_AT(member), .help = (help_), \
        ##__VA_ARGS__                                                                              \
    }
#define LEAT_CLI_OPTION_END                                                                        \
    { .name = NULL }

/* ---- options that several commands have ---- */

extern const char *const leat_cli_deliveries[]; /* NULL-terminated */

#define LEAT_CLI_OPTION_WORKERS                                                                    \
    LEAT_CLI_OPTION(NUMBER, "workers", workers,                                                    \
                    "number of worker threads (default: as in the file)", .value = "N", .min = 1,  \
                    .max = 1024, .is_of_file = true)
#define LEAT_CLI_OPTION_NO_PROGRESS                                                                \
    LEAT_CLI_OPTION(FLAG, "no-progress", no_progress, "do not show progress on a terminal",        \
                    .letter = 'q')
#define LEAT_CLI_OPTION_NO_FUSE                                                                    \
    LEAT_CLI_OPTION(FLAG, "no-fuse", no_fuse,                                                      \
                    "run each per-record stage as a separate job, to measure the gain of "         \
                    "fusing; batches stay the same, but leat is slower",                           \
                    .is_of_file = true)
#define LEAT_CLI_OPTION_DELIVERY                                                                   \
    LEAT_CLI_OPTION(CHOICE, "delivery", delivery,                                                  \
                    "deliver batches through shared memory, or as copies", .value = "HOW",         \
                    .choices = leat_cli_deliveries)
/* Which batches of a stream are pulled. */
#define LEAT_CLI_OPTIONS_CHOOSING                                                                  \
    LEAT_CLI_OPTION(NUMBER, "epochs", epochs, "number of epochs to pull (default 1; 0: no limit)", \
                    .value = "N", .max = UINT64_MAX),                                              \
        LEAT_CLI_OPTION(NUMBER, "batches", batches, "stop after N batches", .value = "N",          \
                        .min = 1, .max = UINT64_MAX),                                              \
        LEAT_CLI_OPTION(NUMBER, "rank", rank,                                                      \
                        "pull the steps of this rank (default: from the launcher)", .value = "R",  \
                        .max = UINT32_MAX - 1),                                                    \
        LEAT_CLI_OPTION(NUMBER, "world-size", world_size,                                          \
                        "number of ranks (default: from the launcher, else 1)", .value = "W",      \
                        .min = 1, .max = UINT32_MAX),                                              \
        LEAT_CLI_OPTION(NUMBER, "seed", seed, "use this seed instead of the stream's own seed",    \
                        .value = "N", .max = UINT64_MAX),                                          \
        LEAT_CLI_OPTION(STRING, "position", position,                                              \
                        "start at this position, with its seed; the command fails if spec or "     \
                        "data have changed",                                                       \
                        .value = "TEXT|@FILE"),                                                    \
        LEAT_CLI_OPTION(FLAG, "accept-changes", accept_changes,                                    \
                        "start at --position even if spec or data have changed")

/* ---- commands ---- */

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
    enum leat_cli_group group; /* of the list in the help */
    const char *name;          /* "run", "cache ls" */
    const char *summary;       /* one line */
    const char *description;   /* may be NULL */
    /* "FILE", "[STREAM]"; "FILE|STREAM": leat_cli_parse() sets is_file; NULL: none */
    const char *operand;
    const char *more;                      /* "[STREAM]", "[WORD...]"; NULL: none */
    bool asks_daemon;                      /* takes --socket */
    const char *examples;                  /* lines */
    const struct leat_cli_option *options; /* ends with a NULL name */
    /* An exit status; if err is set, it is printed. */
    int (*run)(const struct leat_cli_arguments *arguments, struct leat_error *err);
};

extern const struct leat_cli_option leat_cli_no_options[]; /* for a command without options */
/* Options of every command; --socket only of those that ask the daemon. */
extern const struct leat_cli_option leat_cli_global_options[];
bool leat_cli_has_option(const struct leat_cli_command *command,
                         const struct leat_cli_option *global);

/* Finds "--name", also among the global options, or "-n". NULL: the command has no such option. */
const struct leat_cli_option *leat_cli_find_option(const struct leat_cli_command *command,
                                                   const char *word, size_t n_bytes);
/* Counts the words of global options before the command. */
size_t leat_cli_count_leading(const char *const *words, size_t n_words);

/* Parses the words after the command's name. 0, or LEAT_CLI_USAGE with err set; for --help
 * *ret_wants_help is true. */
int leat_cli_parse(const struct leat_cli_command *command, int argc, char **argv,
                   struct leat_cli_arguments *ret_arguments, bool *ret_wants_help,
                   struct leat_error *err);

/* Adds usage, description, options, examples and exit statuses. */
void leat_cli_help(const struct leat_cli_command *command, bool is_coloured,
                   struct leat_text *text);
/* True if an operand FILE|STREAM is a file: it exists, or its name looks like one. */
bool leat_cli_is_stream_file(const char *operand);
