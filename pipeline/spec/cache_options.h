/* cache_options.h: the stream option `cache`: its table, and the struct that it is bound to. */
#pragma once

#include "pipeline/spec/bind.h"

enum leat_cache_verify {
    LEAT_CACHE_VERIFY_SAMPLE,
    LEAT_CACHE_VERIFY_FULL,
};

extern const struct leat_arg leat_cache_args[];
struct leat_cache_options {
    struct leat_config base;
    const char *path, *prepared; /* one of them */
    int64_t max_size;            /* bytes; 0: any number */
    int64_t max_age;             /* seconds since it was last used; 0: any age */
    int compression;             /* enum leat_cache_compression */
    int verify;                  /* enum leat_cache_verify */
};

/* FOLDER of `cache: {path: FOLDER}`, to be freed: the same as in the stream's plan, but the data
 * need not exist. *ret_folder NULL: the stream names none. 0 or -ENOMEM. */
int leat_cache_folder(const struct leat_spec *spec, char **ret_folder, struct leat_error *err);
