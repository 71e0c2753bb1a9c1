/* shared_starts.c: see shared_starts.h. */
#include "tests/pipeline/shared_starts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/blake2b.h"
#include "tests/pipeline/shared_records.h"

static void see(const struct leat_output *output, void *user) {
    struct sequence *sequence = user;
    struct leat_blake2b blake;
    struct seen *seen;

    if (sequence->n == sequence->capacity) {
        sequence->capacity = sequence->capacity ? sequence->capacity * 2 : 64;
        sequence->seen = realloc(sequence->seen, sequence->capacity * sizeof(*sequence->seen));
        assert_non_null(sequence->seen);
    }
    seen = &sequence->seen[sequence->n++];
    *seen = (struct seen){.epoch = output->epoch, .step = output->step, .n_rows = output->n_rows};
    leat_blake2b_init(&blake);
    leat_blake2b_update(&blake, output->slot.memory, (size_t)output->used_bytes);
    leat_blake2b_final(&blake, seen->digest);
}

struct driven see_sequence(const char *source, const char *options, const char *stages,
                           struct drive how, struct sequence *sequence) {
    *sequence = (struct sequence){.seen = NULL};
    how.on_batch = see;
    how.user = sequence;
    return drive_stream(source, options, stages, &how);
}

void assert_rest(const struct sequence *whole, const struct sequence *part, uint64_t epoch,
                 uint64_t step) {
    size_t at = 0;

    while (at < whole->n && (whole->seen[at].epoch < epoch ||
                             (whole->seen[at].epoch == epoch && whole->seen[at].step < step)))
        at++;
    assert_int_equal(part->n, whole->n - at);
    for (size_t i = 0; i < part->n; i++) {
        assert_int_equal(part->seen[i].epoch, whole->seen[at + i].epoch);
        assert_int_equal(part->seen[i].step, whole->seen[at + i].step);
        assert_int_equal(part->seen[i].n_rows, whole->seen[at + i].n_rows);
        assert_memory_equal(part->seen[i].digest, whole->seen[at + i].digest, LEAT_DIGEST_BYTES);
    }
}

/* ---- streams ---- */

const char *const start_tails[] = {
    "- batch: {batch_size: 7}",
    "- shuffle: {buffer_size: 200, seed: 3}\n- batch: {batch_size: 32}",
    "- shuffle: {global: true}\n- batch: {batch_size: 30, drop_last: true}",
    "- skip: {count: 100}\n- take: {count: 1200}\n- batch: {batch_size: 10}",
    "- take: {count: 300}\n- repeat: {count: 4}\n- shuffle: {buffer_size: 64}\n"
    "- batch: {batch_size: 11}",
    "- shuffle: {buffer_size: 64}\n- repeat: {count: 0}\n- take: {count: 4000}\n"
    "- batch: {batch_size: 11}",
    "- shuffle: {buffer_size: 64}\n- shuffle: {buffer_size: 700, reshuffle_each_epoch: false}\n"
    "- batch: {batch_size: 1}",
    "- filter: {input: age, min: 30}\n- batch: {batch_size: 10}",
    "- shuffle: {buffer_size: 50}\n- filter: {input: age, min: 30}\n- batch: {batch_size: 10}",
    "- hash_bucket: {input: id, output: some, buckets: 200}\n- dedup: {input: some}\n"
    "- batch: {batch_size: 4}",
    "- sample: {fraction: 0.5, each_epoch: false}\n- shuffle: {buffer_size: 99}\n"
    "- batch: {batch_size: 8}",
    /* not of every source */
    "- shuffle: {blocks: true, block_size: 90, buffer_size: 100}\n- batch: {batch_size: 32}",
};
const size_t n_plain_start_tails = sizeof(start_tails) / sizeof(start_tails[0]) - 1;
const size_t n_start_tails = sizeof(start_tails) / sizeof(start_tails[0]);

const char *start_stages(size_t tail) {
    static char stages[1024];

    (void)snprintf(stages, sizeof(stages), "%s- select: {fields: [age, id]}\n%s", CASTS,
                   start_tails[tail]);
    return stages;
}

static struct drive drawn_drive(const struct leat_run_options *options) {
    struct drive how = random_drive();
    uint32_t max_map_jobs = how.options.max_map_jobs;

    how.options = *options;
    how.options.max_map_jobs = max_map_jobs;
    how.in_threads = draw(4) == 0;
    how.turns_knobs = draw(4) == 0;
    return how;
}

void check_starts(const struct starts *starts, int n) {
    struct leat_run_options all = {.n_epochs = START_EPOCHS};
    struct sequence whole, part;
    struct driven driven;

    all.world_size = draw(3) == 0 ? 1 + draw(4) : 1;
    all.first_rank = draw(all.world_size);
    driven = see_sequence(starts->source, starts->base, starts->stages,
                          (struct drive){.options = all}, &whole);
    assert_string_equal(driven.error.message, "");
    assert_true(whole.n > 0);
    for (int i = 0; i < n; i++) {
        struct leat_run_options some = starts->run;
        const struct seen *start = &whole.seen[draw(whole.n)];
        char text[256];

        some.world_size = all.world_size;
        some.first_rank = all.first_rank;
        some.first_epoch = start->epoch;
        some.first_step = start->step - (start->step > 0 ? draw(2) : 0);
        some.n_epochs = START_EPOCHS - some.first_epoch;
        (void)snprintf(text, sizeof(text), "%s\n    %s\n    %s", starts->base, block_option(),
                       starts->options);
        if (starts->before)
            starts->before();
        driven = see_sequence(starts->source, text, starts->stages, drawn_drive(&some), &part);
        assert_string_equal(driven.error.message, "");
        if (!starts->may_note)
            assert_string_equal(driven.cache_note.message, "");
        assert_rest(&whole, &part, some.first_epoch, some.first_step);
        free(part.seen);
    }
    free(whole.seen);
}
