/* failure.h: how often the runs of a stream failed and why, with the text of the last failure.
 *
 * A run that ends with an error is one failure, however many trainers read it; so is an opening
 * that ends with one. The last failure is over when the stream serves trainers again.
 * leat_daemon_stream_fail() notes failures. Plain data; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/run/profile/figures.h"
#include "proto/base/error.h"
#include "proto/base/text.h"

enum leat_failure_reason {
#define LEAT_FAILURE(upper, name) LEAT_FAILURE_##upper,
#include "daemon/stream/failures.def"
#undef LEAT_FAILURE
    LEAT_N_FAILURES,
};

#define LEAT_FAILURE_TEXT_MAX 384

/* The last failure of a stream. */
struct leat_failure {
    uint64_t unix_ns; /* 0: there was none */
    enum leat_failure_reason reason;
    bool was_opening; /* else a run failed */
    bool is_over;
    uint64_t run;                     /* the latest one at that time */
    char text[LEAT_FAILURE_TEXT_MAX]; /* the error as it is printed */
};

const char *leat_failure_name(enum leat_failure_reason reason);
/* The number of failures of the stream for that reason. */
uint64_t leat_failure_n(const struct leat_stream_figures *figures, enum leat_failure_reason reason);
/* Counts one more such failure. */
void leat_failure_count(struct leat_stream_figures *figures, enum leat_failure_reason reason);
/* was_opening: there was no run yet, so that an invalid value is the fault of the stream's spec. */
enum leat_failure_reason leat_failure_reason_of(const struct leat_error *err, bool was_opening);

static inline bool leat_failure_is_on(const struct leat_failure *failure) {
    return failure->unix_ns > 0 && !failure->is_over;
}
/* {"reason", "error", "unix_ns", "is_over"}, or null if there was none. */
void leat_failure_json(struct leat_text *json, const char *key, const struct leat_failure *failure);
