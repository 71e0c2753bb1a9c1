/* json_locate.h: where and why a document is not JSON. Slow, for error messages only. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct leat_json_fault {
    uint32_t line, column; /* in bytes, from 1 */
    char message[96];      /* "expected a ',' or '}' after a member, found 'x'" */
};

/* True and the first fault, or false if none is found. */
bool leat_json_locate(const uint8_t *data, size_t n_bytes, struct leat_json_fault *ret_fault);

#ifdef __cplusplus
}
#endif
