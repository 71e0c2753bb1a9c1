/* fuzz_cache_file.c: bytes as the file of a cache: it opens, or says why not. Its frames lie in the
 * file, one behind the other, as do their records, and each is whole or says that it is not. */
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipeline/cache/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    int fd = memfd_create("cache", MFD_CLOEXEC);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_cache_file *file = NULL;
    uint64_t end = 0, n_records = 0, n_rows = 0;

    if (fd < 0 || write(fd, data, n_bytes) != (ssize_t)n_bytes)
        abort();
    if (leat_cache_file_open(fd, &file, &err) < 0) {
        assert(err.code < 0 && err.message[0]);
        return 0;
    }
    for (size_t i = 0; i < file->n_frames; i++) {
        const struct leat_cache_frame *frame = &file->frames[i];
        uint8_t *stored, *block;

        assert(frame->position >= end && frame->record == n_records);
        end = frame->position + leat_cache_frame_size(frame);
        assert(end <= n_bytes && frame->n_stored < end - frame->position);
        n_records += frame->span.n_records;
        n_rows += frame->n_rows;
        assert(frame->span.n_records == 0 || leat_cache_file_find(file, frame->record) == frame);
        stored = malloc(frame->n_stored + 1);
        block = malloc(frame->n_bytes < 1 << 24 ? frame->n_bytes + 1 : 1);
        if (!stored || !block)
            abort();
        if (leat_cache_file_read(file->fd, frame, stored, LEAT_ERROR_IGNORED) == 0 &&
            frame->is_lz4 && frame->n_bytes < 1 << 24)
            (void)leat_cache_frame_expand(frame, stored, block);
        free(stored);
        free(block);
    }
    assert(file->n_records == n_records && file->n_rows == n_rows);
    leat_cache_file_unref(file);
    return 0;
}
