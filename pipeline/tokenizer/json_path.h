/* json_path.h: where in a document the value at a path begins. Slow. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One step down: the value of a key of an object, or an item of an array. */
struct leat_json_step {
    const char *key; /* as it reads once escapes are resolved; NULL: an item */
    size_t n_key;    /* bytes */
    size_t index;    /* of the item */
};

/* The first byte of the value that the steps lead to; NULL: they lead nowhere. See below. */
const uint8_t *leat_json_find_value(const uint8_t *data, size_t n_bytes,
                                    const struct leat_json_step *steps, size_t n_steps);

/* Line and column (in bytes, from 1) of the first byte of the value that the steps lead to from the
 * root; of equal keys the last one counts. False if they lead nowhere. The document should be valid
 * JSON; bytes that are not give false or some place within them. */
bool leat_json_locate_value(const uint8_t *data, size_t n_bytes, const struct leat_json_step *steps,
                            size_t n_steps, uint32_t *ret_line, uint32_t *ret_column);

#ifdef __cplusplus
}
#endif
