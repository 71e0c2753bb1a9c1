/* stream.h: an open stream: the session's packets turned into batches, in step order.
 *
 * Owner: the caller's thread. Lives until it is closed and the last of its batches is released.
 */
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include "client/batch.h"
#include "client/reconnect.h"
#include "client/request.h"
#include "client/retired.h"
#include "client/session.h"
#include "client/watch.h"
#include "client/wire.h"
#include "proto/position.h"

#define LEAT_STREAM_MAX_WINDOW   4096
#define LEAT_STREAM_MAX_RELEASED 16

struct leat_stream {
    struct leat_wire wire;
    struct leat_retired retired; /* the connection before, while batches of it are held */
    bool is_renewed; /* the stream became another one; what it is now is still to be heard */
    enum leat_phase phase;
    uint64_t number;  /* of the session: another one behind each loss */
    uint64_t reached; /* the epoch of which the daemon knows in this session that it was begun */
    struct leat_request request;
    struct leat_outage outage;
    struct leat_watch watch;
    int wake_fd;             /* eventfd: whoever waits shall return */
    struct leat_error error; /* the last failure */
    int failure; /* what every further next returns: negative errno, LEAT_END; 0: open */
    bool is_closed;
    pid_t pid; /* that opened it */

    struct leat_mapping *newest; /* received rings, by way of `older` */
    struct leat_batch *spare;
    uint32_t n_held, n_session_held; /* of this session */
    size_t n_released;               /* that the daemon was not told of yet */
    struct leat_packet released[LEAT_STREAM_MAX_RELEASED];

    /* where it stands */
    uint64_t epoch, step; /* of the batch after the last one returned */
    uint32_t rank, world_size;
    const char *rank_source;                /* static */
    uint64_t first_epoch, first_step;       /* where it was opened */
    uint64_t n_taken;                       /* batches, since then */
    char position[LEAT_POSITION_TEXT_SIZE]; /* as it was last asked for */

    /* as opened */
    char *name;
    size_t n_tensors;
    struct leat_tensor_info *tensors; /* names belong to it */
    uint64_t batch_size;
    uint32_t window;
    uint8_t digest[LEAT_DIGEST_BYTES];
    uint8_t data_digest[LEAT_DIGEST_BYTES]; /* all zero: it has none */
    uint64_t seed;                          /* in force */
    bool has_epoch_steps;
    uint64_t epoch_steps;    /* of an epoch, over all ranks */
    char *steps_reason;      /* why that is not known */
    bool has_constant_steps; /* the first epoch that ends tells how many they are */
    char *left_out;          /* fields that are not read, and why */
};

/* Connects to the daemon at that address (address.h) and opens the stream that `message` asks for.
 * The first batch is the first one of the rank at or after its start. 0 or -errno with a message.
 */
int leat_stream_open(const char *address, const Leat__OpenRequest *message,
                     const struct leat_open_options *options, struct leat_stream **ret_stream,
                     struct leat_error *err);

/* The same on a socket that is connected to that place, and which it takes. */
int leat_stream_attach(int take_fd, const struct sockaddr_un *place,
                       const Leat__OpenRequest *message, const struct leat_open_options *options,
                       struct leat_stream **ret_stream, struct leat_error *err);

/* -EPERM with a message in a forked child. */
int leat_stream_check_process(struct leat_stream *stream);

/* Stands there, and has seen nothing. */
void leat_stream_place(struct leat_stream *stream, uint64_t epoch, uint64_t step);
/* The first step of the round that it stands in: from there the same steps come as if it had never
 * been opened anew. */
uint64_t leat_stream_round(const struct leat_stream *stream);

/* The rounds of its epoch are those of an epoch that is read from its start, and so is its end. */
bool leat_stream_has_even_rounds(const struct leat_stream *stream);

/* Forgets the rings; those that batches lie in stay mapped until they are released. */
void leat_stream_drop_rings(struct leat_stream *stream);

/* In a forked child, whatever another thread of the parent was doing with the stream: closes the
 * descriptors that the child has inherited, so that the session ends with the parent.
 * Async-signal-safe. */
void leat_stream_forget(struct leat_stream *stream);

/* Where an epoch ended the stream became another one, and shall be opened as that (renew.c). What
 * is held of this session is released on its connection. 0: it is tried for; LEAT_END; -errno. */
int leat_stream_renew(struct leat_stream *stream);

/* Tells the daemon what was released. Where it takes nothing, the stream has failed. */
void leat_stream_tell_releases(struct leat_stream *stream);

/* Ends the session, or leaves it to the batches that are held of it. 0; -EBUSY with a message:
 * batches of the session before it are held as well; or the stream's failure. */
int leat_stream_retire(struct leat_stream *stream);
/* Gives the session up: the next leat_stream_next() opens another one in the same place. Results
 * are those of leat_stream_seek(). */
int leat_stream_pause(struct leat_stream *stream);
/* Gives up what is left of the epoch, as if it had been read: the next batch is the first one of
 * the next epoch, n_epochs and n_steps count on, and a declared stream may be another one there.
 * Results are those of leat_stream_seek(). */
int leat_stream_skip_epoch(struct leat_stream *stream);

/* Frees a stream that holds nothing any more. */
struct leat_stream *leat_stream_free(struct leat_stream *stream);
