/* options.h: the options of the commands, as tables, and those that several of them have. */
#pragma once

#include "client/cli/base/arguments.h"

/* of `stages --format` */
#define LEAT_CLI_REFERENCE_MARKDOWN 2

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
/* Each ends with a NULL name. */
extern const struct leat_cli_option leat_cli_run_options[];
extern const struct leat_cli_option leat_cli_pull_options[];
extern const struct leat_cli_option leat_cli_dump_options[];
extern const struct leat_cli_option leat_cli_bench_options[];
extern const struct leat_cli_option leat_cli_head_options[];
extern const struct leat_cli_option leat_cli_describe_options[];
extern const struct leat_cli_option leat_cli_explain_options[];
extern const struct leat_cli_option leat_cli_stages_options[];
extern const struct leat_cli_option leat_cli_encode_options[];
extern const struct leat_cli_option leat_cli_decode_options[];
extern const struct leat_cli_option leat_cli_cache_options[];
extern const struct leat_cli_option leat_cli_cache_verify_options[];
extern const struct leat_cli_option leat_cli_cache_merge_options[];
extern const struct leat_cli_option leat_cli_cache_rm_options[];
extern const struct leat_cli_option leat_cli_no_options[];
extern const struct leat_cli_option leat_cli_spec_options[];
extern const struct leat_cli_option leat_cli_cache_warm_options[];
extern const struct leat_cli_option leat_cli_cache_prepare_options[];
extern const struct leat_cli_option leat_cli_trace_options[];
extern const struct leat_cli_option leat_cli_drain_options[];
extern const struct leat_cli_option leat_cli_reload_options[];
extern const struct leat_cli_option leat_cli_why_options[];
extern const struct leat_cli_option leat_cli_where_options[];
extern const struct leat_cli_option leat_cli_stats_options[];
extern const struct leat_cli_option leat_cli_top_options[];
extern const struct leat_cli_option leat_cli_kick_options[];
extern const struct leat_cli_option leat_cli_log_level_options[];
extern const struct leat_cli_option leat_cli_metrics_options[];
extern const struct leat_cli_option leat_cli_streams_options[];
