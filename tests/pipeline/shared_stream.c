/* shared_stream.c: see shared_stream.h. Slots are malloc'ed to the byte and filled with noise
 * before they are given, so that asan sees what is written outside and the digest what is not
 * written. */
#include "tests/pipeline/shared_stream.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/inspect/explain.h"
#include "pipeline/inspect/head.h"
#include "pipeline/spec/yaml.h"

/* ---- files ---- */

static char folder[64];

int folder_open(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/leat-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

int folder_close(void **state) {
    DIR *directory = opendir(folder);
    struct dirent *entry;

    (void)state;
    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    return rmdir(folder);
}

const char *folder_path(const char *name) {
    static char paths[4][256];
    static size_t turn;
    char *path = paths[turn++ % 4];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

void folder_write(const char *name, const void *bytes, size_t n_bytes) {
    FILE *file = fopen(folder_path(name), "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
}

void folder_print(const char *name, const char *format, ...) {
    FILE *file = fopen(folder_path(name), "wb");
    va_list ap;

    assert_non_null(file);
    va_start(ap, format);
    assert_true(vfprintf(file, format, ap) >= 0);
    va_end(ap);
    assert_int_equal(fclose(file), 0);
}

char *folder_read(const char *name) {
    struct leat_error err = LEAT_ERROR_INIT;
    char *data = NULL;
    size_t size;

    if (leat_opener_read(&leat_opener_operator, folder_path(name), 1U << 30, &data, &size, &err) <
        0)
        return NULL;
    return data;
}

/* ---- specs and plans ---- */

struct leat_spec *stream_spec(const char *source, const char *options, const char *stages) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec **specs = NULL, *spec;
    struct leat_text yaml = {.data = NULL};
    struct leat_value document;
    size_t n_specs = 0;

    leat_text_add(&yaml, "streams:\n  x:\n    source: {%s}\n", source);
    if (options[0])
        leat_text_add(&yaml, "    %s\n", options);
    leat_text_add(&yaml, "    stages:\n");
    for (const char *line = stages, *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        leat_text_add(&yaml, "      %.*s\n", (int)(end - line), line);
    }
    if (leat_yaml_parse(yaml.data, yaml.n_bytes, folder_path("x.yaml"), &document, &err) < 0 ||
        leat_yaml_streams(&document, folder_path("x.yaml"), &specs, &n_specs, &err) < 0)
        fail_msg("%s\n%s", err.message, yaml.data);
    assert_int_equal(n_specs, 1);
    spec = specs[0];
    free(specs);
    free(yaml.data);
    leat_value_deinit(&document);
    return spec;
}

char *stream_explain(const struct leat_plan *plan, uint32_t n_workers, bool as_json) {
    struct leat_explain_options options = {
        .format = as_json ? LEAT_EXPLAIN_JSON : LEAT_EXPLAIN_TEXT, .n_workers = n_workers};

    return leat_explain(plan, &options);
}

struct leat_plan *stream_plan(const char *source, const char *options, const char *stages) {
    struct leat_spec *spec = stream_spec(source, options, stages);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_plan *plan = NULL;
    char text[LEAT_ERROR_PRINT_MAX];

    if (leat_pipeline_open(spec, &leat_opener_operator, &plan, &err) < 0) {
        (void)leat_error_print(&err, text, sizeof(text));
        fail_msg("%s", text);
    }
    leat_spec_free(spec);
    return plan;
}

const char *stream_error(const char *source, const char *options, const char *stages) {
    static char text[LEAT_ERROR_PRINT_MAX];
    struct leat_spec *spec = stream_spec(source, options, stages);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_plan *plan = NULL;
    size_t n_folder = strlen(folder) + 1;
    int r = leat_pipeline_open(spec, &leat_opener_operator, &plan, &err);

    if (r >= 0)
        fail_msg("there is no error in\n%s", stages);
    assert_int_equal(r, err.code);
    assert_null(plan);
    leat_spec_free(spec);
    (void)leat_error_print(&err, text, sizeof(text));
    return strncmp(text, folder, n_folder - 1) == 0 ? text + n_folder : text;
}

char *stream_head(const char *source, const char *options, const char *stages, int after_stage,
                  uint64_t n) {
    struct leat_spec *spec = stream_spec(source, options, stages);
    struct leat_text text = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    char printed[LEAT_ERROR_PRINT_MAX];
    struct leat_head_bad bad;
    int r = leat_head(spec, &leat_opener_operator, after_stage, n, &text, &bad, &err);

    assert_int_equal(r, err.code);
    if (r < 0) {
        (void)leat_error_print(&err, printed, sizeof(printed));
        leat_text_add(&text, "%s\n",
                      strstr(printed, folder) == printed ? printed + strlen(folder) + 1 : printed);
    }
    leat_spec_free(spec);
    leat_text_add(&text, "%s", "");
    return text.data;
}

static const char *write_source(const char *data) {
    bool is_json = data[0] == '{';

    folder_print(is_json ? "in.jsonl" : "in.csv", "%s", data);
    return is_json ? "jsonl: {paths: [in.jsonl]}" : "csv: {paths: [in.csv]}";
}

void check_rows(const char *data, const char *stages, const char *expected) {
    const char *source = write_source(data);
    struct leat_spec *spec = stream_spec(source, "", stages);
    int last = (int)spec->n_stages - 1;
    struct leat_text all = {.data = NULL};
    char *rows;

    leat_spec_free(spec);
    leat_text_add(&all, "%s\n%s", stages, /* something that can be in a batch */
                  "- template: {output: end, parts: ['1']}\n- cast: {input: end, dtype: int32}\n"
                  "- select: {fields: [end]}");
    rows = stream_head(source, "", all.data, last, 1000);
    free(all.data);
    if (strcmp(rows, expected) != 0)
        fail_msg("%s\nof\n%s\ngives\n%s\nexpected\n%s", stages, data, rows, expected);
    free(rows);
}

void check_refused(const char *data, const char *stages, const char *expected) {
    const char *printed = stream_error(write_source(data), "", stages);

    if (strcmp(printed, expected) != 0)
        fail_msg("%s\nof\n%s\ngives\n%s\nexpected\n%s", stages, data, printed, expected);
}

/* ---- runs ---- */

#define JOBS_MAX  64
#define SLOTS_MAX 256

struct driver {
    const struct drive *how;
    struct leat_run *run;
    uint64_t random;
    struct leat_job *jobs[JOBS_MAX];
    unsigned n_jobs;
    struct leat_slot slots[SLOTS_MAX];
    bool is_given[SLOTS_MAX];
    size_t slot_bytes;
    struct leat_output held[SLOTS_MAX];
    unsigned n_held, n_slots;
    uint64_t n_epochs, n_steps; /* that the run was told of by now */
    bool has_ended;             /* it can be told no more */
    struct leat_blake2b blake;
    struct driven result;
};

static uint64_t draw(struct driver *driver, uint64_t n) {
    struct leat_rng rng = {.state = driver->random};
    uint64_t drawn = leat_rng_below(&rng, n);

    driver->random = rng.state;
    return drawn;
}

static void make_slots(struct driver *driver, size_t size_bytes) {
    struct leat_slot slot;

    while (leat_run_take_slot_back(driver->run, &slot)) {
        assert_true(driver->is_given[slot.index]);
        driver->is_given[slot.index] = false;
    }
    driver->slot_bytes = size_bytes;
    driver->result.n_growths++;
}

/* Gives every slot that is free and large enough; a free slot that is too small is made anew. */
static bool give_slots(struct driver *driver) {
    bool has_given = false;

    for (unsigned i = 0; i < driver->n_slots; i++) {
        struct leat_slot *slot = &driver->slots[i];

        if (driver->is_given[i])
            continue;
        if (slot->size_bytes != driver->slot_bytes) {
            free(slot->memory);
            *slot = (struct leat_slot){.memory = malloc(driver->slot_bytes),
                                       .size_bytes = driver->slot_bytes,
                                       .index = i,
                                       .generation = driver->slot_bytes};
        }
        memset(slot->memory, 0xa5, slot->size_bytes);
        if (leat_run_give_slot(driver->run, slot) == -EMSGSIZE) {
            make_slots(driver, leat_run_slot_need(driver->run));
            return give_slots(driver);
        }
        driver->is_given[i] = has_given = true;
    }
    return has_given;
}

static void hash_output(struct driver *driver, const struct leat_output *output) {
    struct leat_error err = LEAT_ERROR_INIT;
    const struct leat_slot_header *header = output->slot.memory;

    leat_blake2b_u64(&driver->blake, output->kind);
    leat_blake2b_u64(&driver->blake, output->epoch);
    leat_blake2b_u64(&driver->blake, output->step);
    if (output->kind == LEAT_OUTPUT_EPOCH_END) {
        leat_blake2b_u64(&driver->blake, output->is_last);
        driver->result.n_epochs++;
        driver->result.n_end_steps = output->step;
        driver->has_ended |= output->is_last;
        return;
    }
    assert_int_equal(leat_slot_check(output->slot.memory, output->used_bytes, &err), 0);
    assert_int_equal(header->epoch, output->epoch);
    assert_int_equal(header->step, output->step);
    assert_int_equal(header->n_rows, output->n_rows);
    assert_int_equal(header->used_bytes, output->used_bytes);
    leat_blake2b_update(&driver->blake, output->slot.memory, output->used_bytes);
    driver->result.n_batches++;
    driver->result.n_rows += output->n_rows;
}

static void release_oldest(struct driver *driver) {
    uint32_t index = driver->held[0].slot.index;

    assert_true(driver->is_given[index]);
    driver->is_given[index] = false;
    driver->n_held--;
    memmove(driver->held, driver->held + 1, driver->n_held * sizeof(driver->held[0]));
}

static uint64_t grown(struct driver *driver, uint64_t has, uint64_t target) {
    uint64_t n = has + draw(driver, 4);

    return target > 0 && n > target ? target : n;
}

/* At the latest before the end that it has would be taken. */
static void grow(struct driver *driver) {
    const struct leat_run_options *wanted = &driver->how->options;
    struct leat_error err = LEAT_ERROR_INIT;

    if (!driver->how->grows || driver->has_ended)
        return;
    if (driver->result.n_batches >= driver->n_steps)
        driver->n_steps = grown(driver, driver->n_steps + 1, wanted->n_steps);
    if (driver->result.n_epochs + 1 >= driver->n_epochs)
        driver->n_epochs = grown(driver, driver->n_epochs + 1, wanted->n_epochs);
    if (draw(driver, 8) == 0)
        driver->n_steps = grown(driver, driver->n_steps, wanted->n_steps);
    assert_int_equal(leat_run_extend(driver->run, driver->n_epochs, driver->n_steps, &err), 0);
}

/* Nothing is taken before the run knows of the last epoch. */
static bool is_late(const struct driver *driver) {
    return driver->how->grows_late && driver->n_epochs < driver->how->options.n_epochs;
}

static void grow_late(struct driver *driver) {
    struct leat_error err = LEAT_ERROR_INIT;

    (void)leat_run_first_waiting(driver->run);
    assert_int_equal(leat_run_extend(driver->run, ++driver->n_epochs, 0, &err), 0);
}

static bool take_output(struct driver *driver, struct leat_output *ret_output) {
    grow(driver);
    return leat_run_take_output(driver->run, ret_output);
}

/* How many there were. */
static unsigned take_outputs(struct driver *driver) {
    struct leat_output output;
    unsigned n = 0;

    if (is_late(driver))
        return 0;
    for (; take_output(driver, &output); n++) {
        hash_output(driver, &output);
        if (output.kind != LEAT_OUTPUT_BATCH)
            continue;
        assert_ptr_equal(output.slot.memory, driver->slots[output.slot.index].memory);
        if (driver->how->on_batch)
            driver->how->on_batch(&output, driver->how->user);
        driver->held[driver->n_held++] = output;
        while (driver->n_held > driver->how->n_held)
            release_oldest(driver);
        if (driver->result.n_batches == driver->how->cancel_after) {
            leat_run_cancel(driver->run);
            driver->has_ended = true;
        }
    }
    return n;
}

static void *execute(void *job) {
    leat_job_execute(job);
    return NULL;
}

/* Executes all that are out at the same time. */
static void execute_in_threads(struct driver *driver) {
    pthread_t threads[JOBS_MAX];

    for (unsigned i = 0; i < driver->n_jobs; i++)
        leat_job_start(driver->jobs[i]);
    for (unsigned i = 0; i < driver->n_jobs; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, execute, driver->jobs[i]), 0);
    for (unsigned i = 0; i < driver->n_jobs; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void complete(struct driver *driver, unsigned at, bool is_executed) {
    struct leat_job *job = driver->jobs[at];

    driver->jobs[at] = driver->jobs[--driver->n_jobs];
    if (!is_executed) {
        leat_job_start(job);
        leat_job_execute(job);
    }
    leat_run_complete(driver->run, job);
}

static void complete_one(struct driver *driver) {
    unsigned at = 0;

    assert_true(driver->n_jobs > 0); /* else the run waits for nothing */
    if (driver->how->in_threads) {
        execute_in_threads(driver);
        while (driver->n_jobs > 0)
            complete(driver, (unsigned)draw(driver, driver->n_jobs), true);
        return;
    }
    if (driver->how->random)
        at = (unsigned)draw(driver, driver->n_jobs);
    complete(driver, at, false);
}

static void needs_slot(struct driver *driver) {
    size_t need = leat_run_slot_need(driver->run);

    assert_true(need > 0);
    if (need > driver->slot_bytes)
        make_slots(driver, need);
    if (give_slots(driver))
        return;
    if (driver->n_held > 0)
        release_oldest(driver);
    else if (driver->n_jobs > 0 || !is_late(driver))
        complete_one(driver);
    else
        grow_late(driver);
}

static void turn_knobs(struct driver *driver) {
    static const uint64_t most[LEAT_N_KNOBS] = {262144, 16, 8, 16};
    struct leat_knobs knobs, before;

    if (draw(driver, 4) > 0)
        return;
    leat_run_get_knobs(driver->run, &before);
    knobs = before;
    for (int i = 0; i < LEAT_N_KNOBS; i++)
        if (draw(driver, 2) == 0)
            knobs.of[i] = draw(driver, most[i]) >> draw(driver, 12); /* 0 too */
    leat_run_set_knobs(driver->run, &knobs);
    leat_knobs_clamp(&knobs);
    leat_run_get_knobs(driver->run, &before);
    assert_true(leat_knobs_equal(&knobs, &before));
}

static void step(struct driver *driver, bool *is_ended) {
    unsigned max = driver->how->n_jobs ? driver->how->n_jobs : 1, n_taken;
    struct leat_job *job;

    if (driver->how->turns_knobs)
        turn_knobs(driver);
    if (driver->n_jobs == max || (driver->how->random && driver->n_jobs && draw(driver, 3) == 0)) {
        complete_one(driver);
        take_outputs(driver);
        return;
    }
    switch (leat_run_next_job(driver->run, &job)) {
    case LEAT_RUN_JOB:
        driver->jobs[driver->n_jobs++] = job;
        break;
    case LEAT_RUN_NEEDS_SLOT:
        needs_slot(driver);
        break;
    case LEAT_RUN_WAITING:
        n_taken = take_outputs(driver);
        if (driver->n_jobs > 0)
            complete_one(driver);
        else if (is_late(driver))
            grow_late(driver);
        else if (n_taken == 0 && driver->how->on_wait)
            driver->how->on_wait(driver->run, driver->how->user);
        else
            assert_true(n_taken > 0); /* else the run waits for nothing */
        break;
    case LEAT_RUN_ENDED:
        *is_ended = true;
        break;
    default:
        fail();
    }
    take_outputs(driver);
}

static void take_cache_stats(struct driven *result) {
    const struct leat_run_stats *stats = &result->stats;

    result->cache_note = *stats->cache_note;
    for (size_t i = 0; i < stats->n_stages; i++) {
        const struct leat_run_stage_stats *stage = &stats->stages[i];

        if (stage->role == LEAT_ROLE_SOURCE)
            result->n_made = stage->figures.n_records;
        if (stage->role != LEAT_ROLE_CACHE)
            continue;
        result->n_cached = stage->figures.n_records;
        result->n_damaged = stage->figures.n_errors;
    }
}

static void finish(struct driver *driver) {
    const struct leat_error *err = leat_run_error(driver->run);
    uint8_t digest[LEAT_DIGEST_BYTES];
    struct leat_error ignored = LEAT_ERROR_INIT;
    struct leat_slot slot;

    assert_int_equal(driver->n_jobs, 0);
    if (driver->has_ended)
        assert_int_equal(leat_run_extend(driver->run, 0, 0, &ignored), -EPIPE);
    if (err)
        driver->result.error = *err;
    leat_run_get_stats(driver->run, &driver->result.stats);
    leat_blake2b_final(&driver->blake, digest);
    leat_digest_hex(digest, driver->result.digest);
    while (driver->n_held > 0)
        release_oldest(driver);
    while (leat_run_take_slot_back(driver->run, &slot)) {
        assert_true(driver->is_given[slot.index]);
        driver->is_given[slot.index] = false;
    }
    for (unsigned i = 0; i < driver->n_slots; i++) {
        assert_true(!driver->is_given[i] || driver->how->cancel_after > 0); /* none is lost */
        free(driver->slots[i].memory);
    }
    take_cache_stats(&driver->result);
    driver->result.stats.stages = NULL;
    driver->result.stats.cache_note = NULL;
    driver->result.stats.last_bad = NULL;
    leat_run_free(driver->run);
}

struct driven drive(struct leat_plan *plan, const struct drive *how) {
    struct leat_run_options options = how->options;
    struct leat_error err = LEAT_ERROR_INIT;
    struct driver *driver = calloc(1, sizeof(*driver));
    struct driven result;
    bool is_ended = false;
    uint64_t n_steps = 0;

    options.opener = options.opener ? options.opener : &leat_opener_operator;
    options.max_map_jobs = options.max_map_jobs ? options.max_map_jobs : 4;
    options.is_unfused |= how->random % 2 == 1; /* makes no difference either */
    driver->how = how;
    driver->random = how->random;
    driver->n_slots = how->n_slots ? how->n_slots : 4;
    driver->slot_bytes = how->slot_bytes ? how->slot_bytes : plan->slot_bytes;
    leat_blake2b_init(&driver->blake);
    if (how->grows)
        options.n_epochs = options.n_steps = driver->n_epochs = driver->n_steps = 1;
    if (how->grows_late)
        options.n_epochs = driver->n_epochs = 1;
    if (leat_run_new(plan, &options, &driver->run, &err) < 0) {
        result = (struct driven){.error = err};
        free(driver);
        return result;
    }
    while (!is_ended) {
        step(driver, &is_ended);
        assert_true(++n_steps < UINT64_C(100000000));
    }
    finish(driver);
    result = driver->result;
    free(driver);
    return result;
}

struct driven drive_stream(const char *source, const char *options, const char *stages,
                           const struct drive *how) {
    struct leat_plan *plan = stream_plan(source, options, stages);
    struct driven result = drive(plan, how);

    leat_plan_unref(plan);
    return result;
}

/* ---- batches ---- */

const struct leat_slot_tensor *batch_descriptor(const struct leat_output *output,
                                                const char *name) {
    const struct leat_slot_header *header = output->slot.memory;
    const struct leat_slot_tensor *tensors = (const struct leat_slot_tensor *)(header + 1);

    for (size_t i = 0; i < header->n_tensors; i++)
        if (strcmp(tensors[i].name, name) == 0)
            return &tensors[i];
    fail_msg("there is no tensor %s", name);
    return NULL;
}

const void *batch_tensor(const struct leat_output *output, const char *name, enum leat_dtype dtype,
                         uint64_t *ret_n_elements) {
    const struct leat_slot_tensor *tensor = batch_descriptor(output, name);

    assert_int_equal(tensor->dtype, dtype);
    *ret_n_elements = tensor->size_bytes / leat_dtype_size(dtype);
    return (const uint8_t *)output->slot.memory + tensor->offset;
}

void collect(const struct leat_output *output, void *user) {
    struct collected *collected = user;
    uint64_t n;
    const void *values = batch_tensor(output, collected->name, LEAT_DTYPE_INT64, &n);

    if (collected->n_values + n > collected->capacity) {
        collected->capacity = (collected->n_values + n) * 2;
        collected->values =
            realloc(collected->values, collected->capacity * sizeof(*collected->values));
        assert_non_null(collected->values);
    }
    memcpy(collected->values + collected->n_values, values, n * sizeof(*collected->values));
    collected->n_values += n;
}

void collected_free(struct collected *collected) {
    free(collected->values);
}
