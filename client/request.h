/* request.h: what a stream asks daemons for: at its opening, and again, from where it stands, after
 * each connection that was lost.
 *
 * Its message always asks for what is still wanted: moving it takes off the epochs and steps that
 * were seen. Owner: the stream.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "client/leat.h"
#include "client/mapping.h"
#include "proto/base/error.h"
#include "proto/leat.pb-c.h"

struct leat_request {
    int32_t delivery;         /* enum leat_delivery */
    struct sockaddr_un place; /* of the daemon that answered at the opening */
    int open_timeout_ms;      /* -1: no limit */
    uint64_t n_epochs;        /* wanted in all, 0: without end, */
    uint64_t first_epoch;     /* counted from here */
    uint64_t n_steps;         /* 0: all */
    Leat__OpenRequest *message;
    bool expects_digest; /* the trainer wants that spec and no other */
    uint32_t window;     /* that it asked for */

    uint64_t patience_ns; /* how long to look for a daemon; 0: not at all; UINT64_MAX: for ever */
    void (*on_reconnect)(void *user, const struct leat_reconnect_event *event);
    void *on_reconnect_user;
    void (*on_notice)(void *user, const char *text);
    void *on_notice_user;
    struct leat_mapping_options mapping; /* of the rings that come */
};

/* Takes a copy of the message, which has a start. 0, -E2BIG (it does not fit into a packet),
 * -ENOMEM; what was made is the caller's to deinit in any case. */
int leat_request_init(struct leat_request *request, const Leat__OpenRequest *message,
                      const struct leat_open_options *options, struct leat_error *err);
void leat_request_deinit(struct leat_request *request);

int leat_request_socket_type(const struct leat_request *request);

/* The message's bytes into a buffer of LEAT_PACKET_PAYLOAD_MAX bytes. Returns their number. */
size_t leat_request_pack(const struct leat_request *request, uint8_t *buffer);

/* What was opened stays what is meant: digests, seed and window. 0 or -ENOMEM. */
int leat_request_fix(struct leat_request *request, const Leat__Opened *opened);
/* The stream is another one: digests, window and, if with_seed, its seed are what the daemon says,
 * unless the trainer gave them. */
void leat_request_loosen(struct leat_request *request, bool with_seed);
/* Whether all that was asked for is seen, at that epoch and after n_taken batches in all. */
bool leat_request_is_done(const struct leat_request *request, uint64_t epoch, uint64_t n_taken);
/* Goes on at (epoch, step), after n_taken batches in all. */
void leat_request_move(struct leat_request *request, uint64_t epoch, uint64_t step,
                       uint64_t n_taken);
/* Starts at (epoch, step), as if it had been opened there. */
void leat_request_restart(struct leat_request *request, uint64_t epoch, uint64_t step);
