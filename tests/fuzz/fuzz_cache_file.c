/* fuzz_cache_file.c: bytes as the file of a cache: it opens or not; every frame that it then has is
 * whole or says that it is not. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipeline/cache/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    int fd = memfd_create("cache", MFD_CLOEXEC);
    struct leat_cache_file *file = NULL;

    if (fd < 0 || write(fd, data, n_bytes) != (ssize_t)n_bytes)
        abort();
    if (leat_cache_file_open(fd, &file, LEAT_ERROR_IGNORED) < 0)
        return 0;
    for (size_t i = 0; i < file->n_frames; i++) {
        const struct leat_cache_frame *frame = &file->frames[i];
        uint8_t *stored = malloc(frame->n_stored + 1);
        uint8_t *block = malloc(frame->n_bytes < 1 << 24 ? frame->n_bytes + 1 : 1);

        if (!stored || !block)
            abort();
        if (leat_cache_file_read(file->fd, frame, stored, LEAT_ERROR_IGNORED) == 0 &&
            frame->is_lz4 && frame->n_bytes < 1 << 24)
            (void)leat_cache_frame_expand(frame, stored, block);
        free(stored);
        free(block);
    }
    leat_cache_file_unref(file);
    return 0;
}
