/* test_trace.c: pipeline/run/trace.c, run/tracing.c: the ring against a queue; what a run puts
 * there is all of its jobs and batches, nested and in order, and changes nothing of what it does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/profile/trace.h"
#include "tests/pipeline/shared_records.h"

#define STAGES                                                                                     \
    CASTS "- select: {fields: [id, age]}\n- shuffle: {buffer_size: 100}\n- batch: {batch_size: "   \
          "16}"
#define N_RECORDS 2000
#define N_GOOD    (N_RECORDS - N_RECORDS / 100)
#define N_BATCHES ((N_GOOD + 15) / 16) /* of an epoch */
#define JOBS_MAX  6
#define TICK_NS   60000

/* ---- the ring ---- */

static void test_ring(void **state) {
    struct leat_trace *trace = leat_trace_new(7);
    uint64_t n_in = 0, n_out = 0, n_dropped = 0;
    struct leat_trace_event event;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        size_t n = draw(4) + 1;

        if (draw(2) == 0) {
            bool has_room = 7 - (n_in - n_out) >= n;

            assert_int_equal(leat_trace_has_room(trace, n), has_room);
            n_dropped += has_room ? 0 : n;
            for (size_t k = 0; has_room && k < n; k++)
                leat_trace_add(trace, &(struct leat_trace_event){.place = n_in++});
            continue;
        }
        while (n-- > 0 && leat_trace_take(trace, &event))
            assert_int_equal(event.place, n_out++);
        assert_int_equal(trace->n_events, n_in - n_out);
    }
    assert_int_equal(trace->n_dropped, n_dropped);
    assert_true(n_dropped > 100 && n_out > 1000);
    leat_trace_free(trace);
}

static void test_names_and_files_are_limited(void **state) {
    static char names[2 * LEAT_TRACE_NAMES_MAX][8];
    struct leat_trace *trace = leat_trace_new(1);
    char name[3 * LEAT_TRACE_FILE_MAX];

    (void)state;
    for (uint32_t i = 0; i < 2 * LEAT_TRACE_NAMES_MAX; i++) {
        uint32_t expected = i + 1 < LEAT_TRACE_NAMES_MAX ? i + 1 : 0;

        (void)snprintf(names[i], sizeof(names[i]), "%u", i);
        assert_int_equal(leat_trace_name(trace, names[i]), expected);
        assert_int_equal(leat_trace_name(trace, names[i]), expected);
    }
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 2] = 'z';
    name[sizeof(name) - 1] = '\0';
    for (uint32_t i = 0; i < 2 * LEAT_TRACE_FILES_MAX; i++)
        assert_int_equal(leat_trace_add_file(trace, name),
                         i < LEAT_TRACE_FILES_MAX ? i : LEAT_TRACE_NO_FILE);
    assert_int_equal(strlen(trace->files[0]), LEAT_TRACE_FILE_MAX);
    assert_int_equal(trace->files[0][LEAT_TRACE_FILE_MAX - 1], 'z');
    leat_trace_free(trace);
}

/* ---- a run ---- */

static uint64_t clock_ns;

static uint64_t look(void) {
    return clock_ns += TICK_NS;
}

struct seen {
    uint64_t n_blocks; /* as the profile says */
    uint64_t n_maps, n_rows, n_stages, n_batches, n_order_rows, n_counts, job_end_ns, stages_ns;
    struct leat_trace_event job;
};

static void see_job(struct seen *seen, const struct leat_trace *trace,
                    const struct leat_trace_event *event) {
    const char *name = trace->names[event->name];

    assert_true(seen->stages_ns <= seen->job.duration_ns);
    seen->job = *event;
    seen->stages_ns = 0;
    seen->job_end_ns = event->start_ns; /* where the first of its stages may begin */
    if (strcmp(name, "map") != 0)
        return;
    assert_string_equal(trace->files[event->file], "data.csv");
    assert_int_equal(event->thread, 5);
    seen->n_maps++;
    seen->n_rows += event->n_rows;
}

static void see_stage(struct seen *seen, const struct leat_trace_event *event) {
    assert_int_equal(event->thread, seen->job.thread);
    assert_true(event->start_ns >= seen->job_end_ns);
    seen->job_end_ns = event->start_ns + event->duration_ns;
    assert_true(seen->job_end_ns <= seen->job.start_ns + seen->job.duration_ns);
    seen->stages_ns += event->duration_ns;
    seen->n_stages++;
}

static void see_all(struct seen *seen, struct leat_trace *trace) {
    struct leat_trace_event event;

    while (leat_trace_take(trace, &event)) {
        assert_in_range(event.name, 0, trace->n_names - 1);
        if (event.kind == LEAT_TRACE_JOB)
            see_job(seen, trace, &event);
        else if (event.kind == LEAT_TRACE_STAGE)
            see_stage(seen, &event);
        else if (event.kind == LEAT_TRACE_LOOP)
            seen->n_order_rows += event.n_rows;
        else if (event.kind == LEAT_TRACE_BATCH)
            assert_int_equal(event.place, seen->n_batches++ % N_BATCHES);
        else
            seen->n_counts++;
    }
}

/* A digest of all batches, whose jobs come back in any order. */
static void run_all(struct leat_run *run, struct leat_plan *plan, struct leat_blake2b *digest) {
    size_t size = (plan->slot_bytes + 4095) / 4096 * 4096;
    struct leat_slot slot = {.memory = aligned_alloc(4096, size), .size_bytes = size};
    struct leat_job *jobs[JOBS_MAX];
    unsigned n_jobs = 0;
    struct leat_output output;
    int r;

    while ((r = leat_run_next_job(run, &jobs[n_jobs])) != LEAT_RUN_ENDED) {
        n_jobs += r == LEAT_RUN_JOB;
        if (n_jobs == 0 && r == LEAT_RUN_NEEDS_SLOT)
            assert_int_equal(leat_run_give_slot(run, &slot), 0);
        if (n_jobs == JOBS_MAX || (n_jobs > 0 && r != LEAT_RUN_JOB)) {
            unsigned at = (unsigned)draw(n_jobs);
            struct leat_job *job = jobs[at];

            jobs[at] = jobs[--n_jobs];
            leat_job_set_thread(job, 5);
            leat_job_start(job);
            leat_job_execute(job);
            leat_run_complete(run, job);
        }
        while (leat_run_take_output(run, &output))
            if (output.kind == LEAT_OUTPUT_BATCH)
                leat_blake2b_update(digest, output.slot.memory, (size_t)output.used_bytes);
    }
    free(slot.memory);
}

static void digest_of(size_t capacity, struct seen *seen, struct leat_run_stats *ret_stats,
                      uint64_t *ret_n_dropped, uint8_t ret_digest[LEAT_DIGEST_BYTES]) {
    struct leat_run_options options = {
        .n_epochs = 2, .max_map_jobs = 4, .opener = &leat_opener_any, .now_ns = look};
    struct leat_plan *plan = stream_plan(CSV, "block_bytes: 4096\n    on_error: skip", STAGES);
    struct leat_trace *trace = capacity ? leat_trace_new(capacity) : NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_blake2b digest;
    struct leat_run *run;

    assert_int_equal(leat_run_new(plan, &options, &run, &err), 0);
    leat_run_set_trace(run, trace);
    leat_blake2b_init(&digest);
    run_all(run, plan, &digest);
    leat_run_get_stats(run, ret_stats);
    leat_blake2b_final(&digest, ret_digest);
    *seen = (struct seen){.n_blocks = 0};
    *ret_n_dropped = 0;
    if (trace) {
        *ret_n_dropped = trace->n_dropped;
        for (size_t i = 0; i < ret_stats->n_stages; i++)
            if (ret_stats->stages[i].role == LEAT_ROLE_SOURCE)
                seen->n_blocks = ret_stats->stages[i].times.n;
        see_all(seen, trace);
    }
    leat_run_free(run);
    leat_plan_unref(plan);
    leat_trace_free(trace);
}

static void test_runs(void **state) {
    uint8_t plain[LEAT_DIGEST_BYTES], traced[LEAT_DIGEST_BYTES];
    struct leat_run_stats stats;
    struct seen seen;
    uint64_t n_dropped;

    (void)state;
    write_data("data.csv", 0, N_RECORDS, 100);
    digest_of(0, &seen, &stats, &n_dropped, plain);
    for (int i = 0; i < 5; i++) {
        digest_of(1 << 16, &seen, &stats, &n_dropped, traced);
        assert_memory_equal(plain, traced, sizeof(plain));
        assert_int_equal(n_dropped, 0);
        assert_int_equal(seen.n_maps, seen.n_blocks);
        assert_int_equal(seen.n_rows, 2 * N_RECORDS);
        assert_int_equal(seen.n_order_rows, 2 * N_GOOD);
        assert_true(seen.n_counts > 0);
        assert_int_equal(seen.n_batches, stats.counts.figures.n_batches);
    }
    digest_of(50, &seen, &stats, &n_dropped, traced);
    assert_memory_equal(plain, traced, sizeof(plain));
    assert_true(n_dropped > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_names_and_files_are_limited),
        cmocka_unit_test(test_runs),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
