/* stream.h: an open stream: the daemon's packets turned into batches, in step order.
 *
 * A stream is a connection, a cursor with its position, and the batches that the caller holds.
 * stream.c receives and releases them, stream_move.c waits for the first session and goes
 * elsewhere, stream_info.c describes what was opened. Owner: the caller's thread. Lives until
 * it is closed and the last of its batches is released.
 */
#pragma once

#include "client/connection/connection.h"
#include "client/stream/batch.h"
#include "client/stream/cursor.h"
#include "proto/position.h"

struct leat_stream {
    struct leat_connection connection;
    struct leat_cursor cursor;
    int wake_fd;             /* eventfd: ends the wait of leat_stream_next() */
    struct leat_error error; /* the last failure */
    int failure; /* what every further next returns: a negative errno, LEAT_END; 0: goes on */
    bool is_closed;
    struct leat_batch *spare;
    uint32_t n_held;                         /* batches that the caller holds, of all sessions */
    char position[LEAT_POSITION_TEXT_SIZE];  /* as it was last asked for */
    char fingerprint[LEAT_FINGERPRINT_SIZE]; /* likewise */
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

/* A stream that is not connected yet. 0 or -errno. */
int leat_stream_new(const Leat__OpenRequest *message, const struct leat_open_options *options,
                    const struct sockaddr_un *place, struct leat_stream **ret_stream,
                    struct leat_error *err);
/* Frees a stream that holds nothing any more. */
struct leat_stream *leat_stream_free(struct leat_stream *stream);

/* Ends the stream with its last error, as a code that is not one to go on after. Returns it. */
int leat_stream_fail(struct leat_stream *stream);
/* True if the stream has ended, as it does when everything that was asked for is seen. */
bool leat_stream_check_end(struct leat_stream *stream);
/* -EPERM with a message in a forked child. */
int leat_stream_check_process(struct leat_stream *stream);
/* Its descriptor becomes readable when the connection has something to do. */
void leat_stream_update_timer(struct leat_stream *stream);

/* The connection is lost for the reason in *reason. 0: it will be tried for; LEAT_END: nothing more
 * was wanted; else the error's code. */
int leat_stream_lose(struct leat_stream *stream, struct leat_error *reason);
/* At the end of an epoch an operator's change of the stream takes effect: opens it anew as what it
 * has become. Batches that are held are released on their own connection. 0: a session will be
 * tried for; LEAT_END; -errno. */
int leat_stream_renew(struct leat_stream *stream);
