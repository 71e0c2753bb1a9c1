#include "proto/base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 64 /* of the first allocation, or the room for one item */

bool leat_array_reserve_bytes(void *items, size_t item_bytes, size_t n_wanted, size_t *capacity) {
    size_t n = *capacity > 0 ? *capacity : FIRST_BYTES / item_bytes;
    void *old, *larger;

    if (n_wanted <= *capacity)
        return true;
    if (n > SIZE_MAX / 2 || n_wanted > n * 2)
        n = n_wanted;
    else if (n < n_wanted)
        n *= 2;
    if (n > PTRDIFF_MAX / item_bytes) /* sanitizers end a program that asks for as much */
        return false;
    memcpy(&old, items, sizeof(old)); /* its type is the caller's */
    larger = realloc(old, n * item_bytes);
    if (!larger)
        return false;
    memcpy(items, &larger, sizeof(larger));
    *capacity = n;
    return true;
}
