/* fuzz_data_kept.c: any bytes, with a checksum that fits or without, as what is kept of files: what
 * is taken are identities of these files, and they are kept and taken again as they are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/data_kept.h"

#define N_FILES 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct leat_files *files, const uint8_t *bytes, size_t n_bytes) {
    struct leat_data *taken = NULL, *again = NULL;
    uint8_t *packed;
    size_t n_packed;
    int r = leat_data_kept_unpack(files, false, bytes, n_bytes, INT64_MAX, &taken);

    if (r < 0 && (r != -EBADMSG || taken))
        abort();
    if (r < 0)
        return;
    packed = leat_data_kept_pack(files, taken, &n_packed);
    if (!packed || taken->n_files != N_FILES ||
        leat_data_kept_unpack(files, false, packed, n_packed, INT64_MAX, &again) < 0 ||
        memcmp(taken->digests, again->digests, N_FILES * sizeof(*taken->digests)) != 0)
        abort();
    for (size_t i = 0; i < N_FILES; i++)
        if (taken->states[i].n_bytes != again->states[i].n_bytes)
            abort();
    free(packed);
    leat_data_unref(taken);
    leat_data_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *paths[N_FILES] = {"/a", "/b/c", "/d"};
    struct leat_files files = {.paths = paths, .n_paths = N_FILES};
    uint8_t *bytes = malloc(size + LEAT_DIGEST_BYTES);
    struct leat_blake2b state;

    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    check(&files, bytes, size);
    leat_blake2b_init(&state);
    leat_blake2b_update(&state, bytes, size);
    leat_blake2b_final(&state, bytes + size);
    check(&files, bytes, size + LEAT_DIGEST_BYTES);
    free(bytes);
    return 0;
}
