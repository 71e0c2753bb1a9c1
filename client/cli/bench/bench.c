/* bench.c: `leatctl bench`: which cases run in which order, and what is printed. */
#include "client/cli/bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/output.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/io/opener.h"

#define DEFAULT_SECONDS 3
#define DEFAULT_REPEAT  3
#define MAX_SAVED_BYTES (64U << 20)

/* ---- running ---- */

/* Cases take turns, there and back again, so that what changes with time (other load, temperature,
 * the page cache) affects all of them alike. */
static int run_cases(struct leat_bench *bench, size_t first_case, struct leat_error *err) {
    size_t n = bench->n_cases - first_case;
    struct leat_cli_progress progress;
    int r = 0;

    leat_cli_interrupt_watch();
    leat_cli_progress_begin(&progress, LEAT_PROGRESS_RUNS, bench->hides_progress);
    for (uint64_t i = 0; r == 0 && i < bench->n_repeat * n; i++) {
        size_t turn = i / n % 2 ? n - 1 - i % n : i % n;
        struct leat_bench_case *item = bench->cases[first_case + turn];

        leat_cli_progress_show(&progress, i, bench->n_repeat * n, item->name);
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
    return r == 0 ? run_cases(bench, 0, err) : r;
}

/* ---- cases ---- */

static int add_case(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                    const char *name, const char *file, const char *stream) {
    struct leat_bench_case *item = leat_bench_add_case(bench, name, file, stream);
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)arguments->workers.value);
    return !item                         ? -ENOMEM
           : arguments->workers.is_given ? leat_bench_case_set(item, "workers", NULL, text)
                                         : 0;
}

/* All combinations of values: the last axis changes first. */
static int add_combinations(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                            const char *stream, const struct leat_bench_axis *axes, size_t n_axes,
                            struct leat_error *err) {
    size_t n = 1;

    for (size_t i = 0; i < n_axes; i++) {
        n *= axes[i].n_values;
        if (n > LEAT_BENCH_MAX_CASES)
            return leat_error_set(err, -E2BIG,
                                  "--vary: the values make %zu combinations, but at most %d are "
                                  "allowed; give fewer values",
                                  n, LEAT_BENCH_MAX_CASES);
    }
    for (size_t c = 0; c < n; c++) {
        int r = add_case(bench, arguments, "", bench->file, stream);
        size_t n_each = n;

        for (size_t i = 0; r == 0 && i < n_axes; i++) {
            n_each /= axes[i].n_values;
            r = leat_bench_case_set(bench->cases[c], axes[i].full, axes[i].path,
                                    axes[i].values[c / n_each % axes[i].n_values]);
        }
        if (r < 0)
            return leat_error_oom(err);
    }
    return 0;
}

static int vary_values(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                       const struct leat_spec *spec, struct leat_error *err) {
    struct leat_bench_axis axes[LEAT_CLI_STRINGS_MAX] = {{.path = NULL}};
    size_t n_axes = arguments->vary.n_items;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_axes; i++)
        r = leat_bench_axis_init(&axes[i], "--vary", arguments->vary.items[i], spec, err);
    if (r == 0)
        r = add_combinations(bench, arguments, spec->name, axes, n_axes, err);
    for (size_t i = 0; i < n_axes; i++)
        leat_bench_axis_deinit(&axes[i]);
    return r == 0 ? check_and_run(bench, err) : r;
}

/* Measures the stream of a file with its values varied or searched; with --compare the stream only
 * becomes a case. */
static int take_file(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                     const char *file, struct leat_error *err) {
    struct leat_spec *spec = leat_cli_spec_load(file, arguments->stream, err);

    if (spec && arguments->compare) {
        if (add_case(bench, arguments, file, file, spec->name) < 0)
            (void)leat_error_oom(err);
    } else if (spec) {
        bench->file = file;
        (void)(arguments->find ? leat_bench_find(bench, spec, arguments->find, run_cases, err)
                               : vary_values(bench, arguments, spec, err));
    }
    leat_spec_free(spec);
    return err->code;
}

/* ---- results ---- */

static int save_text(struct leat_text *text, const char *path, struct leat_error *err) {
    FILE *file = fopen(path, "we");
    bool failed = text->failed;

    if (!file)
        return leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
    leat_cli_print_to(text, file);
    failed |= ferror(file) != 0;
    failed |= fclose(file) != 0;
    return failed ? leat_error_set(err, -EIO, "%s: cannot write the results", path) : 0;
}

static void print_results(const struct leat_bench *bench,
                          const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    size_t n_samples = 0;

    for (size_t i = 0; i < bench->n_cases; i++)
        n_samples += bench->cases[i]->n_samples;
    if (n_samples == 0)
        return;
    if (arguments->json)
        leat_bench_to_json(bench, &text);
    else if (arguments->compare)
        leat_bench_comparison(bench, bench->cases[0], bench->cases[1], true, &text);
    else
        leat_bench_table(bench, &text);
    leat_cli_print(&text);
    if (!arguments->save)
        return;
    leat_bench_to_json(bench, &text);
    (void)save_text(&text, arguments->save, err);
    free(text.data);
}

static int measure_files(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                         struct leat_error *err) {
    FILE *file = arguments->save ? fopen(arguments->save, "ae") : NULL;

    if (arguments->save && !file) /* better now than after hours of measuring */
        return leat_error_set(err, -errno, "%s: %s", arguments->save, strerror(errno));
    if (file)
        (void)fclose(file);
    if (take_file(bench, arguments, arguments->operand, err) == 0 && arguments->compare &&
        take_file(bench, arguments, arguments->compare, err) == 0)
        (void)check_and_run(bench, err);
    print_results(bench, arguments, err);
    return err->code;
}

/* ---- saved results ---- */

static bool is_saved(const char *file) {
    size_t n = strlen(file);

    return n > 5 && strcmp(file + n - 5, ".json") == 0;
}

static int load_saved(const char *file, struct leat_bench *bench, struct leat_error *err) {
    char *text = NULL;
    size_t n_bytes = 0;
    int r = leat_opener_read(&leat_opener_any, file, MAX_SAVED_BYTES, &text, &n_bytes, err);

    if (r == 0)
        r = leat_bench_from_json(text, n_bytes, file, bench, err);
    free(text);
    return r;
}

/* Loads both files into one list, and compares cases of the same name, or the only one of each. */
static int compare_saved(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                         struct leat_error *err) {
    struct leat_text text = {.data = NULL};
    size_t n_a;
    int r = load_saved(arguments->operand, bench, err);

    n_a = bench->n_cases;
    if (r == 0)
        r = load_saved(arguments->compare, bench, err);
    for (size_t i = 0; r == 0 && i < n_a; i++)
        for (size_t j = n_a; j < bench->n_cases; j++) {
            if (strcmp(bench->cases[i]->name, bench->cases[j]->name) != 0 &&
                (n_a != 1 || bench->n_cases != 2))
                continue;
            leat_text_add(&text, "%s", text.n_bytes ? "\n" : "");
            leat_bench_comparison(bench, bench->cases[i], bench->cases[j], false, &text);
            break;
        }
    if (r == 0 && text.n_bytes == 0)
        r = leat_error_set(err, -EINVAL,
                           "%s and %s have no configuration in common, so they cannot be compared",
                           arguments->operand, arguments->compare);
    leat_cli_print(&text);
    return r;
}

/* ---- the command ---- */

static const char *const goals[] = {"records", "tokens", "batches",     "source", "bytes",
                                    "cpu",     "memory", "first_batch", "wall",   NULL};
static const enum leat_bench_figure goal_figures[] = {
    LEAT_BENCH_RECORD_RATE, LEAT_BENCH_TOKEN_RATE, LEAT_BENCH_BATCH_RATE,
    LEAT_BENCH_SOURCE_RATE, LEAT_BENCH_BYTE_RATE,  LEAT_BENCH_RECORD_CPU,
    LEAT_BENCH_MEMORY,      LEAT_BENCH_FIRST,      LEAT_BENCH_WALL};

static int take_options(struct leat_bench *bench, const struct leat_cli_arguments *arguments,
                        struct leat_error *err) {
    int n_lengths =
        arguments->seconds.is_given + arguments->batches.is_given + arguments->epochs.is_given;

    bench->n_batches = arguments->batches.value;
    bench->n_epochs = arguments->epochs.value;
    bench->n_seconds = n_lengths > 0 ? arguments->seconds.value : DEFAULT_SECONDS;
    bench->n_repeat = arguments->repeat.is_given ? arguments->repeat.value : DEFAULT_REPEAT;
    bench->delivery = arguments->delivery;
    bench->window = (uint32_t)arguments->window.value;
    bench->hides_progress = arguments->no_progress;
    bench->goal = goal_figures[arguments->goal];
    if (n_lengths > 1)
        return leat_error_set(err, -EINVAL, "give only one of --seconds, --batches and --epochs");
    if (!!arguments->compare + !!arguments->find + (arguments->vary.n_items > 0) > 1)
        return leat_error_set(err, -EINVAL, "give only one of --vary, --find and --compare");
    if (arguments->json && arguments->save)
        return leat_error_set(
            err, -EINVAL, "give only one of --json and --save, because both write the same JSON");
    return 0;
}

static int bench_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_bench *bench = calloc(1, sizeof(*bench));
    int status = LEAT_CLI_OK;

    if (!bench) {
        (void)leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    if (take_options(bench, arguments, err) < 0)
        status = LEAT_CLI_USAGE;
    else if (arguments->compare && is_saved(arguments->operand) && is_saved(arguments->compare))
        (void)compare_saved(bench, arguments, err);
    else
        (void)measure_files(bench, arguments, err);
    if (bench->was_interrupted)
        status = LEAT_CLI_INTERRUPTED;
    else if (status == LEAT_CLI_OK && err->code < 0)
        status = leat_cli_error_status(err);
    leat_bench_deinit(bench);
    free(bench);
    return status;
}

static const struct leat_cli_option bench_options[] = {
    LEAT_CLI_OPTION(LIST, "vary", vary,
                    "try each of these values; repeat the option to try all combinations",
                    .value = "PATH=V1,V2,.."),
    LEAT_CLI_OPTION(STRING, "compare", compare,
                    "also measure this file and compare it with the first FILE; or compare two "
                    "saved results (.json)",
                    .value = "FILE"),
    LEAT_CLI_OPTION(CHOICE, "goal", goal, "the figure to optimise (default: records)",
                    .value = "WHAT", .choices = goals),
    LEAT_CLI_OPTION(STRING, "find", find,
                    "find the value with the best result, and the smallest value whose result is "
                    "at most 5 % worse",
                    .value = "PATH[=LO..HI]"),
    LEAT_CLI_OPTION(NUMBER, "seconds", seconds, "length of each run in seconds (default 3)",
                    .value = "N", .min = 1, .max = 86400),
    LEAT_CLI_OPTION(NUMBER, "batches", batches, "length of each run in batches", .value = "N",
                    .min = 1, .max = UINT32_MAX),
    LEAT_CLI_OPTION(NUMBER, "epochs", epochs,
                    "length of each run in epochs, from the first batch to the last", .value = "N",
                    .min = 1, .max = UINT32_MAX),
    LEAT_CLI_OPTION(NUMBER, "repeat", repeat, "number of runs of each configuration (default 3)",
                    .value = "N", .min = 1, .max = LEAT_BENCH_REPEAT_MAX),
    LEAT_CLI_OPTION(STRING, "save", save,
                    "save all figures of all runs to FILE, as the JSON that --json prints",
                    .value = "FILE"),
    LEAT_CLI_OPTION_WORKERS,
    LEAT_CLI_OPTION(
        NUMBER, "window", window,
        "number of batches that a trainer may hold at once (default: the daemon chooses)",
        .value = "N", .min = 1, .max = 4096),
    LEAT_CLI_OPTION_DELIVERY,
    LEAT_CLI_OPTION_NO_PROGRESS,
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_bench_command = {
    .name = "bench",
    .group = LEAT_CLI_GROUP_RUN,
    .summary = "measure a stream: records/s, tokens/s, memory, CPU",
    .description =
        "Runs the stream as `leatctl run` does, with a new daemon for each run and a trainer\n"
        "that reads every byte. Each run warms up before it measures. At the end of the data,\n"
        "the stream starts again. With --vary, --find or --compare, the command measures\n"
        "several configurations. It runs each of them several times, in turns, and shows the\n"
        "medians in the table.\n"
        "\n"
        "In the table, a record is a row of a batch. A token is an element of a list; padding,\n"
        "masks, labels and token types do not count. Memory is the highest memory use of the\n"
        "daemon (VmHWM), including its batches. Waited is the fraction of the time in which\n"
        "the trainer had no batch.\n"
        "\n"
        "Some figures for --goal: `source` is the number of bytes that leat reads from the\n"
        "source per second. `bytes` is the number of bytes in batches per second. `cpu` is the\n"
        "CPU time per record. `first_batch` is the time until the first batch. `wall` is the\n"
        "time of the whole run.\n"
        "\n"
        "In --vary and --find, PATH names the value to change. PATH is STAGE.ARG or\n"
        "source.ARG. STAGE[2].ARG means the second stage with the name STAGE. PATH may also be\n"
        "an option of the stream (block_bytes) or a setting of the daemon (workers,\n"
        "memory_limit). If only one stage has the argument, you may write ARG alone.\n"
        "\n"
        "Values are YAML. For ranges, 1..16 means all whole numbers from 1 to 16. The range\n"
        "16..64+16 means 16, 32, 48 and 64. The range 1..64*2 means 1, 2, 4, 8, 16, 32 and 64.\n"
        "The command checks all values before the first run. It runs at most 256\n"
        "configurations.\n"
        "\n"
        "--find doubles the value as long as the result improves, and then tries values\n"
        "between the best ones. By default, the range starts at 1, and ends at the first value\n"
        "that the stream refuses. For the setting `workers`, the range ends at twice the\n"
        "number of CPUs.",
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
