/* shared_starts.h: whether a run that starts at any step of any epoch has the batches of one that
 * starts at the first, from there on; for the tests of what is passed over.
 */
#pragma once

#include "tests/pipeline/shared_stream.h"

/* Batches, as a trainer sees them. */
struct seen {
    uint64_t epoch, step;
    uint32_t n_rows;
    uint8_t digest[LEAT_DIGEST_BYTES];
};

struct sequence {
    struct seen *seen;
    size_t n, capacity;
};

struct driven see_sequence(const char *source, const char *options, const char *stages,
                           struct drive how, struct sequence *ret_sequence);
/* The part is the rest of the whole from there on. */
void assert_rest(const struct sequence *whole, const struct sequence *part, uint64_t epoch,
                 uint64_t step);

/* Ends of pipelines over records with the fields `id` and `age` (shared_records.h). */
extern const char *const start_tails[];
extern const size_t n_start_tails, n_plain_start_tails; /* plain: of mixed sources too */
const char *start_stages(size_t tail);

#define START_EPOCHS 2

struct starts {
    const char *source;
    const char *base;    /* options of all runs */
    const char *options; /* and of those that start elsewhere */
    const char *stages;
    struct leat_run_options run; /* of those that start elsewhere too, but for where */
    bool may_note;               /* the cache may have something to say */
    void (*before)(void);        /* each */
};
/* Starts anywhere, n times, in random ways. */
void check_starts(const struct starts *starts, int n);
