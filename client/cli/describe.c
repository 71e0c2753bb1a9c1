/* describe.c: `leatctl describe`: the contents of the columns of a stream, or of a file of data. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/output.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/inspect/describe.h"

static int add_text(struct leat_value *args, const char *name, const char *text) {
    struct leat_value *item;
    int r = leat_value_insert(args, name, &item);

    return r < 0 ? r : leat_value_set_text(item, text, true);
}

/* A stream that reads only that file. */
static struct leat_spec *spec_of_data(const char *file, const struct leat_stage_ops *source,
                                      const struct leat_source_suffix *suffix,
                                      struct leat_error *err) {
    struct leat_spec *spec = NULL;
    int r = leat_spec_new("data", NULL, &spec);

    if (r == 0) {
        spec->source.kind = strdup(source->name);
        r = spec->source.kind ? add_text(&spec->source.args, "paths", file) : -1;
    }
    if (r == 0 && suffix->arg)
        r = add_text(&spec->source.args, suffix->arg, suffix->value);
    if (r == 0)
        return spec;
    leat_error_oom(err);
    return leat_spec_free(spec);
}

/* ---- progress ---- */

struct reading {
    struct leat_cli_progress progress;
    uint64_t n_wanted, n_records;
    uint64_t n_total_bytes;  /* of the files; 0: unknown, or they are compressed */
    uint64_t n_before_bytes; /* of the files before the present one */
    uint32_t file;           /* the present one */
    bool has_sizes;
};

static uint64_t size_of(const char *file) {
    struct stat status;

    return stat(file, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
}

/* The offsets in compressed files do not show the progress, so records do. */
static void read_sizes(struct reading *reading, const struct leat_files *files) {
    bool is_plain = true;

    reading->has_sizes = true;
    for (size_t i = 0; i < files->n_paths; i++) {
        is_plain = is_plain && leat_files_compressed_suffix(files->paths[i]) == 0;
        reading->n_total_bytes += size_of(files->paths[i]);
    }
    if (!is_plain)
        reading->n_total_bytes = 0;
    reading->progress.unit =
        reading->n_wanted || !reading->n_total_bytes ? LEAT_PROGRESS_RECORDS : LEAT_PROGRESS_BYTES;
}

static void on_block(void *user, const struct leat_plan *plan, const struct leat_block *block) {
    const struct leat_files *files = &plan->source->files;
    struct reading *reading = user;
    uint64_t n_bytes = block->file_offset + block->n_source_bytes;
    char text[64];

    if (!reading->has_sizes)
        read_sizes(reading, files);
    reading->n_records += block->n_records;
    if (reading->progress.unit == LEAT_PROGRESS_RECORDS) {
        leat_cli_progress_show(&reading->progress, reading->n_records, reading->n_wanted, "");
        return;
    }
    while (reading->file < block->file && reading->file < files->n_paths)
        reading->n_before_bytes += size_of(files->paths[reading->file++]);
    n_bytes += reading->n_before_bytes;
    (void)snprintf(text, sizeof(text), "%llu records", (unsigned long long)reading->n_records);
    leat_cli_progress_show(&reading->progress, n_bytes, reading->n_total_bytes, text);
}

static int describe_spec(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
                         struct leat_error *err) {
    struct reading reading = {.n_wanted = arguments->records.value};
    struct leat_describe_options options = {
        .after_stage = (int)spec->n_stages - 1,
        .n_records = arguments->records.value,
        .is_interrupted = leat_cli_interrupt_seen,
        .on_block = on_block,
        .user = &reading,
    };
    struct leat_description description;
    struct leat_text text = {.data = NULL};
    int status = LEAT_CLI_OK;

    if (arguments->after)
        status = leat_cli_find_stage(spec, arguments->after, &options.after_stage, err);
    if (status != LEAT_CLI_OK)
        return status;
    leat_cli_interrupt_watch();
    leat_cli_progress_begin(&reading.progress, LEAT_PROGRESS_RECORDS, arguments->no_progress);
    (void)leat_describe(spec, &leat_opener_any, &options, &description, err);
    leat_cli_progress_hide(&reading.progress);
    if (err->code)
        return leat_cli_error_status(err);
    leat_description_print(&description, arguments->json, &text);
    leat_description_deinit(&description);
    if (text.failed)
        leat_error_oom(err);
    leat_cli_print(&text);
    return err->code ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

/* Adds the suffixes of data files to the error of a file that is no YAML. */
static void add_hint(struct leat_error *err) {
    struct leat_text suffixes = {.data = NULL};
    size_t n = strlen(err->message);

    for (const struct leat_stage_ops *const *ops = leat_sources; *ops; ops++)
        for (const struct leat_source_suffix *at = (*ops)->suffixes; at && at->text; at++)
            leat_text_add(&suffixes, "%s%s", suffixes.n_bytes ? ", " : "", at->text);
    if (err->code != -ENOENT && !suffixes.failed)
        (void)snprintf(err->message + n, sizeof(err->message) - n,
                       "; if it is a data file, its name must end in %s (compressed or not)",
                       suffixes.data);
    free(suffixes.data);
}

static bool is_yaml(const char *file) {
    const char *dot = strrchr(file, '.');

    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static int describe_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    const struct leat_source_suffix *suffix;
    const struct leat_stage_ops *source = leat_source_of_file(arguments->operand, &suffix);
    const struct leat_spec *spec = NULL;
    struct leat_cli_streams streams;
    struct leat_spec *data;
    int status;

    if (source) {
        data = spec_of_data(arguments->operand, source, suffix, err);
        status = data ? describe_spec(data, arguments, err) : LEAT_CLI_FAILURE;
        leat_spec_free(data);
        return status;
    }
    if (leat_cli_streams_load(arguments->operand, NULL, 0, &streams, err) < 0 &&
        !is_yaml(arguments->operand))
        add_hint(err);
    if (!err->code)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    status = spec ? describe_spec(spec, arguments, err) : leat_cli_error_status(err);
    leat_cli_streams_deinit(&streams);
    return status;
}

static const struct leat_cli_option describe_options[] = {
    LEAT_CLI_OPTION(NUMBER, "records", records, "read only the first N records (default: all)",
                    .letter = 'n', .value = "N", .min = 1, .max = UINT64_MAX),
    LEAT_CLI_OPTION(STRING, "after", after,
                    "describe the records after this stage, named as in `leatctl head --after` "
                    "(default: the last stage)",
                    .value = "STAGE"),
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_describe_command = {
    .name = "describe",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "show types, values and lengths of a stream's columns",
    .description =
        "Describes the columns of a stream after its per-record stages. FILE is a file of\n"
        "streams, or a data file (.csv, .jsonl, .parquet, .txt and others, compressed or not).\n"
        "\n"
        "For each column, it shows the type, the number of empty values, and the lengths of\n"
        "the values. It also shows the mean and the standard deviation of numbers, and a\n"
        "histogram of token ids. To normalise numbers, save the output of --json to a file,\n"
        "and give this file to the stage `normalize: {stats: FILE}`.\n"
        "\n"
        "The command reads all data once, and needs little memory for data of any size. It\n"
        "counts bad records and skips them.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl describe titanic.yaml\n"
                "  leatctl describe train.jsonl.zst -n 100000\n"
                "  leatctl describe titanic.yaml --json > titanic.stats.json\n",
    .options = describe_options,
    .run = describe_main,
};
