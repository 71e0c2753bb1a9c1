/* contents.h: names and digests of the files other than data that a stage has read, to tell later
 * which of them has changed. Only the first few are kept. Owner: its holder. */
#pragma once

#include <stddef.h>

#include "proto/base/blake2b.h"

#define LEAT_CONTENTS_MAX      8
#define LEAT_CONTENTS_NAME_MAX 64

struct leat_contents {
    size_t n_files;
    struct leat_contents_file {
        char name[LEAT_CONTENTS_NAME_MAX + 1]; /* without its directory */
        uint8_t digest[LEAT_DIGEST_BYTES];
    } files[LEAT_CONTENTS_MAX];
};

void leat_contents_add(struct leat_contents *contents, const char *path, const void *data,
                       size_t n_bytes);
