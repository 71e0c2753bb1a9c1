/* fuzz_save.c: bytes as a batch's slot, as a daemon that lies may send them: what is accepted can
 * be saved in every format, or is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/save/save.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void save_all(const struct leat_view *view, int fd) {
    for (int format = LEAT_SAVE_SAFETENSORS; format <= LEAT_SAVE_JSONL; format++) {
        struct leat_saving saving = {
            .view = view, .batch_size = view->header.n_rows, .compression = format % 2};
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_saved_file *file = NULL;

        if (leat_saved_file_of(fd, "nowhere", &file, &err) < 0)
            continue;
        (void)leat_save_write(&saving, (enum leat_save_format)format, file, &err);
        leat_saved_file_free(file);
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
