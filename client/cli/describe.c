/* describe.c: `leatctl describe`: what the columns of a stream, or of a file of data, hold. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/base/error_json.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/options.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/inspect/describe.h"

struct kind {
    const char *suffix, *source, *delimiter;
};

static const struct kind kinds[] = {
    {".csv", "csv", NULL},     {".tsv", "csv", "\t"},       {".jsonl", "jsonl", NULL},
    {".arrow", "arrow", NULL}, {".feather", "arrow", NULL}, {".ndjson", "jsonl", NULL},
    {".txt", "text", NULL},    {".md", "text", NULL},
};

static bool ends_with(const char *text, size_t n, const char *suffix) {
    size_t n_suffix = strlen(suffix);

    return n > n_suffix && memcmp(text + n - n_suffix, suffix, n_suffix) == 0;
}

/* How long the ending of a compressed file is; 0: it is none. */
static size_t compressed_suffix(const char *file) {
    static const char *const compressed[] = {".gz", ".zst", ".lz4", ".bz2", ".xz"};

    for (size_t i = 0; i < sizeof(compressed) / sizeof(*compressed); i++)
        if (ends_with(file, strlen(file), compressed[i]))
            return strlen(compressed[i]);
    return 0;
}

/* What a file of data is by its name, or NULL: it is a file of streams. */
static const struct kind *kind_of(const char *file) {
    size_t n = strlen(file);

    n -= compressed_suffix(file);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (ends_with(file, n, kinds[i].suffix))
            return &kinds[i];
    return NULL;
}

static int add_text(struct leat_value *args, const char *name, const char *text) {
    struct leat_value *item;
    int r = leat_value_insert(args, name, &item);

    return r < 0 ? r : leat_value_set_text(item, text, true);
}

/* A stream of nothing but that file. */
static struct leat_spec *spec_of_data(const char *file, const struct kind *kind,
                                      struct leat_error *err) {
    struct leat_spec *spec = NULL;
    int r = leat_spec_new("data", NULL, &spec);

    if (r == 0) {
        spec->source.kind = strdup(kind->source);
        r = spec->source.kind ? add_text(&spec->source.args, "paths", file) : -1;
    }
    if (r == 0 && kind->delimiter)
        r = add_text(&spec->source.args, "delimiter", kind->delimiter);
    if (r == 0)
        return spec;
    leat_error_oom(err);
    return leat_spec_free(spec);
}

/* ---- progress ---- */

struct reading {
    struct leat_cli_progress progress;
    uint64_t n_wanted, n_records;
    uint64_t n_total_bytes;  /* of the files; 0: not looked at, or they are compressed */
    uint64_t n_before_bytes; /* of those before the one that is read */
    uint32_t file;           /* that one; they follow one another */
    bool has_looked;
};

static uint64_t size_of(const char *file) {
    struct stat status;

    return stat(file, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
}

/* Of compressed files offsets say nothing of how much there is. */
static void look_at_files(struct reading *reading, const struct leat_files *files) {
    bool is_plain = true;

    reading->has_looked = true;
    for (size_t i = 0; i < files->n_paths; i++) {
        is_plain = is_plain && compressed_suffix(files->paths[i]) == 0;
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

    if (!reading->has_looked)
        look_at_files(reading, files);
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

static int describe(const struct leat_spec *spec, const struct leat_cli_arguments *arguments,
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
    else
        (void)fwrite(text.data, 1, text.n_bytes, stdout);
    free(text.data);
    return err->code ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

static int describe_data(const struct leat_cli_arguments *arguments, const struct kind *kind,
                         struct leat_error *err) {
    struct leat_spec *spec = spec_of_data(arguments->operand, kind, err);
    int status = spec ? describe(spec, arguments, err) : LEAT_CLI_FAILURE;

    leat_spec_free(spec);
    return status;
}

/* Of a file that is neither called like data nor a file of streams, what may be told apart. */
static void add_hint(struct leat_error *err) {
    static const char hint[] =
        "; or is it data? What ends in .csv, .tsv, .jsonl, .ndjson, .arrow, .txt or "
        ".md, compressed or not, is read as such";
    size_t n = strlen(err->message);

    if (err->code != -ENOENT)
        (void)snprintf(err->message + n, sizeof(err->message) - n, "%s", hint);
}

static bool is_yaml(const char *file) {
    size_t n = strlen(file);

    return ends_with(file, n, ".yaml") || ends_with(file, n, ".yml");
}

static int describe_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    const struct kind *kind = kind_of(arguments->operand);
    const struct leat_spec *spec = NULL;
    struct leat_cli_streams streams;
    int status;

    if (kind)
        return describe_data(arguments, kind, err);
    if (leat_cli_streams_load(arguments->operand, &streams, err) < 0 &&
        !is_yaml(arguments->operand))
        add_hint(err);
    if (!err->code)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    status = spec ? describe(spec, arguments, err) : leat_cli_error_status(err);
    leat_cli_streams_deinit(&streams);
    return status;
}

static const struct leat_cli_option describe_options[] = {
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

const struct leat_cli_command leat_cli_describe_command = {
    .name = "describe",
    .group = LEAT_CLI_GROUP_DATA,
    .summary = "show what the columns of a stream hold, and how many tokens",
    .description =
        "Of FILE's stream, after its per-record stages, or of a FILE of data (.csv, .tsv, .jsonl, "
        ".ndjson, .arrow,\n.feather, .txt, .md, compressed or not): types, empty values, "
        "lengths, mean and standard\ndeviation (of all records, not of a sample) of numbers, "
        "and a histogram of the tokens "
        "that "
        "`tokenize` makes. What --json prints is what\n`normalize: {stats: FILE}` reads. Reads "
        "all of "
        "the data, in memory that does not grow with it; bad records\nare counted and passed "
        "over.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl describe titanic.yaml\n"
                "  leatctl describe train.jsonl.zst -n 100000\n"
                "  leatctl describe titanic.yaml --json > titanic.stats.json\n",
    .options = describe_options,
    .run = describe_main,
};
