/* test_rounds.c: pipeline/order/batcher_rounds.c, skips.c, skip_records.c: what each of several
 * ranks gets, and what is left when steps and records are taken out: all of it worked out from the
 * batches of a run of one rank that has them all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/skips.h"
#include "pipeline/plan/skips_internal.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

#define STEPS_MAX 4096
#define IDS_MAX   64

struct one_step {
    uint64_t epoch, step;
    size_t n_ids;
    int64_t ids[IDS_MAX];
};

struct steps {
    size_t n_steps;
    struct one_step *steps; /* [STEPS_MAX] */
};

static struct steps new_steps(void) {
    return (struct steps){.steps = calloc(STEPS_MAX, sizeof(struct one_step))};
}

static void add_step(struct steps *steps, const struct one_step *step) {
    assert_true(steps->n_steps < STEPS_MAX);
    steps->steps[steps->n_steps++] = *step;
}

static void on_step(const struct leat_output *output, void *user) {
    struct one_step step = {.epoch = output->epoch, .step = output->step};
    uint64_t n;
    const int64_t *ids = batch_tensor(output, "id", LEAT_DTYPE_INT64, &n);

    assert_true(n <= IDS_MAX);
    step.n_ids = (size_t)n;
    memcpy(step.ids, ids, step.n_ids * sizeof(*ids));
    add_step(user, &step);
}

/* ---- what is expected ---- */

struct question {
    struct leat_run_options options;
    enum leat_uneven uneven;
    struct leat_skips skips; /* of all epochs' records */
    uint64_t n_base;         /* steps of each epoch, over all ranks, before anything is left out */
};

struct answer {
    struct steps steps;
    bool fails;
    uint64_t n_end_steps; /* of the last epoch */
};

static const struct one_step *find_step(const struct steps *base, uint64_t epoch, uint64_t step) {
    for (size_t i = 0; i < base->n_steps; i++)
        if (base->steps[i].epoch == epoch && base->steps[i].step == step)
            return &base->steps[i];
    fail_msg("there is not a step %llu", (unsigned long long)step);
    return NULL;
}

/* The lists are short, so the test looks through all of them and needs no function of leat. */
static bool has_number(const struct leat_skip_list *list, uint64_t group, uint64_t number) {
    for (size_t i = 0; i < list->n_ranges; i++) {
        const struct leat_skip_range *range = &list->ranges[i];

        if ((range->group == group || range->group == LEAT_SKIPS_EVERY) && range->first <= number &&
            number <= range->last)
            return true;
    }
    return false;
}

static struct one_step without_records(const struct question *question,
                                       const struct one_step *step) {
    struct one_step left = {.epoch = step->epoch, .step = step->step};

    for (size_t i = 0; i < step->n_ids; i++)
        if (!has_number(&question->skips.records, 0, (uint64_t)step->ids[i]))
            left.ids[left.n_ids++] = step->ids[i];
    return left;
}

/* True if the step has no row, or is skipped by its number. */
static bool is_left_out(const struct question *question, const struct steps *base, uint64_t epoch,
                        uint64_t step) {
    struct one_step left = without_records(question, find_step(base, epoch, step));

    return left.n_ids == 0 || has_number(&question->skips.steps, epoch, step);
}

/* True if some steps of a round are left out and others not: those from `first` up to `end`, and
 * those up to `padded_end`, which repeat them. */
static bool is_torn(const struct question *question, const struct steps *base, uint64_t epoch,
                    uint64_t first, uint64_t end, uint64_t padded_end) {
    uint64_t n = 0;

    for (uint64_t step = first; step < end; step++)
        n += is_left_out(question, base, epoch, step);
    if (n == end - first)
        return false;
    for (uint64_t step = end; step < padded_end; step++)
        n += has_number(&question->skips.steps, epoch, step);
    return n > 0;
}

static void answer_step(const struct question *question, const struct steps *base, uint64_t epoch,
                        uint64_t step, uint64_t same_as, struct answer *answer) {
    const struct leat_run_options *options = &question->options;
    struct one_step left = without_records(question, find_step(base, epoch, same_as));
    uint64_t rank = step % options->world_size;

    if (rank < options->first_rank || rank >= options->first_rank + options->n_ranks ||
        (epoch == options->first_epoch && step < options->first_step) || left.n_ids == 0 ||
        has_number(&question->skips.steps, epoch, step))
        return;
    left.step = step;
    add_step(&answer->steps, &left);
}

static void answer_epoch(const struct question *question, const struct steps *base, uint64_t epoch,
                         struct answer *answer) {
    const struct leat_run_options *options = &question->options;
    uint64_t world = options->world_size, n = question->n_base, first = 0, end;

    end = epoch == options->first_epoch && options->round_phase % world > 0
              ? options->round_phase % world
              : world;
    for (; end <= n; first = end, end += world) {
        bool is_before = epoch == options->first_epoch && end <= options->first_step;

        if (is_torn(question, base, epoch, first, end, end) && !is_before) {
            answer->fails = true;
            return;
        }
        for (uint64_t step = first; step < end; step++)
            answer_step(question, base, epoch, step, step, answer);
    }
    answer->n_end_steps = first;
    if (first == n || question->uneven == LEAT_UNEVEN_DROP)
        return;
    answer->fails =
        question->uneven == LEAT_UNEVEN_ERROR || is_torn(question, base, epoch, first, n, end);
    answer->n_end_steps = end;
    for (uint64_t step = first; step < end && !answer->fails; step++)
        answer_step(question, base, epoch, step,
                    step < n ? step : first + (step - first) % (n - first), answer);
}

/* ---- asking ---- */

static const char STAGES[] = "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                             "- shuffle: {buffer_size: 37}\n- batch: {batch_size: %llu}";

static void add_text(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void add_text(char *text, size_t size, const char *format, ...) {
    size_t n = strlen(text);
    va_list ap;

    va_start(ap, format);
    assert_true(vsnprintf(text + n, size - n, format, ap) < (int)(size - n));
    va_end(ap);
}

static void add_range(struct leat_skip_list *list, uint64_t group, uint64_t first, uint64_t last) {
    list->ranges = realloc(list->ranges, (list->n_ranges + 1) * sizeof(*list->ranges));
    list->ranges[list->n_ranges++] =
        (struct leat_skip_range){.group = group, .first = first, .last = last};
}

/* Whole rounds, in order. */
static void draw_steps(struct question *question, char *text, size_t size) {
    uint64_t world = question->options.world_size, at = draw(4) * world;

    for (uint64_t n = draw(3); n > 0; n--) {
        uint64_t n_steps = (draw(3) + 1) * world;

        add_range(&question->skips.steps, LEAT_SKIPS_EVERY, at, at + n_steps - 1);
        add_text(text, size, "%s\"%llu-%llu\"", *text ? ", " : "", (unsigned long long)at,
                 (unsigned long long)(at + n_steps - 1));
        at += n_steps + (draw(4) + 1) * world;
    }
}

/* Some records have two lines. */
static void write_records(uint64_t n) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id,name\n");
    for (uint64_t id = 0; id < n; id++)
        leat_text_add(&text, "%llu,%s\n", (unsigned long long)id,
                      id % 7 == 3 ? "\"two\nlines\"" : "one");
    folder_write("data.csv", text.data, text.n_bytes);
    free(text.data);
}

static unsigned long long line_of(uint64_t id) {
    return 2 + id + (id + 3) / 7;
}

static void draw_records(struct question *question, uint64_t n_records, char *text, size_t size) {
    uint64_t at = draw(30);

    for (uint64_t n = draw(6); n > 0 && at + 8 < n_records; n--) {
        uint64_t last = at + draw(8);

        add_range(&question->skips.records, 0, at, last);
        if (draw(2))
            add_text(text, size, "%s\"%llu-%llu\"", *text ? ", " : "", (unsigned long long)at,
                     (unsigned long long)last);
        else
            add_text(text, size, "%s\"data.csv:%llu-%llu\"", *text ? ", " : "", line_of(at),
                     line_of(last));
        at = last + 2 + draw(30);
    }
}

static void compare(const struct answer *answer, const struct steps *steps,
                    const struct driven *driven, const char *options) {
    bool is_same = answer->steps.n_steps == steps->n_steps;

    for (size_t i = 0; is_same && i < steps->n_steps; i++) {
        const struct one_step *a = &answer->steps.steps[i], *b = &steps->steps[i];

        is_same = a->epoch == b->epoch && a->step == b->step && a->n_ids == b->n_ids &&
                  memcmp(a->ids, b->ids, a->n_ids * sizeof(a->ids[0])) == 0;
    }
    if (!is_same || answer->fails != (driven->error.code != 0) ||
        (!answer->fails && answer->n_end_steps != driven->n_end_steps))
        fail_msg("%s\n%zu steps for %zu, end at %llu for %llu; fails %d: %s", options,
                 steps->n_steps, answer->steps.n_steps, (unsigned long long)driven->n_end_steps,
                 (unsigned long long)answer->n_end_steps, answer->fails, driven->error.message);
}

static void ask(const struct steps *base, uint64_t n_base, uint64_t n_records, const char *stages) {
    static const char *const names[] = {"drop", "pad", "error"};
    struct question question = {.n_base = n_base, .uneven = (enum leat_uneven)draw(3)};
    struct leat_run_options *options = &question.options;
    struct answer answer = {.steps = new_steps()};
    struct steps steps = new_steps();
    struct drive how = random_drive();
    char text[1024], skip_steps[256] = "", skip_records[256] = "";
    struct driven driven;

    *options = (struct leat_run_options){.first_epoch = draw(2), .n_epochs = 2};
    options->world_size = draw(9) + 1;
    options->first_rank = draw(options->world_size);
    options->n_ranks = draw(options->world_size - options->first_rank) + 1;
    if (draw(3) == 0)
        draw_steps(&question, skip_steps, sizeof(skip_steps));
    if (draw(3) == 0)
        draw_records(&question, n_records, skip_records, sizeof(skip_records));
    if (draw(3) == 0)
        options->first_step = draw(n_base);
    if (options->first_step > 0)
        options->round_phase = draw(4) ? options->first_step : draw(options->first_step);
    (void)snprintf(text, sizeof(text),
                   "uneven: %s\n    %s\n    skip_steps: [%s]\n    skip_records: [%s]",
                   names[question.uneven], block_option(), skip_steps, skip_records);
    for (uint64_t epoch = 0; epoch < 2 && !answer.fails; epoch++)
        answer_epoch(&question, base, options->first_epoch + epoch, &answer);
    options->max_map_jobs = how.options.max_map_jobs;
    how.options = *options;
    how.on_batch = on_step;
    how.user = &steps;
    driven = drive_stream(CSV, text, stages, &how);
    if (n_base < options->world_size && question.uneven == LEAT_UNEVEN_DROP)
        assert_int_equal(driven.error.code, -ENODATA);
    else
        compare(&answer, &steps, &driven, text);
    leat_skips_deinit(&question.skips);
    free(steps.steps);
    free(answer.steps.steps);
}

static void test_random_questions(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        uint64_t n_records = 40 + draw(900), batch_size = draw(25) + 3;
        struct steps base = new_steps();
        struct drive how = {.options = {.n_epochs = 3}, .on_batch = on_step, .user = &base};
        char stages[512];

        (void)snprintf(stages, sizeof(stages), STAGES, (unsigned long long)batch_size);
        write_records(n_records);
        assert_int_equal(drive_stream(CSV, "", stages, &how).error.code, 0);
        for (int i = 0; i < 25; i++)
            ask(&base, base.n_steps / 3, n_records, stages);
        free(base.steps);
    }
}

/* The issue's own example: sums that everybody can check. */
static void count_record(const struct leat_output *output, void *user) {
    uint8_t *seen = user;
    uint64_t n;
    const int64_t *ids = batch_tensor(output, "id", LEAT_DTYPE_INT64, &n);

    for (uint64_t i = 0; i < n; i++)
        seen[ids[i]]++;
}

static void write_many(uint64_t n) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id\n");
    for (uint64_t id = 0; id < n; id++)
        leat_text_add(&text, "%llu\n", (unsigned long long)id);
    folder_write("many.csv", text.data, text.n_bytes);
    free(text.data);
}

#define N_MANY UINT64_C(1000003)

static void test_eight_ranks(void **state) {
    uint8_t *seen = calloc(N_MANY, 1);
    struct drive how = {.options = {.n_epochs = 1, .world_size = 8, .max_map_jobs = 8},
                        .on_batch = count_record,
                        .user = seen};
    const char *source = "csv: {paths: [many.csv]}";
    const char *stages = "- cast: {input: id, dtype: int64}\n- batch: {batch_size: 100}";
    uint64_t n_twice = 0;
    struct driven driven;

    (void)state;
    write_many(N_MANY);
    for (uint64_t rank = 0; rank < 8; rank++) {
        how.options.first_rank = rank;
        driven = drive_stream(source, "", stages, &how);
        assert_int_equal(driven.n_batches, 1250);
        assert_int_equal(driven.n_end_steps, 10000);
    }
    for (uint64_t id = 0; id < N_MANY; id++)
        assert_int_equal(seen[id], id < 1000000);
    memset(seen, 0, N_MANY);
    how.options.first_rank = 0;
    how.options.n_ranks = 8;
    driven = drive_stream(source, "uneven: pad", stages, &how);
    assert_int_equal(driven.n_batches, 10008);
    for (uint64_t id = 0; id < N_MANY; id++)
        n_twice += seen[id] - 1U;
    assert_int_equal(n_twice, 7 * 3); /* the last step has three rows */
    for (uint64_t id = N_MANY - 3; id < N_MANY; id++)
        assert_int_equal(seen[id], 8);
    driven = drive_stream(source, "uneven: error", stages, &how);
    assert_string_equal(
        driven.error.message,
        "epoch 0 has 10001 steps, which 8 ranks cannot share evenly: 1 step is too many. Set "
        "`uneven: drop` to leave it out, or `uneven: pad` to repeat batches");
    free(seen);
}

/* A run of some steps ends behind the last one that its rank has, however many are known. */
static void test_end_of_some_steps(void **state) {
    struct drive how = {.options = {.n_epochs = 1, .n_steps = 7, .world_size = 3}};
    const char *stages = "- cast: {input: id, dtype: int64}\n- batch: {batch_size: 10}";
    struct driven driven;

    (void)state;
    write_many(1000);
    for (uint64_t rank = 0; rank < 3; rank++) {
        how.options.first_rank = rank;
        driven = drive_stream("csv: {paths: [many.csv]}", "", stages, &how);
        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_batches, 7);
        assert_int_equal(driven.n_end_steps, 6 * 3 + rank + 1);
    }
}

/* ---- lists of what is left out ---- */

static void test_ranges(void **state) {
    static const struct leat_skip_range given[] = {{1, 10, 30}, {1, 12, 15}, {1, 29, 31},
                                                   {1, 33, 33}, {0, 40, 41}, {0, 42, 50}};
    struct leat_skips skips = {.has_records = true};

    (void)state;
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        assert_int_equal(leat_skip_list_add(&skips.records, &given[i]), 0);
    leat_skip_list_sort(&skips.records);
    assert_int_equal(skips.records.n_ranges, 3);
    for (uint64_t group = 0; group < 3; group++)
        for (uint64_t number = 0; number < 60; number++)
            assert_int_equal(leat_skips_has_record(&skips, group, number),
                             (group == 0 && number >= 40 && number <= 50) ||
                                 (group == 1 && ((number >= 10 && number <= 31) || number == 33)));
    leat_skips_deinit(&skips);
}

static void digest_of(uint64_t step, uint64_t record, uint8_t digest[LEAT_DIGEST_BYTES]) {
    struct leat_skip_range steps = {LEAT_SKIPS_EVERY, step, step}, records = {0, record, record};
    struct leat_skips skips = {.has_records = true};

    assert_int_equal(leat_skip_list_add(&skips.steps, &steps), 0);
    assert_int_equal(leat_skip_list_add(&skips.records, &records), 0);
    leat_skips_digest(&skips, digest);
    leat_skips_deinit(&skips);
}

/* Trainers whose lists differ do not share a run. */
static void test_digest(void **state) {
    uint8_t a[LEAT_DIGEST_BYTES], b[LEAT_DIGEST_BYTES];

    (void)state;
    digest_of(3, 5, a);
    digest_of(3, 5, b);
    assert_memory_equal(a, b, sizeof(a));
    digest_of(4, 5, b);
    assert_memory_not_equal(a, b, sizeof(a));
    digest_of(3, 6, b);
    assert_memory_not_equal(a, b, sizeof(a));
}

/* ---- with a cache, from the middle on ---- */

#define SKIPS                                                                                      \
    "block_bytes: 4096\n    skip_records: [\"data.csv:30-60\", 300, \"500-503\"]\n"                \
    "    skip_steps: [3, \"1:7-9\"]"

#define ORDERED(max_bytes)                                                                         \
    "- filter: {input: name, equals: one}\n- cast: {input: id, dtype: int64}\n"                    \
    "- select: {fields: [id]}\n- shuffle: {global: true, max_bytes: " max_bytes "}\n"              \
    "- batch: {batch_size: 9}"

static void test_cached(void **state) {
    const char *cached = "cache: {path: .}\n    " SKIPS;
    static const char stages[] = ORDERED("1MiB"), roomy[] = ORDERED("1GiB");
    struct drive whole = {.options = {.n_epochs = 2}};
    struct drive rest = {.options = {.n_epochs = 1, .first_epoch = 1, .first_step = 20}};
    struct driven first, last;

    (void)state;
    write_records(30000);
    first = drive_stream(CSV, SKIPS, roomy, &whole);
    last = drive_stream(CSV, SKIPS, roomy, &rest);
    assert_string_equal(first.error.message, "");
    for (int i = 0; i < 3; i++) {
        assert_string_equal(drive_stream(CSV, cached, stages, &whole).digest, first.digest);
        assert_string_equal(drive_stream(CSV, cached, stages, &rest).digest, last.digest);
    }
}

/* ---- an error behind the limit ---- */

/* At the end of its pass a full shuffle gives all batches at once. The round that is refused is an
 * error behind the batches in front of it, also where the run first wants fewer. */
static void test_late_error(void **state) {
    static const char stages[] = "- filter: {input: name, equals: one}\n"
                                 "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                                 "- shuffle: {global: true}\n- batch: {batch_size: 1}";
    struct drive how = {.options = {.n_epochs = 1, .n_ranks = 2, .world_size = 2}};
    struct driven whole, driven;

    (void)state;
    write_records(300);
    whole = drive_stream(CSV, "skip_records: [200]", stages, &how);
    assert_int_equal(whole.error.code, -EINVAL);
    assert_non_null(strstr(whole.error.message, "leave out 1 of the steps "));
    assert_in_range(whole.n_batches, 8, 290);
    for (uint64_t n = 1; n <= whole.n_batches + 4; n++) {
        how.options.n_steps = n;
        driven = drive_stream(CSV, "skip_records: [200]", stages, &how);
        assert_int_equal(driven.n_batches, n < whole.n_batches ? n : whole.n_batches);
        assert_string_equal(driven.error.message, n <= whole.n_batches ? "" : whole.error.message);
    }
    how.options.n_steps = 0;
    how.grows = true;
    for (uint64_t i = 1; i < 20; i++) {
        how.random = i;
        driven = drive_stream(CSV, "skip_records: [200]", stages, &how);
        assert_string_equal(driven.error.message, whole.error.message);
        assert_string_equal(driven.digest, whole.digest);
    }
}

/* ---- packed rows ---- */

struct tokens {
    size_t n_rows, n;
    int64_t ids[4096], rows[4096];
};

static void on_tokens(const struct leat_output *output, void *user) {
    struct tokens *tokens = user;
    uint64_t n;
    const int64_t *ids = batch_tensor(output, "ids", LEAT_DTYPE_INT64, &n);
    uint64_t length = batch_descriptor(output, "ids")->shape[1];

    for (uint64_t i = 0; i < n; i++) {
        if (ids[i] == 0)
            continue;
        tokens->rows[tokens->n] = (int64_t)(tokens->n_rows + i / length);
        tokens->ids[tokens->n++] = ids[i];
    }
    tokens->n_rows += output->n_rows;
}

/* Of a packed row only the parts of the record go; the others stay in their row. */
static void test_packed(void **state) {
    const char *source = "jsonl: {paths: [lists.jsonl], fields: {ids: \"list<int64>\"}}";
    const char *stages = "- pack: {fields: ids, length: 12, how: best_fit, value: 0}\n"
                         "- batch: {batch_size: 4}";
    struct tokens all = {.n = 0}, left = {.n = 0};
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = on_tokens};
    struct leat_text text = {.data = NULL};
    size_t at = 0;

    (void)state;
    for (int id = 1; id <= 200; id++) {
        leat_text_add(&text, "{\"ids\": [%d", id);
        for (int i = id % 6; i > 0; i--)
            leat_text_add(&text, ", %d", id);
        leat_text_add(&text, "]}\n");
    }
    folder_write("lists.jsonl", text.data, text.n_bytes);
    free(text.data);
    how.user = &all;
    assert_int_equal(drive_stream(source, "", stages, &how).error.code, 0);
    how.user = &left;
    assert_int_equal(
        drive_stream(source, "skip_records: [\"lists.jsonl:11-20\", 150]", stages, &how).error.code,
        0);
    assert_true(all.n_rows == left.n_rows);
    for (size_t i = 0; i < all.n; i++) {
        if ((all.ids[i] >= 11 && all.ids[i] <= 20) || all.ids[i] == 151)
            continue;
        assert_int_equal(left.ids[at], all.ids[i]);
        assert_int_equal(left.rows[at++], all.rows[i]);
    }
    assert_int_equal(at, left.n);
}

/* ---- what is refused ---- */

#define ONE "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n- batch: {batch_size: 5}"

static void check_options(const char *options, const char *expected) {
    const char *error = stream_error(CSV, options, ONE);

    if (!strstr(error, expected))
        fail_msg("%s: %s", options, error);
}

static void test_refused(void **state) {
    struct drive how = {.options = {.n_epochs = 1, .world_size = 4}};

    (void)state;
    write_records(200);
    check_options("skip_steps: [1, 0:x]",
                  "skip_steps[1]: \"0:x\" is not a step: write a number such as 17, ");
    check_options("skip_steps: [\"5-3\"]", "\"5-3\" is not a step");
    check_options("skip_steps: [\"-3\"]", "is not a step");
    check_options("skip_steps: [\"0:1:2\"]", "is not a step");
    check_options("skip_steps: [\"99999999999999999999999\"]", "numbers go up to 1e15");
    check_options("skip_records: [\"data.csv:0\"]", "is not a record");
    check_options("skip_records: [\":3\"]", "is not a record");
    check_options("skip_records: [data.csv]", "is not a record");
    check_options("skip_records: [1, \"other.csv:7\"]",
                  "skip_records[1]: \"other.csv:7\" names no file of the source");
    check_options("skip_records: [\"ata.csv:7\"]", "names no file");
    check_options("skip_records: [\"data.csv:1\"]", "is a line without a record");
    check_options("skip_records: [\"data.csv:5000-6000\"]", "is a line without a record");
    assert_string_equal(
        drive_stream(CSV, "skip_steps: [\"0:5-9\"]", ONE, &how).error.message,
        "skip_steps leaves out parts of rounds, so 4 ranks would have different numbers of steps "
        "(a round has one step for each rank): skip whole rounds with skip_steps: [\"0:4-11\"]");
    assert_int_equal(drive_stream(CSV, "skip_steps: [\"0:4-11\"]", ONE, &how).error.code, 0);
}

static void test_files(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven a, b;

    (void)state;
    folder_print("one.csv", "id\n1\n2\n3\n");
    folder_print("two.csv", "id\n4\n\n5\n6");
    a = drive_stream("csv: {paths: [one.csv, two.csv]}", "skip_records: [4, 2]", ONE, &how);
    assert_int_equal(a.n_rows, 4);
    b = drive_stream("csv: {paths: [one.csv, two.csv]}",
                     "skip_records: [\"./two.csv:4\", \"one.csv:4\"]", ONE, &how);
    assert_string_equal(a.digest, b.digest);
    b = drive_stream("csv: {paths: [one.csv, two.csv]}", "skip_records: [\"0-5\"]", ONE, &how);
    assert_int_equal(b.n_batches, 0); /* a step without rows is left out */
    assert_int_equal(b.n_end_steps, 2);
    assert_non_null(strstr(
        stream_error("csv: {paths: [one.csv, one.csv]}", "skip_records: [\"one.csv:2\"]", ONE),
        "names several files"));
    assert_non_null(strstr(stream_error("mix: {sources: [{csv: {paths: [one.csv]}}, {csv: {paths: "
                                        "[two.csv]}}], weights: [1, 2]}",
                                        "skip_records: [2]", ONE),
                           "but mixed sources need file:line"));
    a = drive_stream(
        "mix: {sources: [{csv: {paths: [one.csv]}}, {csv: {paths: [two.csv]}}], weights: [1, 2]}",
        "skip_records: [\"two.csv:2-4\"]", ONE, &how);
    b = drive_stream(
        "mix: {sources: [{csv: {paths: [one.csv]}}, {csv: {paths: [two.csv]}}], weights: [1, 2]}",
        "", ONE, &how);
    assert_int_equal(a.n_rows + 2, b.n_rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_questions),
        cmocka_unit_test(test_eight_ranks),
        cmocka_unit_test(test_end_of_some_steps),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_cached),
        cmocka_unit_test(test_late_error),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
