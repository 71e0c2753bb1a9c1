/* bench.c: `leatctl bench`: what is run, in which order, and what is said of it. */
#include "client/cli/bench/case.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/error_json.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/options.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/bench/check.h"
#include "client/cli/bench/find.h"
#include "client/cli/bench/json.h"
#include "client/cli/bench/run.h"
#include "client/cli/bench/table.h"
#include "pipeline/io/opener.h"

#define DEFAULT_SECONDS 3
#define DEFAULT_REPEAT  3
#define MAX_SAVED_BYTES (64U << 20)

/* ---- options ---- */

__attribute__((format(printf, 2, 3))) static int usage(struct leat_error *err, const char *format,
                                                       ...) {
    va_list ap;

    va_start(ap, format);
    leat_error_setv(err, -EINVAL, format, ap);
    va_end(ap);
    return LEAT_CLI_USAGE;
}

static int check_options(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    int n_lengths =
        arguments->seconds.is_given + arguments->batches.is_given + arguments->epochs.is_given;

    if (n_lengths > 1)
        return usage(err, "leatctl bench: --seconds, --batches, --epochs: give one of them");
    if (arguments->compare && (arguments->vary.n_items > 0 || arguments->find))
        return usage(err, "leatctl bench: --compare takes files; for values of one file --vary is "
                          "enough");
    if (arguments->find && arguments->vary.n_items > 0)
        return usage(err, "leatctl bench: --find chooses the values itself; --vary is not for it");
    if (arguments->json && arguments->save)
        return usage(err, "leatctl bench: --json prints what --save writes: give one of them");
    return LEAT_CLI_OK;
}

static int fill(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                struct leat_error *err) {
    int status = check_options(arguments, err);

    if (status != LEAT_CLI_OK)
        return status;
    bench->length.n_batches = arguments->batches.value;
    bench->length.n_epochs = arguments->epochs.value;
    bench->length.seconds = arguments->seconds.value;
    if (!arguments->seconds.is_given && !arguments->batches.is_given && !arguments->epochs.is_given)
        bench->length.seconds = DEFAULT_SECONDS;
    bench->n_repeat = arguments->repeat.is_given ? arguments->repeat.value : DEFAULT_REPEAT;
    bench->delivery = arguments->delivery;
    bench->window = (uint32_t)arguments->window.value;
    bench->goal = LEAT_BENCH_RECORD_RATE;
    bench->has_goal = arguments->goal != NULL;
    bench->hides_progress = arguments->no_progress;
    leat_bench_machine_read(&bench->machine);
    if (arguments->goal && leat_bench_goal(arguments->goal, &bench->goal, err) < 0)
        return LEAT_CLI_USAGE;
    return LEAT_CLI_OK;
}

/* ---- running ---- */

/* Cases take turns, there and back again, so that what changes with time (other load, temperature,
 * the page cache) meets all of them alike. */
static int run_cases(struct leat_bench *bench, size_t first_case, struct leat_error *err) {
    size_t n = bench->n_cases - first_case;
    struct leat_cli_progress progress;
    int r = 0;

    leat_cli_progress_begin(&progress, LEAT_PROGRESS_RUNS, bench->hides_progress);
    for (uint64_t round = 0; r == 0 && round < bench->n_repeat; round++)
        for (size_t i = 0; r == 0 && i < n; i++) {
            struct leat_bench_case *item = bench->cases[first_case + (round % 2 ? n - 1 - i : i)];

            leat_cli_progress_show(&progress, round * n + i, bench->n_repeat * n, item->name);
            r = leat_bench_run(bench, item, err);
            if (r == 0 && leat_cli_interrupt_seen())
                r = leat_error_set(err, -EINTR, "interrupted");
        }
    leat_cli_progress_hide(&progress);
    bench->was_interrupted = r < 0 && leat_cli_interrupt_seen();
    return r;
}

static int check_and_run(struct leat_bench *bench, struct leat_error *err) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < bench->n_cases; i++)
        r = leat_bench_check(bench->cases[i], err);
    if (r < 0)
        return r;
    leat_cli_interrupt_watch();
    return run_cases(bench, 0, err);
}

/* ---- cases ---- */

static int set_workers(struct leat_bench_case *item, const struct leat_cli_arguments *arguments) {
    char text[24];

    if (!arguments->workers.is_given)
        return 0;
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)arguments->workers.value);
    return leat_bench_case_set(item, "workers", NULL, text);
}

static int add_combination(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                           const char *stream, const struct leat_bench_axis *axes, size_t n_axes,
                           size_t index) {
    struct leat_bench_case *item = leat_bench_add_case(bench, arguments->operand, stream);
    size_t picks[LEAT_CLI_STRINGS_MAX] = {0};
    int r = item ? set_workers(item, arguments) : -ENOMEM;

    leat_bench_axes_pick(axes, n_axes, index, picks);
    for (size_t i = 0; r == 0 && i < n_axes; i++)
        r = leat_bench_case_set(item, axes[i].full, axes[i].path, axes[i].values[picks[i]]);
    return r;
}

static int add_combinations(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                            const struct leat_spec *spec, struct leat_error *err) {
    struct leat_bench_axis axes[LEAT_CLI_STRINGS_MAX] = {{.path = NULL}};
    size_t n_axes = arguments->vary.n_items, n_cases = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_axes; i++) {
        r = leat_bench_axis_parse("--vary", arguments->vary.items[i], &axes[i], err);
        if (r == 0)
            r = leat_bench_axis_resolve("--vary", spec, &axes[i], err);
    }
    if (r == 0)
        r = leat_bench_axes_count(axes, n_axes, &n_cases, err);
    for (size_t i = 0; r == 0 && i < n_cases; i++)
        if (add_combination(bench, arguments, spec->name, axes, n_axes, i) < 0)
            r = leat_error_oom(err);
    for (size_t i = 0; i < n_axes; i++)
        leat_bench_axis_deinit(&axes[i]);
    return r;
}

static int run_file(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                    struct leat_error *err) {
    const struct leat_spec *spec = NULL;
    struct leat_cli_streams streams;
    int r = leat_cli_streams_load(arguments->operand, &streams, err);

    bench->file = arguments->operand;
    if (r == 0)
        spec = leat_cli_streams_find(&streams, arguments->operand, arguments->stream, err);
    if (spec && arguments->find) {
        leat_cli_interrupt_watch();
        r = leat_bench_find(bench, spec, arguments->find, run_cases, err);
    } else if (spec) {
        r = add_combinations(bench, arguments, spec, err);
        r = r == 0 ? check_and_run(bench, err) : r;
    } else {
        r = err->code;
    }
    leat_cli_streams_deinit(&streams);
    return r;
}

static int add_compared(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                        const char *file, struct leat_error *err) {
    const struct leat_spec *spec = NULL;
    struct leat_bench_case *item = NULL;
    struct leat_cli_streams streams;

    if (leat_cli_streams_load(file, &streams, err) == 0)
        spec = leat_cli_streams_find(&streams, file, arguments->stream, err);
    if (spec) {
        item = leat_bench_add_case(bench, file, spec->name);
        if (item)
            free(item->name);
        if (!item || !(item->name = strdup(file)) || set_workers(item, arguments) < 0)
            leat_error_oom(err);
    }
    leat_cli_streams_deinit(&streams);
    return err->code;
}

static int run_compared(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                        struct leat_error *err) {
    int r = add_compared(bench, arguments, arguments->operand, err);

    if (r == 0)
        r = add_compared(bench, arguments, arguments->compare, err);
    return r == 0 ? check_and_run(bench, err) : r;
}

/* ---- saying ---- */

static bool has_samples(const struct leat_bench *bench) {
    for (size_t i = 0; i < bench->n_cases; i++)
        if (bench->cases[i]->n_samples > 0)
            return true;
    return false;
}

static void print_text(struct leat_text *text, FILE *file) {
    if (text->data)
        (void)fwrite(text->data, 1, text->n_bytes, file);
    free(text->data);
    *text = (struct leat_text){.data = NULL};
}

static int save(const struct leat_bench *bench, const char *path, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    FILE *file = fopen(path, "we");
    bool failed;

    if (!file)
        return leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
    leat_bench_to_json(bench, &text);
    failed = text.failed;
    print_text(&text, file);
    failed = ferror(file) || failed;
    if (fclose(file) != 0 || failed)
        return leat_error_set(err, -EIO, "%s: the results could not be written", path);
    return 0;
}

static void say(const struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                struct leat_error *err) {
    struct leat_text text = {.data = NULL};

    if (!has_samples(bench))
        return;
    if (arguments->json)
        leat_bench_to_json(bench, &text);
    else if (arguments->compare)
        leat_bench_comparison(bench, bench->cases[0], bench->cases[1], true, &text);
    else
        leat_bench_table(bench, &text);
    print_text(&text, stdout);
    if (arguments->save)
        (void)save(bench, arguments->save, err);
}

/* Hours of measuring must not be lost to a name that cannot be written. */
static int check_save(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    FILE *file;

    if (!arguments->save)
        return LEAT_CLI_OK;
    file = fopen(arguments->save, "ae");
    if (!file) {
        leat_error_set(err, -errno, "%s: %s", arguments->save, strerror(errno));
        return LEAT_CLI_FAILURE;
    }
    (void)fclose(file);
    return LEAT_CLI_OK;
}

static int measure(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                   struct leat_error *err) {
    int status = fill(bench, arguments, err);
    int r;

    if (status == LEAT_CLI_OK)
        status = check_save(arguments, err);
    if (status != LEAT_CLI_OK)
        return status;
    r = arguments->compare ? run_compared(bench, arguments, err) : run_file(bench, arguments, err);
    say(bench, arguments, err);
    if (bench->was_interrupted)
        return LEAT_CLI_INTERRUPTED;
    return r < 0 || err->code ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

/* ---- saved results ---- */

static bool is_saved(const char *file) {
    size_t n = strlen(file);

    return n > 5 && strcmp(file + n - 5, ".json") == 0;
}

static int load(const char *file, struct leat_bench *bench, struct leat_error *err) {
    char *text = NULL;
    size_t n_bytes = 0;
    int r = leat_opener_read(&leat_opener_any, file, MAX_SAVED_BYTES, &text, &n_bytes, err);

    if (r == 0)
        r = leat_bench_from_json(text, n_bytes, file, bench, err);
    free(text);
    return r;
}

/* The case of the same name; if both have but one, those. */
static const struct leat_bench_case *partner(const struct leat_bench *a, size_t i,
                                             const struct leat_bench *b) {
    if (a->n_cases == 1 && b->n_cases == 1)
        return b->cases[0];
    for (size_t j = 0; j < b->n_cases; j++)
        if (strcmp(a->cases[i]->name, b->cases[j]->name) == 0)
            return b->cases[j];
    return NULL;
}

static int compare_saved(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_bench *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
    struct leat_text text = {.data = NULL};
    int r = a && b ? load(arguments->operand, a, err) : leat_error_oom(err);

    if (r == 0)
        r = load(arguments->compare, b, err);
    for (size_t i = 0; r == 0 && i < a->n_cases; i++) {
        const struct leat_bench_case *other = partner(a, i, b);

        if (!other)
            continue;
        leat_text_add(&text, "%s", text.n_bytes ? "\n" : "");
        leat_bench_comparison(a, a->cases[i], other, false, &text);
    }
    if (r == 0 && text.n_bytes == 0)
        r = leat_error_set(err, -EINVAL, "%s and %s have no configuration in common",
                           arguments->operand, arguments->compare);
    print_text(&text, stdout);
    if (a)
        leat_bench_deinit(a);
    if (b)
        leat_bench_deinit(b);
    free(a);
    free(b);
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

static int bench_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_bench *bench;
    int status;

    if (arguments->compare && is_saved(arguments->operand) && is_saved(arguments->compare))
        return compare_saved(arguments, err);
    bench = calloc(1, sizeof(*bench));
    if (!bench) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    status = measure(bench, arguments, err);
    leat_bench_deinit(bench);
    free(bench);
    return status;
}

static const struct leat_cli_option bench_options[] = {
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
    LEAT_CLI_OPTION_DELIVERY,
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_bench_command = {
    .name = "bench",
    .group = LEAT_CLI_GROUP_RUN,
    .summary = "measure a stream: records/s, tokens/s, memory, CPU",
    .description =
        "Runs the stream for real, as `run` does: a daemon of its own for each run, and a trainer "
        "that reads every\nbyte. After a warm-up it measures for a while; each configuration "
        "runs several times, in turns with the\nothers, and the medians are shown. The data is "
        "begun again where it ends. Records are rows of batches,\ntokens elements of lists "
        "(not padding, masks, labels or token types); memory is the daemon's VmHWM, rings\n"
        "included; waited is the share of time in which nothing was there for the trainer, which "
        "does nothing else.\n\n"
        "PATH is STAGE.ARG, STAGE[2].ARG for the second of that name, source.ARG, an option of "
        "the stream\n(block_bytes), or a setting of the daemon (workers, memory_limit); ARG alone "
        "will do where only one stage\nhas it. Values are YAML; 1..16 are whole numbers, "
        "16..64+16 "
        "those 16 apart, 1..64*2 those that double. All\nare checked before the first run; "
        "at most 256 configurations are run.\n\n"
        "--find tries values by doubling, as long as that pays, then between the best ones; "
        "without =LO..HI within\nthe limits of the argument, or, of workers, twice the number of "
        "CPUs.",
    .operand = "FILE",
    .more = "[STREAM]",
    .examples = "  leatctl bench titanic.yaml\n"
                "  leatctl bench titanic.yaml --vary batch.batch_size=8,16,32 --vary workers=1..4\n"
                "  leatctl bench titanic.yaml --find workers --goal tokens\n"
                "  leatctl bench a.yaml --compare b.yaml --repeat 7 --seconds 5\n"
                "  leatctl bench titanic.yaml --save new.json\n"
                "  leatctl bench old.json --compare new.json\n",
    .options = bench_options,
    .run = bench_main,
};
