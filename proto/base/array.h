/* array.h: a growing array of items of any type.
 *
 * The array is three variables of its owner: the items, how many there are, and for how many there
 * is room. Owner: the caller; free(items).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes room for n_wanted items in *items, whose room is *capacity; it at least doubles when it
 * grows. New items are not initialised. False: memory ran out, and the array is as it was. */
#define leat_array_reserve(items, n_wanted, capacity)                                              \
    leat_array_reserve_bytes((items), sizeof(**(items)), (n_wanted), (capacity))

/* items: a pointer to the pointer to the first item, of item_bytes. */
bool leat_array_reserve_bytes(void *items, size_t item_bytes, size_t n_wanted, size_t *capacity);
