/* failure.c: see failure.h. */
#include "daemon/stream/failure.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

const char *leat_failure_name(enum leat_failure_reason reason) {
    static const char *const names[LEAT_N_FAILURES] = {
#define LEAT_FAILURE(upper, name) [LEAT_FAILURE_##upper] = #name,
#include "daemon/stream/failures.def"
#undef LEAT_FAILURE
    };

    return names[reason];
}

enum leat_failure_reason leat_failure_reason_of(const struct leat_error *err, bool was_opening) {
    switch (err->code) {
    case -EBADMSG:
    case -EILSEQ:
    case -ENODATA:
    case -EOVERFLOW:
        return LEAT_FAILURE_DATA;
    case -EINVAL:
    case -ERANGE:
    case -E2BIG:
    case -EFBIG:
        return was_opening ? LEAT_FAILURE_SPEC : LEAT_FAILURE_DATA;
    case -ENOENT:
    case -EACCES:
    case -EPERM:
    case -EIO:
    case -ENOTDIR:
    case -EISDIR:
    case -ELOOP:
    case -ENXIO:
    case -ENODEV:
    case -ESPIPE:
    case -EROFS:
    case -ENOSPC:
    case -ENAMETOOLONG:
        return LEAT_FAILURE_FILE;
    case -ESTALE:
        return LEAT_FAILURE_CHANGED;
    case -ENOMEM:
    case -EDQUOT:
    case -EMFILE:
    case -ENFILE:
        return LEAT_FAILURE_MEMORY;
    case -EPIPE:
    case -ECHILD:
    case -ETIMEDOUT:
        return LEAT_FAILURE_PROGRAM;
    default:
        return LEAT_FAILURE_OTHER;
    }
}

void leat_failure_json(const struct leat_failure *failure, struct leat_text *text) {
    if (failure->unix_ns == 0) {
        leat_text_add(text, "null");
        return;
    }
    leat_text_add(text, "{\"reason\": \"%s\", \"error\": ", leat_failure_name(failure->reason));
    leat_text_add_json(text, failure->text, strlen(failure->text));
    leat_text_add(text, ", \"unix_ns\": %" PRIu64 ", \"is_over\": %s}", failure->unix_ns,
                  failure->is_over ? "true" : "false");
}
