/* fuzz_tuner_file.c: any bytes as what a tuner kept: what is refused says why, and what is believed
 * is within the ranges. */
#include <stdlib.h>

#include "daemon/stream/tuner_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct leat_tuner_key key = {.stream = {0}};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_tuner_memory memory;
    int r = leat_tuner_file_parse((const char *)data, size, &key, &memory, &err);

    if (r < 0 && (err.code != r || !err.message[0]))
        abort();
    for (int i = 0; r == 0 && i < LEAT_N_KNOBS; i++)
        if (memory.knobs.of[i] < leat_knob_min((enum leat_knob)i) ||
            memory.knobs.of[i] > leat_knob_max((enum leat_knob)i))
            abort();
    return 0;
}
