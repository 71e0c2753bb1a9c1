/* fuzz_position.c: a position that a trainer kept, or somebody else wrote: whatever is read prints
 * to the same text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/position.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[2 * LEAT_POSITION_TEXT_SIZE], again[LEAT_POSITION_TEXT_SIZE];
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_position position;
    size_t n;

    if (size >= sizeof(text))
        size = sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    if (leat_position_read(text, &position, &err) < 0) {
        if (!err.message[0])
            abort();
        return 0;
    }
    n = leat_position_print(&position, again);
    if (n >= sizeof(again) || strncmp(text, again, n) != 0)
        abort();
    if (strcmp(text + n, "") != 0 && strcmp(text + n, "\n") != 0)
        abort();
    return 0;
}
