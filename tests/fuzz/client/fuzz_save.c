/* fuzz_save.c: bytes as a batch's slot, as a daemon that lies may send them: what is accepted can
 * be saved in every format, to as many bytes as were counted and no fewer than its tensors have, or
 * is refused with a reason. Saved again it gives as many. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/save/save.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
FUZZ_MUTATOR(0, mutate_in_place(data, size, seed))

static uint64_t n_tensor_bytes(const struct leat_view *view) {
    uint64_t n = 0;

    for (size_t i = 0; i < view->header.n_tensors; i++)
        n += view->tensors[i].size_bytes;
    return n;
}

/* How many bytes it is; 0: it is refused. */
static uint64_t save(const struct leat_saving *saving, enum leat_save_format format, int fd) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_saved_file *file = NULL;
    uint64_t n_bytes = 0;
    int r;

    if (leat_saved_file_of(fd, "nowhere", &file, &err) < 0)
        return 0;
    r = leat_save_write(saving, format, file, &err);
    assert(r <= 0 && (r == 0 || err.message[0]));
    if (r == 0 && leat_saved_file_flush(file, &err) == 0) {
        n_bytes = file->n_bytes;
        assert(file->n_buffered == 0 && (n_bytes > 0 || format == LEAT_SAVE_JSONL));
    }
    leat_saved_file_free(file);
    return n_bytes;
}

static void save_all(const struct leat_view *view, int fd) {
    for (int format = LEAT_SAVE_SAFETENSORS; format <= LEAT_SAVE_JSONL; format++) {
        struct leat_saving saving = {
            .view = view, .batch_size = view->header.n_rows, .compression = format % 2};
        uint64_t n_bytes = save(&saving, (enum leat_save_format)format, fd);

        assert(save(&saving, (enum leat_save_format)format, fd) == n_bytes);
        if (n_bytes > 0 && format != LEAT_SAVE_JSONL && !saving.compression)
            assert(n_bytes >= n_tensor_bytes(view));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    static FILE *nowhere;
    struct leat_view view = {.capacity = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    uint8_t *slot = aligned_alloc(LEAT_SLOT_ALIGN, leat_slot_align(n_bytes + 1));

    if (!nowhere)
        nowhere = fopen("/dev/null", "we");
    if (!slot || !nowhere)
        return 0;
    memset(slot, 0, leat_slot_align(n_bytes + 1));
    if (n_bytes)
        memcpy(slot, data, n_bytes);
    if (leat_view_read(&view, slot, n_bytes, &err) == 0)
        save_all(&view, fileno(nowhere));
    leat_view_deinit(&view);
    free(slot);
    return 0;
}
