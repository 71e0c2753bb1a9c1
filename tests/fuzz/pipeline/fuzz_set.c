/* fuzz_set.c: any bytes as the set.json of a prepared set: what is refused says why; what is taken
 * adds up, and is the same when it is written and read again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/set.h"
#include "proto/base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_counts(const struct leat_set *set) {
    uint64_t n_records = 0, n_rows = 0, n_files = 0;

    for (size_t i = 0; i < set->n_shards; i++) {
        n_records += set->shards[i].n_records;
        n_rows += set->shards[i].n_rows;
    }
    for (size_t i = 0; i < set->n_heads; i++)
        n_files += set->heads[i].n_files;
    if (n_records != set->n_records || n_rows != set->n_rows || n_files != set->n_files ||
        set->n_shards < 2 || set->n_heads < 1)
        abort();
    for (size_t i = 0; i < set->n_files; i++)
        if (!set->files[i].name[0])
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL}, again = {.data = NULL};
    struct leat_set *set = NULL, *second = NULL;
    int r = leat_set_parse("f", (const char *)data, size, &set, &err);

    if (r < 0 && (err.code != r || !err.message[0] || set))
        abort();
    if (r < 0)
        return 0;
    check_counts(set);
    if (!leat_set_write(set, &text) ||
        leat_set_parse("f", text.data, text.n_bytes, &second, &err) < 0 ||
        !leat_set_write(second, &again) || strcmp(text.data, again.data) != 0)
        abort();
    free(text.data);
    free(again.data);
    leat_set_free(set);
    leat_set_free(second);
    return 0;
}
