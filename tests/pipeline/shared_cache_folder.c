/* shared_cache_folder.c: see shared_cache_folder.h. */
#include "tests/pipeline/shared_cache_folder.h"

#include <stdio.h>
#include <stdlib.h>

#include "pipeline/io/opener.h"
#include "tests/pipeline/shared_stream.h"

const char *cache_name(void) {
    static char name[LEAT_CACHE_NAME_MAX];
    struct leat_cache_entry *entries;
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n;

    assert_int_equal(leat_cache_store_list(folder_path("."), false, &entries, &n, &err), 0);
    if (n == 1)
        (void)snprintf(name, sizeof(name), "%s", entries[0].name);
    free(entries);
    return n == 1 ? name : NULL;
}

void remove_caches(void) {
    struct leat_cache_entry *entries;
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n;

    assert_int_equal(leat_cache_store_list(folder_path("."), false, &entries, &n, &err), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(leat_cache_store_remove(folder_path("."), entries[i].name, &err), 0);
    free(entries);
}

uint8_t *read_bytes(const char *name, size_t *ret_n_bytes) {
    char *data = NULL;
    struct leat_error err = LEAT_ERROR_INIT;

    assert_int_equal(
        leat_opener_read(&leat_opener_any, folder_path(name), 1U << 30, &data, ret_n_bytes, &err),
        0);
    return (uint8_t *)data;
}
