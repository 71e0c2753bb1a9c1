/* fetch_settings.h: `fetch` of the daemon's settings, for leat-fetch, which reads the same file.
 *
 * leatd checks it, so that a mistake is found where all settings are checked. Immutable once
 * loaded; any thread.
 */
#pragma once

#include "pipeline/spec/bind.h"

struct leat_fetch_settings {
    struct leat_config base;
    const char *path; /* of the cache; NULL: not given */
    int64_t max_size, requests, block, part, timeout;
    const char *endpoint, *region, *profile, *ca_file; /* NULL: not given */
};

extern const struct leat_arg leat_fetch_args[];

/* Where blocks are kept if `path` is not given; malloc'ed. NULL: nowhere, as HOME is not set. */
char *leat_fetch_default_path(void);
/* Reads `fetch` of a file of settings, with paths resolved; file NULL: all defaults. To be deinited
 * in any case. May block. */
int leat_fetch_settings_load(const char *file, struct leat_fetch_settings *ret_settings,
                             struct leat_value *ret_document, struct leat_error *err);
