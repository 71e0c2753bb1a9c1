/* options.h: options that several commands have. */
#pragma once

#include "client/cli/base/arguments.h"

extern const char *const leat_cli_deliveries[]; /* NULL-terminated */

#define LEAT_CLI_OPTION_WORKERS                                                                    \
    {                                                                                              \
        .name = "workers", .kind = LEAT_CLI_NUMBER, .offset = LEAT_CLI_AT(workers), .value = "N",  \
        .min = 1, .max = 1024, .is_of_file = true,                                                 \
        .help = "worker threads (default: as the file says)"                                       \
    }
#define LEAT_CLI_OPTION_NO_PROGRESS                                                                \
    {                                                                                              \
        .name = "no-progress", .letter = 'q', .kind = LEAT_CLI_FLAG,                               \
        .offset = LEAT_CLI_AT(no_progress), .help = "do not tell a terminal how far it has come"   \
    }
#define LEAT_CLI_OPTION_NO_FUSE                                                                    \
    {                                                                                              \
        .name = "no-fuse", .kind = LEAT_CLI_FLAG, .offset = LEAT_CLI_AT(no_fuse),                  \
        .is_of_file = true,                                                                        \
        .help = "each per-record stage is a job of its own: slower, with the same batches"         \
    }
#define LEAT_CLI_OPTION_DELIVERY                                                                   \
    {                                                                                              \
        .name = "delivery", .kind = LEAT_CLI_CHOICE, .offset = LEAT_CLI_AT(delivery),              \
        .value = "HOW", .choices = leat_cli_deliveries,                                            \
        .help = "shared memory, or copies through the socket"                                      \
    }
/* Which batches of a stream. */
#define LEAT_CLI_OPTIONS_CHOOSING                                                                  \
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
