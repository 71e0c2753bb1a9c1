#include "daemon/stream/failure.h"

#include <errno.h>

#include "proto/base/json_writer.h"

const char *leat_failure_name(enum leat_failure_reason reason) {
    static const char *const names[LEAT_N_FAILURES] = {
#define LEAT_FAILURE(upper, name) [LEAT_FAILURE_##upper] = #name,
#include "daemon/stream/failures.def"
#undef LEAT_FAILURE
    };

    return names[reason];
}

static const size_t offsets[LEAT_N_FAILURES] = {
#define LEAT_FAILURE(upper, name)                                                                  \
    [LEAT_FAILURE_##upper] = offsetof(struct leat_stream_figures, n_failed_##name),
#include "daemon/stream/failures.def"
#undef LEAT_FAILURE
};

uint64_t leat_failure_n(const struct leat_stream_figures *figures,
                        enum leat_failure_reason reason) {
    return *(const uint64_t *)(const void *)((const char *)figures + offsets[reason]);
}

void leat_failure_count(struct leat_stream_figures *figures, enum leat_failure_reason reason) {
    ++*(uint64_t *)(void *)((char *)figures + offsets[reason]);
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

void leat_failure_json(struct leat_text *json, const char *key,
                       const struct leat_failure *failure) {
    if (failure->unix_ns == 0) {
        leat_json_add_null(json, key);
        return;
    }
    leat_json_open(json, key, '{');
    leat_json_add_text(json, "reason", leat_failure_name(failure->reason));
    leat_json_add_text(json, "error", failure->text);
    leat_json_add_uint(json, "unix_ns", failure->unix_ns);
    leat_json_add_bool(json, "is_over", failure->is_over);
    leat_json_close(json, '}');
}
