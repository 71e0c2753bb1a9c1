/* build.c: `leatctl cache warm`, `leatctl cache prepare`, `leatctl cache merge`: caches
 * without trainers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/base/error_json.h"
#include "client/cli/base/members.h"
#include "client/cli/base/options.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/base/units.h"
#include "client/cli/cache/build_run.h"
#include "pipeline/cache/merge.h"

static double ratio(uint64_t a, uint64_t b) {
    return b > 0 ? (double)a / (double)b : 0;
}

static void print_built_json(const struct leat_cli_built *built, const char *folder) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "{\"folder\": ");
    leat_text_add_json(&text, folder, strlen(folder));
    leat_text_add(
        &text,
        ", \"file\": \"%s\", \"is_complete\": %s, \"n_blocks\": %llu, \"n_records\": "
        "%llu, \"n_rows\": %llu, \"n_bytes\": %llu, \"n_source_bytes\": %llu, "
        "\"n_built_records\": %llu, \"n_bad_records\": %llu, \"elapsed_ns\": %llu}\n",
        built->name, built->is_complete ? "true" : "false", (unsigned long long)built->n_blocks,
        (unsigned long long)built->n_records, (unsigned long long)built->n_rows,
        (unsigned long long)built->n_bytes, (unsigned long long)built->stats.n_cache_total_bytes,
        (unsigned long long)built->stats.n_source_records,
        (unsigned long long)built->stats.n_bad_records, (unsigned long long)built->elapsed_ns);
    if (text.data)
        (void)fwrite(text.data, 1, text.n_bytes, stdout);
    free(text.data);
}

static void print_built(const struct leat_cli_built *built, const char *folder) {
    char count[LEAT_CLI_UNIT_MAX], bytes[LEAT_CLI_UNIT_MAX], source[LEAT_CLI_UNIT_MAX];
    char made[LEAT_CLI_UNIT_MAX], time[LEAT_CLI_UNIT_MAX];

    struct leat_text text = {.data = NULL};

    leat_text_add_line(&text, "%s/%s: %s", folder, built->name,
                       built->is_complete ? "complete" : "not complete");
    leat_cli_print(&text);
    printf("  %s records, %s of %s (%.2f)\n", leat_cli_count(built->n_records, count),
           leat_cli_bytes(built->n_bytes, bytes),
           leat_cli_bytes(built->stats.n_cache_total_bytes, source),
           ratio(built->n_bytes, built->stats.n_cache_total_bytes));
    if (built->stats.n_source_records == 0)
        printf("  was there before\n");
    else
        printf("  %s of them made now, in %s (%.0f records/s)\n",
               leat_cli_count(built->stats.n_source_records, made),
               leat_cli_duration(built->elapsed_ns, time),
               ratio(built->stats.n_source_records * 1000000, built->elapsed_ns / 1000));
    if (built->stats.n_bad_records > 0)
        printf("  %s bad records\n", leat_cli_count(built->stats.n_bad_records, made));
}

static int build(struct leat_plan *plan, const struct leat_run_options *options,
                 const struct leat_cli_arguments *arguments, struct leat_error *err) {
    const char *folder = options->cache_folder ? options->cache_folder : plan->cache_path;
    struct leat_cli_built built;
    int r = leat_cli_build(plan, options, (uint32_t)arguments->workers.value,
                           arguments->no_progress, &built, err);

    if (r < 0) /* without a file it is not the data, but what is written, such as a full disk */
        return r == -EINTR ? LEAT_CLI_INTERRUPTED : err->file[0] ? LEAT_CLI_DATA : LEAT_CLI_FAILURE;
    if (arguments->json)
        print_built_json(&built, folder);
    else
        print_built(&built, folder);
    return LEAT_CLI_OK;
}

/* ---- a plan with a cache ---- */

/* A stream without `cache` can be prepared all the same: the plan must know that it is to be kept.
 */
static int add_option(struct leat_spec *spec, const char *folder) {
    struct leat_value *cache, *path;
    int r = leat_value_insert(&spec->options, "cache", &cache);

    if (r == -EEXIST)
        return 0;
    if (r == 0)
        r = leat_value_insert(cache, "path", &path);
    return r == 0 ? leat_value_set_text(path, folder, true) : r;
}

static int make_plan(const struct leat_spec *spec, const char *folder, struct leat_plan **ret_plan,
                     struct leat_error *err) {
    struct leat_spec *copy = NULL;
    int r = leat_spec_copy(spec, &copy);

    if (r == 0 && folder)
        r = add_option(copy, folder);
    if (r == 0)
        r = leat_plan_new(copy, &leat_opener_operator, ret_plan, err);
    else
        leat_error_oom(err);
    leat_spec_free(copy);
    if (r < 0 || (*ret_plan)->cache_path)
        return r;
    leat_plan_unref(*ret_plan);
    *ret_plan = NULL;
    leat_error_set(err, -EINVAL, "has no `cache`: {path: FOLDER}");
    leat_error_prefix(err, "streams.%s", spec->name);
    leat_error_locate(err, spec->file, spec->line, spec->column);
    return -EINVAL;
}

/* The stream of the command line, planned; `folder` NULL: it must say where its cache is. */
static struct leat_plan *open_plan(const struct leat_cli_arguments *arguments, const char *folder,
                                   struct leat_error *err) {
    struct leat_cli_streams streams;
    const struct leat_spec *spec = NULL;
    struct leat_plan *plan = NULL;

    if (leat_cli_streams_load(arguments->operand, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    if (spec)
        (void)make_plan(spec, folder, &plan, err);
    leat_cli_streams_deinit(&streams);
    return plan;
}

/* ---- commands ---- */

static int cache_warm_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_run_options options = {.only_builds = true};
    struct leat_plan *plan = open_plan(arguments, NULL, err);
    int status;

    if (!plan)
        return leat_cli_error_status(err);
    status = build(plan, &options, arguments, err);
    leat_plan_unref(plan);
    return status;
}

/* "i/n" */
static int parse_shard(const char *text, struct leat_run_options *options, struct leat_error *err) {
    const char *slash = strchr(text, '/');
    int64_t i = -1, n = 0;

    if (slash && leat_parse_int(text, (size_t)(slash - text), &i) == 0 &&
        leat_parse_int(slash + 1, strlen(slash + 1), &n) == 0 && n >= 2 &&
        n <= LEAT_CACHE_SHARDS_MAX && i >= 0 && i < n) {
        options->shard = (uint32_t)i;
        options->n_shards = (uint32_t)n;
        return 0;
    }
    return leat_error_set(
        err, -EINVAL,
        "leatctl cache prepare: --shard: \"%.32s\" is not i/n, with n in 2..%d and i "
        "in 0..n-1, as 0/8 to 7/8",
        text, LEAT_CACHE_SHARDS_MAX);
}

static int prepare(const struct leat_cli_arguments *arguments, struct leat_run_options *options,
                   struct leat_error *err) {
    char *folder = NULL;
    struct leat_plan *plan = NULL;
    int status;

    if ((mkdir(arguments->output, 0777) < 0 && errno != EEXIST) ||
        !(folder = realpath(arguments->output, NULL))) {
        leat_error_set(err, -errno, "%s: %s", arguments->output, strerror(errno));
        return LEAT_CLI_FAILURE;
    }
    options->cache_folder = folder;
    plan = open_plan(arguments, folder, err);
    status = plan ? build(plan, options, arguments, err) : leat_cli_error_status(err);
    leat_plan_unref(plan);
    free(folder);
    return status;
}

static int cache_prepare_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_run_options options = {.only_builds = true};

    if (!arguments->output) {
        leat_error_set(err, -EINVAL,
                       "leatctl cache prepare: -o DIR is missing (leatctl cache prepare --help)");
        return LEAT_CLI_USAGE;
    }
    if (!arguments->shard) {
        leat_error_set(
            err, -EINVAL,
            "leatctl cache prepare: --shard I/N is missing; `leatctl cache warm` builds a "
            "cache at once");
        return LEAT_CLI_USAGE;
    }
    if (parse_shard(arguments->shard, &options, err) < 0)
        return LEAT_CLI_USAGE;
    return prepare(arguments, &options, err);
}

static void print_merged(const struct leat_cache_merged *merged, const char *folder, bool as_json) {
    char count[LEAT_CLI_UNIT_MAX], bytes[LEAT_CLI_UNIT_MAX];
    struct leat_text text = {.data = NULL};

    if (!as_json) {
        leat_text_add_line(&text, "%s/%s: %s", folder, merged->name,
                           merged->was_there ? "was there before" : "complete");
        leat_text_add(&text, "  %s records, %s\n", leat_cli_count(merged->n_records, count),
                      leat_cli_bytes(merged->n_bytes, bytes));
        leat_cli_print(&text);
        return;
    }
    leat_text_add(&text, "{\"folder\": ");
    leat_text_add_json(&text, folder, strlen(folder));
    leat_text_add(&text,
                  ", \"file\": \"%s\", \"was_there\": %s, \"n_blocks\": %llu, \"n_records\": %llu, "
                  "\"n_rows\": %llu, \"n_bytes\": %llu}\n",
                  merged->name, merged->was_there ? "true" : "false",
                  (unsigned long long)merged->n_frames, (unsigned long long)merged->n_records,
                  (unsigned long long)merged->n_rows, (unsigned long long)merged->n_bytes);
    if (text.data)
        (void)fwrite(text.data, 1, text.n_bytes, stdout);
    free(text.data);
}

static void on_merged(void *user, uint64_t n_done_bytes, uint64_t n_total_bytes) {
    leat_cli_progress_show(user, n_done_bytes, n_total_bytes, "");
}

static int cache_merge_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_cli_progress progress;
    struct leat_cache_merge_watch watch = {.on_progress = on_merged, .user = &progress};
    struct leat_cache_merged merged;
    struct leat_plan *plan;
    int r;

    if (arguments->shards.n_items == 0) {
        leat_error_set(err, -EINVAL,
                       "leatctl cache merge: --shards is missing: the folder of the shards");
        return LEAT_CLI_USAGE;
    }
    plan = open_plan(arguments, NULL, err);
    if (!plan)
        return leat_cli_error_status(err);
    leat_cli_progress_begin(&progress, LEAT_PROGRESS_BYTES, arguments->no_progress);
    r = leat_cache_merge(plan, &leat_opener_operator, plan->cache_path, arguments->shards.items,
                         arguments->shards.n_items, &watch, &merged, err);
    leat_cli_progress_hide(&progress);
    if (r == 0)
        print_merged(&merged, plan->cache_path, arguments->json);
    leat_plan_unref(plan);
    return r < 0 ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}

static const struct leat_cli_option cache_warm_options[] = {
    LEAT_CLI_OPTION_WORKERS, LEAT_CLI_OPTION_NO_PROGRESS, LEAT_CLI_OPTION_END};

const struct leat_cli_command leat_cli_cache_warm_command = {
    .name = "cache warm",
    .group = LEAT_CLI_GROUP_CACHES,
    .summary = "build the cache of a stream without a trainer",
    .description = "Runs source and per-record stages in this process. What an earlier one began "
                   "is gone on with; what\nis complete is left as it is.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl cache warm train.yaml --workers 8\n",
    .options = cache_warm_options,
    .run = cache_warm_main,
};

static const struct leat_cli_option cache_prepare_options[] = {
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

const struct leat_cli_command leat_cli_cache_prepare_command = {
    .name = "cache prepare",
    .group = LEAT_CLI_GROUP_CACHES,
    .summary = "build one of several shards of a stream's cache",
    .description =
        "For batch jobs, on any machine that has the data. The shards are parts of about "
        "as many bytes of all files,\none behind the other, cut at blocks. `leatctl "
        "cache merge` joins them.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl cache prepare train.yaml --shard $SLURM_ARRAY_TASK_ID/64 -o shards/\n",
    .options = cache_prepare_options,
    .run = cache_prepare_main,
};

static const struct leat_cli_option cache_merge_options[] = {
    {.name = "shards",
     .kind = LEAT_CLI_LIST,
     .offset = LEAT_CLI_AT(shards),
     .value = "PATH",
     .help = "a folder of shards, or one of them; may be given several times"},
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_cache_merge_command = {
    .name = "cache merge",
    .group = LEAT_CLI_GROUP_CACHES,
    .summary = "join shards that were prepared apart to the cache of a stream",
    .description = "The shards may come from other machines: what counts is that they were made of "
                   "the same bytes, by the\nsame per-record stages. The result is the file that "
                   "`leatctl cache warm` makes.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl cache merge train.yaml --shards shards/\n",
    .options = cache_merge_options,
    .run = cache_merge_main,
};
