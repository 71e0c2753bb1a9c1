/* control/packed.h: replies that are packed once, and sent to all who get the same.
 *
 * The answer to a request that only reads is remembered until the loop drives feeds again. Other
 * connections with the same request get it, too, so many at once cost little more than one.
 * Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/leat.pb-c.h"

#define LEAT_CONTROL_REMEMBERED_MAX 80 /* bytes of a request whose answer is remembered */

struct leat_channel;

struct leat_packed {
    uint32_t n_refs;
    size_t n_bytes;
    uint8_t bytes[];
};

/* The last answer, of all connections. */
struct leat_packed_answer {
    struct leat_packed *packed; /* NULL: nothing is remembered */
    uint8_t request[LEAT_CONTROL_REMEMBERED_MAX];
    size_t n_request;
};

/* NULL: the reply is larger than a frame, or there is no memory. */
struct leat_packed *leat_packed_new(const Leat__ControlReply *reply);
struct leat_packed *leat_packed_unref(struct leat_packed *packed); /* accepts NULL */

/* False without memory. */
bool leat_packed_send(struct leat_packed *packed, struct leat_channel *channel);

/* The remembered answer to a request of these bytes, or NULL. */
struct leat_packed *leat_packed_find(const struct leat_packed_answer *answer,
                                     const uint8_t *request, size_t n_bytes);
/* Remembers the answer to the request, with a reference. */
void leat_packed_remember(struct leat_packed_answer *answer, const uint8_t *request, size_t n_bytes,
                          struct leat_packed *packed);
void leat_packed_forget(struct leat_packed_answer *answer);
