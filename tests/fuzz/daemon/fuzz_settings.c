/* fuzz_settings.c: the input is a configuration file: accepted whole, or refused with a place and a
 * reason. */
#include <assert.h>

#include "daemon/config/settings.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
FUZZ_MUTATOR(0, mutate_text(data, size, max_size, seed))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_settings *settings = NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_settings_parse((const char *)data, n_bytes, "/nowhere/leatd.yaml", NULL, &settings,
                                &err);

    if (r == 0)
        r = leat_settings_check_streams(settings, &err);
    assert(r <= 0 && (r < 0) == (err.code < 0));
    assert(r == 0 || err.message[0]);
    if (settings) {
        assert(settings->workers >= 1 && settings->workers <= LEAT_SETTINGS_MAX_WORKERS);
        assert(settings->window >= 1 && settings->window <= settings->max_window);
        assert(settings->max_user_sessions <= settings->max_sessions);
    }
    leat_settings_free(settings);
    return 0;
}
