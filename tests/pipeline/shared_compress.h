/* shared_compress.h: texts as compressed files of any number of frames; for the tests of inputs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum format { GZIP, ZSTD, LZ4, BZIP2, XZ, N_FORMATS };

extern const char *const format_names[N_FORMATS];

struct blob {
    uint8_t *data;
    size_t n_bytes, capacity;
};

void blob_add(struct blob *blob, const void *data, size_t n_bytes);
void blob_free(struct blob *blob);

/* A frame (of xz: a block of one stream) for each frame_bytes; 0: one for all. */
struct blob compress_text(enum format format, const void *text, size_t n_bytes, size_t frame_bytes);

/* Lines of words that compress to about a third, the same for the same seed. */
struct blob make_text(uint64_t seed, size_t n_bytes);
