/* page.h: the files of the status page (daemon/metrics/page/), which the build turns into bytes. */
#pragma once

#include <stddef.h>

struct leat_page_file {
    const char *path, *type;
    const unsigned char *bytes;
    size_t n_bytes;
};

extern const struct leat_page_file leat_page_files[]; /* ends with a NULL path */
