#include "pipeline/io/contents.h"

#include <string.h>

void leat_contents_add(struct leat_contents *contents, const char *path, const void *data,
                       size_t n_bytes) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct leat_contents_file *file;
    struct leat_blake2b state;

    if (contents->n_files == LEAT_CONTENTS_MAX)
        return;
    file = &contents->files[contents->n_files++];
    *file = (struct leat_contents_file){.name = ""};
    memcpy(file->name, name, strnlen(name, LEAT_CONTENTS_NAME_MAX));
    leat_blake2b_init(&state);
    leat_blake2b_update(&state, data, n_bytes);
    leat_blake2b_final(&state, file->digest);
}
