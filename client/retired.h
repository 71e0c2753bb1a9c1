/* retired.h: the connection that a stream had before it was opened anew by the daemon's wish.
 *
 * Batches of it may still be held: their slots would be filled again if the daemon thought them
 * released, and kept until this process ends if the connection just closed. So it stays until the
 * last of them is released, and takes their releases. There is one at most: when the next one comes
 * the one before is closed. Owner: the stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/wire.h"

struct leat_retired {
    struct leat_wire wire;
    uint64_t number; /* of its session */
    uint32_t n_held;
};

#define LEAT_RETIRED_INIT                                                                          \
    {                                                                                              \
        .wire = {.fd = -1, .passed_fd = -1 }                                                       \
    }

/* Takes the wire over, of which so many batches are held; of none it says BYE. */
void leat_retired_begin(struct leat_retired *retired, struct leat_wire *take_wire, uint64_t number,
                        uint32_t n_held);
/* Whether the batch is of that session; then it is told. */
bool leat_retired_release(struct leat_retired *retired, uint64_t number,
                          const struct leat_packet *packet);
void leat_retired_end(struct leat_retired *retired);
