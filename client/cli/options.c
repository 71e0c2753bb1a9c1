/* options.c: options of the commands that look at files, and of those that ask the daemon. */
#include "client/cli/options.h"

static const char *const drawings[] = {"text", "json", "dot", "svg", NULL};
static const char *const references[] = {"text", "json", "markdown", NULL};

const struct leat_cli_option leat_cli_head_options[] = {
    {.name = "records",
     .letter = 'n',
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(records),
     .value = "N",
     .min = 1,
     .max = 1000000,
     .help = "how many records (default 3)"},
    {.name = "after",
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(after),
     .value = "STAGE",
     .help = "`source`, a stage's name, `pad[2]` for the second of that name, or its index from 0 "
             "(default: the last)"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_describe_options[] = {
    {.name = "records",
     .letter = 'n',
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(records),
     .value = "N",
     .min = 1,
     .max = UINT64_MAX,
     .help = "only the first N records (default: all)"},
    {.name = "after",
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(after),
     .value = "STAGE",
     .help = "with what there is after that stage, as for `head` (default: the last)"},
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_explain_options[] = {
    LEAT_CLI_OPTION_WORKERS,
    {.name = "format",
     .kind = LEAT_CLI_CHOICE,
     .offset = LEAT_CLI_AT(drawing),
     .value = "F",
     .choices = drawings,
     .help = "what is printed: dot is for graphviz, svg a picture"},
    LEAT_CLI_OPTION_NO_FUSE,
    {.name = "measure",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(measure),
     .is_of_file = true,
     .help = "try the stream even if it has an `exec`, which starts its programs"},
    {.name = "no-measure",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(no_measure),
     .is_of_file = true,
     .help = "read no data but its head, and predict no times"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_stages_options[] = {
    {.name = "format",
     .kind = LEAT_CLI_CHOICE,
     .offset = LEAT_CLI_AT(reference),
     .value = "F",
     .choices = references,
     .help = "what is printed: markdown is the reference page"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_encode_options[] = {
    {.name = "special",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(special),
     .help = "with the special tokens that it puts around texts"},
    {.name = "offsets",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(offsets),
     .help = "JSON, with where each token starts and ends in its text, in characters"},
    {.name = "type-ids",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(type_ids),
     .help = "JSON, with which of two texts each token belongs to"},
    {.name = "jsonl",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(jsonl),
     .help = "a line is {\"t\": text}; \"pair\", \"special\", \"off\" and \"type_ids\" as wanted"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_decode_options[] = {
    {.name = "skip-special",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(skip_special),
     .help = "without special tokens"},
    {.name = "jsonl",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(jsonl),
     .help = "a line is {\"ids\": [ids]}; \"skip_special\" as wanted"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_no_options[] = {LEAT_CLI_OPTION_END};
#define KEY                                                                                        \
    {                                                                                              \
        .name = "key", .kind = LEAT_CLI_LIST, .offset = LEAT_CLI_AT(keys), .value = "KEY",         \
        .help = "only the cache whose key begins so; may be given several times"                   \
    }
const struct leat_cli_option leat_cli_cache_options[] = {KEY, LEAT_CLI_OPTION_END};
const struct leat_cli_option leat_cli_cache_verify_options[] = {KEY, LEAT_CLI_OPTION_NO_PROGRESS,
                                                                LEAT_CLI_OPTION_END};
const struct leat_cli_option leat_cli_cache_rm_options[] = {
    KEY,
    {.name = "all",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(all),
     .help = "all that are not in use"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_cache_merge_options[] = {
    {.name = "shards",
     .kind = LEAT_CLI_LIST,
     .offset = LEAT_CLI_AT(shards),
     .value = "PATH",
     .help = "a folder of shards, or one of them; may be given several times"},
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_cache_warm_options[] = {
    LEAT_CLI_OPTION_WORKERS, LEAT_CLI_OPTION_NO_PROGRESS, LEAT_CLI_OPTION_END};
const struct leat_cli_option leat_cli_cache_prepare_options[] = {
    {.name = "shard",
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(shard),
     .value = "I/N",
     .help = "which of N parts of about as many bytes, I from 0"},
    {.name = "output",
     .letter = 'o',
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(output),
     .value = "DIR",
     .help = "the folder that the shard goes to"},
    LEAT_CLI_OPTION_WORKERS,
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_spec_options[] = {
    {.name = "secrets",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(secrets),
     .help = "with the values of exec's environment, which are hidden else"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_reload_options[] = {
    {.name = "check",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(check),
     .help = "only say what would happen, or what is wrong"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_why_options[] = {
    {.name = "seconds",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(seconds),
     .value = "S",
     .min = 1,
     .max = 30,
     .help = "how long to look back (default 10)"},
    LEAT_CLI_OPTION_END,
};
const struct leat_cli_option leat_cli_drain_options[] = {
    {.name = "timeout",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(timeout),
     .value = "S",
     .max = 86400,
     .help = "seconds after which the daemon stops all the same (default 30)"},
    LEAT_CLI_OPTION_END,
};
static const char *const metrics_formats[] = {"openmetrics", "prometheus", NULL};
const struct leat_cli_option leat_cli_metrics_options[] = {
    {.name = "format",
     .kind = LEAT_CLI_CHOICE,
     .offset = LEAT_CLI_AT(metrics_format),
     .value = "F",
     .choices = metrics_formats,
     .help = "OpenMetrics 1.0, or Prometheus' text format 0.0.4 (default: openmetrics)"},
    LEAT_CLI_OPTION_END,
};
