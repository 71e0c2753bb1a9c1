/* failure.h: streams that failed: how often, why, and what was said the last time.
 *
 * A run that ends with an error is one failure, however many trainers read it; so is an opening
 * that ends with one. The last failure of a stream is over when the stream serves trainers again.
 * Noted with leat_daemon_stream_fail(). Plain data; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/base/text.h"

enum leat_failure_reason {
#define LEAT_FAILURE(upper, name) LEAT_FAILURE_##upper,
#include "daemon/stream/failures.def"
#undef LEAT_FAILURE
    LEAT_N_FAILURES,
};

#define LEAT_FAILURE_TEXT_MAX 384

/* The last one of a stream. */
struct leat_failure {
    uint64_t unix_ns; /* 0: there was none */
    enum leat_failure_reason reason;
    bool was_opening; /* else it was a run */
    bool is_over;
    uint64_t run;                     /* the latest that there was then */
    char text[LEAT_FAILURE_TEXT_MAX]; /* the error as it is printed */
};

const char *leat_failure_name(enum leat_failure_reason reason);
/* was_opening: it came before there was a run; what is wrong then is rather the stream. */
enum leat_failure_reason leat_failure_reason_of(const struct leat_error *err, bool was_opening);

static inline bool leat_failure_is_on(const struct leat_failure *failure) {
    return failure->unix_ns > 0 && !failure->is_over;
}
/* {"reason", "error", "unix_ns", "is_over"}, or null if there was none. */
void leat_failure_json(const struct leat_failure *failure, struct leat_text *text);
