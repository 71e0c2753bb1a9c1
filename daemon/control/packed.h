/* control/packed.h: replies as they are sent: packed once, and sent to whoever gets the same.
 *
 * What was answered to a request that only looks is the answer to the same request of another
 * connection too, as long as the loop has not driven anything in between: then it is forgotten. So
 * many who ask at once cost little more than one. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/leat.pb-c.h"

#define LEAT_CONTROL_REMEMBERED_MAX 80 /* bytes of a request whose answer is remembered */

struct leat_daemon;
struct leat_control;

struct leat_packed {
    uint32_t n_refs;
    size_t n_bytes;
    uint8_t bytes[];
};

/* What was answered last; of the daemon. */
struct leat_packed_answer {
    struct leat_packed *packed; /* NULL: nothing is remembered */
    uint8_t request[LEAT_CONTROL_REMEMBERED_MAX];
    size_t n_request;
};

/* NULL: it is larger than a frame may be, or there is no memory. */
struct leat_packed *leat_packed_new(const Leat__ControlReply *reply);
struct leat_packed *leat_packed_unref(struct leat_packed *packed); /* accepts NULL */

/* false: there is no memory. */
bool leat_packed_send(struct leat_packed *packed, struct leat_control *control);

/* The answer to that request, by its bytes; NULL: it is not known. */
struct leat_packed *leat_packed_find(const struct leat_daemon *daemon, const uint8_t *request,
                                     size_t n_bytes);
/* From now on this is; it takes a reference. */
void leat_packed_remember(struct leat_daemon *daemon, const uint8_t *request, size_t n_bytes,
                          struct leat_packed *packed);
void leat_packed_forget(struct leat_daemon *daemon);
