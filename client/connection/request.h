/* request.h: what a stream asks the daemon for: at its opening, and after each lost connection
 * again from its next batch on.
 *
 * The message always asks for what is still wanted: moving the request takes off the epochs and
 * steps that were seen. Owner: the connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "client/leat.h"
#include "proto/base/error.h"
#include "proto/leat.pb-c.h"

struct leat_request {
    struct sockaddr_un place; /* of the daemon that answered at the opening */
    int open_timeout_ms;      /* -1: no limit */
    uint64_t n_epochs;        /* wanted in all, 0: without end, */
    uint64_t first_epoch;     /* counted from here */
    uint64_t n_steps;         /* wanted in all, 0: without limit */
    Leat__OpenRequest *message;
    bool expects_digest; /* the trainer accepts a spec of that digest only */
    uint32_t window;     /* that the trainer asked for */

    uint64_t patience_ns; /* how long to look for a daemon; 0: not at all; UINT64_MAX: for ever */
    void (*on_reconnect)(void *user, const struct leat_reconnect_event *event);
    void *on_reconnect_user;
    void (*on_notice)(void *user, const char *text);
    void *on_notice_user;
};

/* Copies the message, which has a start. 0, -E2BIG (it does not fit into a packet), -ENOMEM; the
 * caller deinits it in any case. */
int leat_request_init(struct leat_request *request, const Leat__OpenRequest *message,
                      const struct leat_open_options *options, const struct sockaddr_un *place,
                      struct leat_error *err);
void leat_request_deinit(struct leat_request *request);

/* Packs the message into a buffer of LEAT_PACKET_PAYLOAD_MAX bytes. Returns its size. */
size_t leat_request_pack(const struct leat_request *request, uint8_t *buffer);

/* From now on asks for the very stream that was opened: its digests, seed and window. 0 or -ENOMEM.
 */
int leat_request_fix(struct leat_request *request, const Leat__Opened *opened);
/* The stream may have changed: leaves digests, window and, if with_seed, the seed to the daemon,
 * unless the trainer gave them. */
void leat_request_unfix(struct leat_request *request, bool with_seed);
/* True if everything that was asked for is seen, at that epoch and after n_taken batches in all. */
bool leat_request_is_done(const struct leat_request *request, uint64_t epoch, uint64_t n_taken);
/* Asks for the rest from (epoch, step) on, after n_taken batches in all. */
void leat_request_move(struct leat_request *request, uint64_t epoch, uint64_t step,
                       uint64_t n_taken);
/* Asks from (epoch, step) on as if the stream had been opened there. */
void leat_request_restart(struct leat_request *request, uint64_t epoch, uint64_t step);
