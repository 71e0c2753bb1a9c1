/* build.c: `leatctl cache warm`, `prepare` and `merge`: caches are made without a trainer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/checkpoint.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/output.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/base/units.h"
#include "client/cli/cache/build_run.h"
#include "client/cli/cache/job.h"
#include "client/cli/cache/shard.h"
#include "pipeline/cache/index.h"
#include "pipeline/cache/merge.h"
#include "pipeline/cache/sealed.h"
#include "pipeline/cache/shards_index.h"
#include "proto/base/elsewhere.h"
#include "proto/base/json_writer.h"

static double ratio_of(uint64_t a, uint64_t b) {
    return b > 0 ? (double)a / (double)b : 0;
}

static void print_built_json(const struct leat_cli_built *built, const char *folder) {
    struct leat_text text = {.data = NULL};

    leat_json_open(&text, NULL, '{');
    leat_json_add_text(&text, "folder", folder);
    leat_json_add_text(&text, "file", built->name);
    leat_json_add_bool(&text, "is_complete", built->is_complete);
    leat_json_add_uint(&text, "n_blocks", built->n_blocks);
    leat_json_add_uint(&text, "n_records", built->n_records);
    leat_json_add_uint(&text, "n_rows", built->n_rows);
    leat_json_add_uint(&text, "n_bytes", built->n_bytes);
    leat_json_add_uint(&text, "n_source_bytes", built->stats.n_cache_total_bytes);
    leat_json_add_uint(&text, "n_built_records", built->stats.counts.figures.n_source_records);
    leat_json_add_uint(&text, "n_bad_records", built->stats.counts.figures.n_bad_records);
    leat_json_add_uint(&text, "elapsed_ns", built->elapsed_ns);
    leat_json_close(&text, '}');
    leat_text_add(&text, "\n");
    leat_cli_print(&text);
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
           ratio_of(built->n_bytes, built->stats.n_cache_total_bytes));
    if (built->stats.counts.figures.n_source_records == 0)
        printf("  it was already complete\n");
    else
        printf("  %s of them are new, made in %s (%.0f records/s)\n",
               leat_cli_count(built->stats.counts.figures.n_source_records, made),
               leat_cli_duration(built->elapsed_ns, time),
               ratio_of(built->stats.counts.figures.n_source_records * 1000000,
                        built->elapsed_ns / 1000));
    if (built->stats.counts.figures.n_bad_records > 0)
        printf("  %s bad records\n",
               leat_cli_count(built->stats.counts.figures.n_bad_records, made));
}

static int build_cache(struct leat_plan *plan, const struct leat_run_options *options,
                       const struct leat_cli_arguments *arguments, struct leat_error *err) {
    const char *folder = options->cache_folder ? options->cache_folder
                         : plan->cache_path    ? plan->cache_path
                                               : plan->index_path;
    struct leat_cli_built built;
    int r = leat_cli_build(plan, options, (uint32_t)arguments->workers.value,
                           arguments->no_progress, &built, err);

    if (r < 0) /* an error without a file is of the output, such as a full disk */
        return r == -EINTR ? LEAT_CLI_INTERRUPTED : err->file[0] ? LEAT_CLI_DATA : LEAT_CLI_FAILURE;
    if (arguments->json)
        print_built_json(&built, folder);
    else
        print_built(&built, folder);
    return LEAT_CLI_OK;
}

/* ---- a plan with a cache ---- */

/* The folder of a cache in a plan whose shards go to a store. */
#define UNUSED "."

static bool is_remote(const struct leat_value *path) {
    return path->kind == LEAT_VALUE_SCALAR && leat_elsewhere_is_object(path->text);
}

/* A set is made of the source, not of itself. */
static int rename_prepared(struct leat_value *cache) {
    struct leat_value renamed = {.kind = LEAT_VALUE_NULL}, *item;
    int r = 0;

    if (!leat_value_get(cache, "prepared") || leat_value_get(cache, "path"))
        return 0;
    for (size_t i = 0; r == 0 && i < cache->n_items; i++) {
        const char *name = cache->keys[i].name;

        r = leat_value_insert(&renamed, strcmp(name, "prepared") == 0 ? "path" : name, &item);
        if (r < 0)
            break;
        *item = cache->items[i];
        cache->items[i] = (struct leat_value){.kind = LEAT_VALUE_NULL};
        if (strcmp(name, "prepared") == 0 && is_remote(item)) {
            leat_value_deinit(item);
            r = leat_value_set_text(item, UNUSED, true);
        }
    }
    leat_value_deinit(cache);
    *cache = renamed;
    return r;
}

/* A stream without `cache` can be prepared as well: its plan must say that the cache is kept. Where
 * it goes to a store, the folder in the plan is not used. */
static int add_option(struct leat_spec *spec, const char *folder) {
    struct leat_value *cache, *path;
    int r = leat_value_insert(&spec->options, "cache", &cache);

    if (r == -EEXIST)
        return rename_prepared(leat_value_get(&spec->options, "cache"));
    if (r == 0)
        r = leat_value_insert(cache, "path", &path);
    return r == 0
               ? leat_value_set_text(path, leat_elsewhere_is_object(folder) ? UNUSED : folder, true)
               : r;
}

static struct leat_plan *make_plan(const struct leat_spec *spec, bool may_be_index,
                                   struct leat_error *err) {
    struct leat_plan *plan = NULL;

    if (leat_pipeline_open(spec, &leat_opener_operator, &plan, err) < 0 ||
        plan->options.cache.path || (may_be_index && leat_index_folder(plan, NULL)))
        return plan;
    leat_error_set(err, -EINVAL, "the stream has no `cache: {path: FOLDER}`%s",
                   may_be_index ? ", and no `index: FOLDER`; add one of them" : "");
    leat_error_prefix(err, "streams.%s", spec->name);
    leat_error_locate(err, spec->file, spec->line, spec->column);
    return leat_plan_unref(plan);
}

/* The stream of the command line, planned; `folder` NULL: the stream must name its cache, or may
 * name its index in place of it. */
static struct leat_plan *open_plan(const struct leat_cli_arguments *arguments, const char *folder,
                                   bool may_be_index, struct leat_error *err) {
    struct leat_spec *spec = leat_cli_spec_load(arguments->operand, arguments->stream, err);
    struct leat_plan *plan = NULL;

    if (spec && folder && add_option(spec, folder) < 0)
        leat_error_oom(err);
    else if (spec)
        plan = make_plan(spec, may_be_index, err);
    leat_spec_free(spec);
    /* The key of the cache is of the data, which need not be read again if it is known. */
    if (plan && leat_cli_identify_data(plan, &leat_opener_operator, err) < 0)
        return leat_plan_unref(plan);
    return plan;
}

/* ---- commands ---- */

static int cache_warm_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_run_options options = {.only_builds = true};
    struct leat_plan *plan = open_plan(arguments, NULL, true, err);
    int status;

    if (!plan)
        return leat_cli_error_status(err);
    status = build_cache(plan, &options, arguments, err);
    leat_plan_unref(plan);
    return status;
}

static void print_sealed(const struct leat_sealed_counts *counts, const char *folder,
                         const char *index, bool as_json) {
    char count[LEAT_CLI_UNIT_MAX], bytes[LEAT_CLI_UNIT_MAX];
    struct leat_text text = {.data = NULL};

    if (!as_json) {
        leat_text_add_line(&text, "%s: sealed", folder);
        leat_text_add(
            &text, "  %llu shards, %s records, %s\n", (unsigned long long)counts->n_shards,
            leat_cli_count(counts->n_records, count), leat_cli_bytes(counts->n_bytes, bytes));
        if (index)
            leat_text_add_line(&text, "%s: made the index of the source", index);
        leat_cli_print(&text);
        return;
    }
    leat_json_open(&text, NULL, '{');
    leat_json_add_text(&text, "folder", folder);
    if (index)
        leat_json_add_text(&text, "index", index);
    leat_json_add_uint(&text, "n_shards", counts->n_shards);
    leat_json_add_uint(&text, "n_blocks", counts->n_blocks);
    leat_json_add_uint(&text, "n_records", counts->n_records);
    leat_json_add_uint(&text, "n_rows", counts->n_rows);
    leat_json_add_uint(&text, "n_bytes", counts->n_bytes);
    leat_json_close(&text, '}');
    leat_text_add(&text, "\n");
    leat_cli_print(&text);
}

static int index_shards(const struct leat_plan *plan, const char *folder, const char *index_folder,
                        char **ret_index, struct leat_error *err) {
    struct leat_cache_shards shards;
    char name[LEAT_CACHE_NAME_MAX];
    int r = leat_cache_shards_open(&shards, plan, &leat_opener_operator, &folder, 1, -ESTALE, err);

    if (r == 0)
        r = leat_cache_shards_index(&shards, plan, &leat_opener_operator, index_folder, name, err);
    if (r == 0 && !(*ret_index = leat_files_join(index_folder, name)))
        r = leat_error_oom(err);
    leat_cache_shards_deinit(&shards);
    return r;
}

/* Makes the index of the stream, if it names a folder for one, which serves those that train from
 * the source; *ret_index NULL: it names none. */
static int write_index(const struct leat_cli_arguments *arguments, char **ret_index,
                       struct leat_error *err) {
    struct leat_spec *spec = leat_cli_spec_load(arguments->operand, arguments->stream, err);
    struct leat_plan *plan = NULL;
    const char *folder = NULL;
    int r = 0;

    if (!spec)
        return err->code;
    if (!leat_value_get(&spec->options, "index"))
        r = 0;
    else if (leat_pipeline_open(spec, &leat_opener_operator, &plan, err) < 0)
        r = err->code;
    else if ((folder = leat_index_folder(plan, NULL)))
        r = leat_cli_identify_data(plan, &leat_opener_operator, err);
    if (r == 0 && folder)
        r = index_shards(plan, arguments->output, folder, ret_index, err);
    leat_plan_unref(plan);
    leat_spec_free(spec);
    return r;
}

static int shards_seal(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_sealed_counts counts;
    struct leat_plan *plan = open_plan(arguments, arguments->output, false, err);
    char *index = NULL;
    int r;

    if (!plan)
        return leat_cli_error_status(err);
    r = leat_sealed_write(plan, &leat_opener_operator, arguments->output, &counts, err);
    leat_plan_unref(plan);
    if (r == 0)
        r = write_index(arguments, &index, err);
    if (r == 0)
        print_sealed(&counts, arguments->output, index, arguments->json);
    free(index);
    return r < 0 ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}

/* The folder as it is named everywhere, malloc'ed; one in a store needs not be made. */
static char *make_folder(const char *output, struct leat_error *err) {
    char *folder = NULL;

    if (leat_elsewhere_is_object(output))
        folder = strdup(output);
    else if (mkdir(output, 0777) == 0 || errno == EEXIST)
        folder = realpath(output, NULL);
    if (!folder)
        leat_error_set(err, -errno, "%s: %s", output, strerror(errno));
    return folder;
}

static int prepare_shard(const struct leat_cli_arguments *arguments,
                         struct leat_run_options *options, struct leat_error *err) {
    char *folder = NULL;
    struct leat_plan *plan = NULL;
    int status;

    folder = make_folder(arguments->output, err);
    if (!folder)
        return LEAT_CLI_FAILURE;
    options->cache_folder = folder;
    plan = open_plan(arguments, folder, false, err);
    status = plan ? build_cache(plan, options, arguments, err) : leat_cli_error_status(err);
    leat_plan_unref(plan);
    free(folder);
    return status;
}

static int prepare_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_run_options options = {.only_builds = true};

    if (!arguments->output) {
        leat_error_set(
            err, -EINVAL,
            "leatctl prepare: give -o DIR, the folder of the shards (leatctl prepare --help)");
        return LEAT_CLI_USAGE;
    }
    if (leat_elsewhere_is_object(arguments->output) &&
        strncmp(arguments->output, "s3://", 5) != 0) {
        leat_error_set(err, -EINVAL,
                       "leatctl prepare: -o: leat cannot store anything at %.256s, a web server; "
                       "give a folder or s3://BUCKET/FOLDER/",
                       arguments->output);
        return LEAT_CLI_USAGE;
    }
    if ((arguments->shard != NULL) + arguments->seal + (arguments->job > 0) != 1) {
        leat_error_set(err, -EINVAL,
                       "leatctl prepare: give one of --shard I/N, --seal (after all shards exist) "
                       "and --job; to make a cache without shards, use `leatctl cache warm`");
        return LEAT_CLI_USAGE;
    }
    if (arguments->job > 0)
        return leat_cli_job_print(arguments, err);
    if (arguments->seal)
        return shards_seal(arguments, err);
    if (leat_cli_shard_parse(arguments->shard, &options.shard, &options.n_shards, err) < 0)
        return LEAT_CLI_USAGE;
    if (arguments->pid.is_given && leat_cli_interrupt_end_with(arguments->pid.value, err) < 0)
        return LEAT_CLI_FAILURE;
    return prepare_shard(arguments, &options, err);
}

static void print_merged(const struct leat_cache_merged *merged, const char *folder, bool as_json) {
    char count[LEAT_CLI_UNIT_MAX], bytes[LEAT_CLI_UNIT_MAX];
    struct leat_text text = {.data = NULL};

    if (!as_json) {
        leat_text_add_line(&text, "%s/%s: %s", folder, merged->name,
                           merged->was_there ? "it was already complete" : "complete");
        leat_text_add(&text, "  %s records, %s\n", leat_cli_count(merged->n_records, count),
                      leat_cli_bytes(merged->n_bytes, bytes));
        leat_cli_print(&text);
        return;
    }
    leat_json_open(&text, NULL, '{');
    leat_json_add_text(&text, "folder", folder);
    leat_json_add_text(&text, "file", merged->name);
    leat_json_add_bool(&text, "was_there", merged->was_there);
    leat_json_add_uint(&text, "n_blocks", merged->n_frames);
    leat_json_add_uint(&text, "n_records", merged->n_records);
    leat_json_add_uint(&text, "n_rows", merged->n_rows);
    leat_json_add_uint(&text, "n_bytes", merged->n_bytes);
    leat_json_close(&text, '}');
    leat_text_add(&text, "\n");
    leat_cli_print(&text);
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
                       "leatctl cache merge: give --shards and the folder of the shards");
        return LEAT_CLI_USAGE;
    }
    plan = open_plan(arguments, NULL, false, err);
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
    .summary = "build the cache or the index of a stream without a trainer",
    .description =
        "Runs the source and the per-record stages in this process. The command continues an\n"
        "unfinished cache, and leaves a complete cache as it is. If the stream has no `cache`\n"
        "but its option `index` names a folder, the command builds the index. With an index,\n"
        "each node of a cluster processes only the rows that its own trainers need, even in\n"
        "the first epoch.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl cache warm train.yaml --workers 8\n",
    .options = cache_warm_options,
    .run = cache_warm_main,
};

static const struct leat_cli_option prepare_options[] = {
    LEAT_CLI_OPTION(
        STRING, "shard", shard,
        "make shard I of N (I is 0 to N-1); auto reads I and N from the variables of the job array",
        .value = "I/N|auto"),
    LEAT_CLI_OPTION(
        FLAG, "seal", seal,
        "check that DIR has all shards, and write set.json; DIR is then a prepared set"),
    LEAT_CLI_OPTION(CHOICE, "job", job,
                    "print a job script that makes all shards and then runs --seal",
                    .value = "KIND", .choices = leat_cli_job_kinds),
    LEAT_CLI_OPTION(STRING, "output", output,
                    "the folder for the shards; it may be s3://BUCKET/FOLDER/", .letter = 'o',
                    .value = "DIR"),
    LEAT_CLI_OPTION(NUMBER, "end-with", pid,
                    "stop when the process PID ends, and leave no unfinished shard", .value = "PID",
                    .min = 1, .max = INT32_MAX),
    LEAT_CLI_OPTION_WORKERS,
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};

#define PREPARE                                                                                    \
    .summary = "prepare a data set as shards, for training without the source", .operand = "FILE", \
    .more = "[STREAM]", .options = prepare_options, .run = prepare_main

const struct leat_cli_command leat_cli_prepare_command = {
    PREPARE,
    .name = "prepare",
    .group = LEAT_CLI_GROUP_RUN,
    .description =
        "Use this command in batch jobs. It runs on any machine that has the data. It divides\n"
        "the files, in their order, into N shards of about equal size. The file of a shard\n"
        "gets its final name only when the shard is complete, so several tasks may make the\n"
        "same shard at the same time. If the shard is already complete, the command does\n"
        "nothing and succeeds.\n"
        "\n"
        "If DIR is s3://BUCKET/FOLDER/, the command uploads each complete shard, unless the\n"
        "store already has it. See leat-fetch(8).\n"
        "\n"
        "When all shards are complete, --seal checks them and turns them into a prepared set.\n"
        "A stream with `cache: {prepared: DIR}` trains from this set, without the source. If\n"
        "the stream has no `cache` but its option `index` names a folder, --seal also makes\n"
        "the index. To join the shards into a cache instead, use `leatctl cache merge`.\n"
        "\n"
        "--shard auto reads I and N from environment variables of the job array. On Slurm,\n"
        "they are SLURM_ARRAY_TASK_ID (minus SLURM_ARRAY_TASK_MIN) and SLURM_ARRAY_TASK_COUNT.\n"
        "On AWS Batch, they are AWS_BATCH_JOB_ARRAY_INDEX and AWS_BATCH_JOB_ARRAY_SIZE. On\n"
        "Kubernetes, I is JOB_COMPLETION_INDEX, and you must set LEAT_SHARDS to N. If you set\n"
        "LEAT_SHARDS on Slurm or AWS Batch, N is LEAT_SHARDS, and the index of the first task\n"
        "must be 0.",
    .examples = "  leatctl prepare train.yaml --shard 0/64 -o shards/\n"
                "  leatctl prepare train.yaml --shard auto -o shards/\n"
                "  leatctl prepare train.yaml --seal -o shards/\n"
                "  leatctl prepare train.yaml --shard 0/64 -o s3://bucket/sets/web/\n"
                "  leatctl prepare train.yaml --job slurm -o shards/ > prepare.sh\n",
};

const struct leat_cli_command leat_cli_cache_prepare_command = {
    PREPARE,
    .name = "cache prepare",
    .group = LEAT_CLI_GROUP_CACHES,
    .description = "This is another name for `leatctl prepare`.",
    .examples = "  leatctl cache prepare train.yaml --shard 0/64 -o shards/\n",
};

static const struct leat_cli_option cache_merge_options[] = {
    LEAT_CLI_OPTION(LIST, "shards", shards,
                    "a folder of shards, or one shard; you may repeat this option",
                    .value = "PATH"),
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_cache_merge_command = {
    .name = "cache merge",
    .group = LEAT_CLI_GROUP_CACHES,
    .summary = "join shards into the cache of a stream",
    .description =
        "The shards may come from other machines. Make them with `leatctl prepare`, with the\n"
        "same source and per-record stages as in FILE, from files with the same contents. The\n"
        "result is the same as the cache that `leatctl cache warm` makes.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl cache merge train.yaml --shards shards/\n",
    .options = cache_merge_options,
    .run = cache_merge_main,
};
