/* fuzz_override.c: the first line is an override, the rest the document that it is put into: a tree
 * comes out that everybody can read, or a reason why not. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_settings_overrides overrides = {.n_items = 1};
    struct leat_settings *settings = NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    const uint8_t *end = memchr(data, '\n', n_bytes);
    size_t n_line = end ? (size_t)(end - data) : n_bytes;
    size_t n_rest = end ? n_bytes - n_line - 1 : 0;
    char *line = strndup((const char *)data, n_line);
    int r;

    assert(line);
    overrides.items[0] = line;
    r = leat_settings_parse((const char *)data + (n_bytes - n_rest), n_rest, "/nowhere/leatd.yaml",
                            &overrides, &settings, &err);
    if (r == 0)
        r = leat_settings_check_streams(settings, &err);
    assert(r <= 0 && (r < 0) == (err.code < 0));
    assert(r == 0 || err.message[0]);
    leat_settings_free(settings);
    free(line);
    return 0;
}
