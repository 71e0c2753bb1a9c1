/* options_pull.c: options of the commands that pull batches. */
#include "client/cli/bench/statistics.h"
#include "client/cli/options.h"

static const char *const deliveries[] = {"shared", "copy", NULL};
static const char *const formats[] = {"text", "json", "jsonl", NULL};
/* in the order of enum leat_save_format */
static const char *const save_formats[] = {"auto", "safetensors", "npz", "jsonl", NULL};

#define DELIVERY                                                                                   \
    {                                                                                              \
        .name = "delivery", .kind = LEAT_CLI_CHOICE, .offset = LEAT_CLI_AT(delivery),              \
        .value = "HOW", .choices = deliveries,                                                     \
        .help = "shared memory, or copies through the socket"                                      \
    }
/* Which batches of a stream. */
#define CHOOSING                                                                                   \
    {.name = "epochs",                                                                             \
     .kind = LEAT_CLI_NUMBER,                                                                      \
     .offset = LEAT_CLI_AT(epochs),                                                                \
     .value = "N",                                                                                 \
     .max = UINT64_MAX,                                                                            \
     .help = "epochs to pull (default 1; 0: without end)"},                                        \
        {.name = "batches",                                                                        \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = LEAT_CLI_AT(batches),                                                           \
         .value = "N",                                                                             \
         .min = 1,                                                                                 \
         .max = UINT64_MAX,                                                                        \
         .help = "stop after that many batches"},                                                  \
        {.name = "rank",                                                                           \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = LEAT_CLI_AT(rank),                                                              \
         .value = "R",                                                                             \
         .max = UINT32_MAX - 1,                                                                    \
         .help = "see the steps congruent to R modulo the world size (default: the launcher's)"},  \
        {.name = "world-size",                                                                     \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = LEAT_CLI_AT(world_size),                                                        \
         .value = "W",                                                                             \
         .min = 1,                                                                                 \
         .max = UINT32_MAX,                                                                        \
         .help = "number of ranks (default: the launcher's, or 1)"},                               \
        {.name = "seed",                                                                           \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = LEAT_CLI_AT(seed),                                                              \
         .value = "N",                                                                             \
         .max = UINT64_MAX,                                                                        \
         .help = "in place of the stream's own seed"},                                             \
        {.name = "position",                                                                       \
         .kind = LEAT_CLI_STRING,                                                                  \
         .offset = LEAT_CLI_AT(position),                                                          \
         .value = "TEXT|@FILE",                                                                    \
         .help = "go on there, with its seed; refused if spec or data have changed"},              \
    {                                                                                              \
        .name = "accept-changes", .kind = LEAT_CLI_FLAG, .offset = LEAT_CLI_AT(accept_changes),    \
        .help = "go on at --position all the same"                                                 \
    }
/* What `run` and `pull` have in common. */
#define PULLING                                                                                    \
    CHOOSING,                                                                                      \
        {.name = "save-position",                                                                  \
         .kind = LEAT_CLI_STRING,                                                                  \
         .offset = LEAT_CLI_AT(save_position),                                                     \
         .value = "FILE",                                                                          \
         .help = "where to go on, for --position, is written there at the end"},                   \
        {.name = "window",                                                                         \
         .kind = LEAT_CLI_NUMBER,                                                                  \
         .offset = LEAT_CLI_AT(window),                                                            \
         .value = "N",                                                                             \
         .min = 1,                                                                                 \
         .max = 4096,                                                                              \
         .help = "batches under way at once (default: the daemon's)"},                             \
        DELIVERY,                                                                                  \
        {.name = "digest",                                                                         \
         .kind = LEAT_CLI_FLAG,                                                                    \
         .offset = LEAT_CLI_AT(digest),                                                            \
         .help = "hash names, dtypes, shapes, bytes and order of all batches (BLAKE2b-256)"},      \
    {                                                                                              \
        .name = "format", .kind = LEAT_CLI_CHOICE, .offset = LEAT_CLI_AT(format), .value = "F",    \
        .choices = formats, .help = "what is printed"                                              \
    }

const struct leat_cli_option leat_cli_run_options[] = {
    LEAT_CLI_OPTION_WORKERS,
    PULLING,
    {.name = "no-daemon",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(no_daemon),
     .help = "run the pipeline in this process, on one thread"},
    LEAT_CLI_OPTION_NO_FUSE,
    {.name = "stats",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(stats),
     .help = "show what took the time: the stages as in `leatctl stats`"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_pull_options[] = {
    PULLING,
    {.name = "reconnect",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(reconnect),
     .value = "S",
     .max = 1000000,
     .help = "look for a daemon that is gone for so many seconds (default 60; 0: not at all)"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_dump_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(output),
     .value = "PATH",
     .help =
         "a folder, NAME.jsonl or, of one batch, NAME.safetensors or NAME.npz (default: JSONL is "
         "printed)"},
    {.name = "format",
     .kind = LEAT_CLI_CHOICE,
     .offset = LEAT_CLI_AT(save_format),
     .value = "F",
     .choices = save_formats,
     .help = "of files; auto: as PATH ends, in folders safetensors"},
    {.name = "compress",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(compress),
     .help = "deflate what is in .npz"},
    {.name = "epoch",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(epoch),
     .value = "E",
     .max = UINT64_MAX,
     .help = "begin there, from 0 (default 0)"},
    {.name = "step",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(step),
     .value = "S",
     .max = UINT64_MAX,
     .help = "begin there, from 0, over all ranks (default 0)"},
    CHOOSING,
    DELIVERY,
    LEAT_CLI_OPTION_WORKERS,
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_bench_options[] = {
    {.name = "vary",
     .kind = LEAT_CLI_LIST,
     .offset = LEAT_CLI_AT(vary),
     .value = "PATH=V1,V2,..",
     .help = "run with each of these values; several times: with all combinations"},
    {.name = "compare",
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(compare),
     .value = "FILE",
     .help = "compare it with that file, or a saved result (.json) with another"},
    {.name = "goal",
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(goal),
     .value = "WHAT",
     .help = "what is best: records (the default), tokens, batches, source, bytes, cpu, memory, "
             "first_batch, wall"},
    {.name = "find",
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(find),
     .value = "PATH[=LO..HI]",
     .help = "search the best value of a whole number, and the smallest within 5 % of it"},
    {.name = "seconds",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(seconds),
     .value = "N",
     .min = 1,
     .max = 86400,
     .help = "measure that long in each run (default 3)"},
    {.name = "batches",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(batches),
     .value = "N",
     .min = 1,
     .max = UINT32_MAX,
     .help = "or that many batches"},
    {.name = "epochs",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(epochs),
     .value = "N",
     .min = 1,
     .max = UINT32_MAX,
     .help = "or that many epochs, each from its first batch to its last"},
    {.name = "repeat",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(repeat),
     .value = "N",
     .min = 1,
     .max = LEAT_BENCH_REPEAT_MAX,
     .help = "runs of each configuration, in turns (default 3)"},
    {.name = "save",
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(save),
     .value = "FILE",
     .help = "save all figures of all runs, with machine and options, as --json prints them"},
    LEAT_CLI_OPTION_WORKERS,
    {.name = "window",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(window),
     .value = "N",
     .min = 1,
     .max = 4096,
     .help = "batches under way at once (default: the daemon's)"},
    DELIVERY,
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_trace_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(output),
     .value = "FILE",
     .help = "where the trace goes (default: trace.json; -: standard output)"},
    {.name = "seconds",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(seconds),
     .value = "S",
     .min = 1,
     .max = 86400,
     .help = "trace no longer than that (default: 10, if no number of batches is given)"},
    {.name = "batches",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(batches),
     .value = "N",
     .min = 1,
     .max = UINT64_MAX,
     .help = "stop after that many batches"},
    {.name = "epochs",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(epochs),
     .value = "N",
     .max = UINT64_MAX,
     .is_of_file = true,
     .help = "epochs to pull at most (default 1; 0: without end)"},
    LEAT_CLI_OPTION_WORKERS,
    LEAT_CLI_OPTION_NO_FUSE,
    LEAT_CLI_OPTION_END,
};
