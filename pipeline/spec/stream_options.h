/* stream_options.h: the options that every stream has: their table, and the struct that they are
 * bound to. */
#pragma once

#include "pipeline/spec/cache_options.h"

#define LEAT_SKIPS_MAX 4096 /* as written, of each kind */

enum leat_on_error {
    LEAT_ON_ERROR_FAIL,
    LEAT_ON_ERROR_SKIP,
    LEAT_ON_ERROR_QUARANTINE,
};

/* Data is compared by samples of its bytes, or by all of them. */
enum leat_verify { LEAT_VERIFY_SAMPLE, LEAT_VERIFY_FULL };
/* The treatment of the last steps of an epoch that do not make one for each rank. */
enum leat_uneven { LEAT_UNEVEN_DROP, LEAT_UNEVEN_PAD, LEAT_UNEVEN_ERROR };

enum leat_tuner_choice { LEAT_TUNER_AS_SET, LEAT_TUNER_OFF, LEAT_TUNER_ON };

/* The effect on trainers if a reload of the configuration changes their stream: they change to it
 * at the end of their epoch, or get an error and end. */
enum leat_on_reload { LEAT_ON_RELOAD_FINISH_EPOCH, LEAT_ON_RELOAD_TELL };

/* The effect on a run if its files change while it reads them. AUTO: FAIL where a trainer was
 * promised the identity of the data, since it opened the stream at a position or is one of several
 * ranks; else WARN. FOLLOW: the change is only counted and logged. */
enum leat_on_change {
    LEAT_ON_CHANGE_AUTO,
    LEAT_ON_CHANGE_FAIL,
    LEAT_ON_CHANGE_WARN,
    LEAT_ON_CHANGE_FOLLOW
};

extern const struct leat_arg leat_stream_args[];
struct leat_stream_options {
    struct leat_config base;
    int on_error; /* enum leat_on_error */
    const char *quarantine;
    int64_t max_errors;                         /* 0: any number */
    int on_reload;                              /* enum leat_on_reload */
    int on_change;                              /* enum leat_on_change */
    int uneven;                                 /* enum leat_uneven */
    struct leat_texts skip_steps, skip_records; /* skips.h */
    int64_t seed;
    int64_t block_bytes;
    int tuner;               /* enum leat_tuner_choice */
    int64_t jobs_in_flight;  /* 0: not given */
    int64_t collate_batches; /* 0: not given */
    int64_t max_record_bytes, max_fields, max_tokens;
    int64_t max_batch_bytes;
    int64_t max_window_bytes, max_expansion, decode_ahead; /* of compressed files */
    int verify;                                            /* enum leat_verify */
    const char *index;                                     /* "auto", "off", or a folder */
    struct leat_cache_options cache;                       /* path NULL: none */
};
