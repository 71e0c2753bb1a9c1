/* leat.h: libleat, the trainer's side of leat.
 *
 * A daemon (leatd) makes batches from CSV, JSONL and other files. This library hands them to a
 * trainer. Batches are in shared memory that the trainer maps read-only. A tensor's address points
 * to the bytes that the daemon wrote. With LEAT_DELIVERY_COPY, batches are in memory of this
 * process.
 *
 *     struct leat_client *client = NULL;
 *     struct leat_stream *stream = NULL;
 *     struct leat_batch *batch = NULL;
 *     int r;
 *
 *     if (leat_client_new(NULL, &client) < 0 ||
 *         leat_client_open(client, "titanic", NULL, &stream) < 0)
 *         errx(1, "%s", leat_error_text(leat_client_error(client)));
 *     while ((r = leat_stream_next(stream, -1, &batch)) == 0) {
 *         const struct leat_tensor *ids = leat_batch_find(batch, "input_ids");
 *         train(ids->data, ids->shape[0], ids->shape[1]);
 *         leat_batch_release(batch);
 *     }
 *     leat_stream_close(stream);
 *     leat_client_free(client);
 *
 * Results. 0 means success. A negative errno means failure; the client or the stream has the text
 * of the error. A positive number is an outcome (LEAT_END_EPOCH, LEAT_END).
 *
 * Threads. You may call from any thread. Only one thread at a time may use a client. Only one
 * thread at a time may use a stream and its batches; leat_stream_wake() alone is an exception.
 * Different streams are independent of each other and of the client.
 *
 * fork(). A child has neither the shared memory nor the session of its parent. In a child,
 * leat_stream_next() fails with -EPERM. If the child closes a stream or releases a batch of its
 * parent, this frees only memory of the child. Open a new stream in the child.
 *
 * Strings. Pass strings as UTF-8 with a terminating 0; the library copies them. A string that a
 * function returns belongs to the object that you passed to the function.
 */
#ifndef LEAT_H
#define LEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_API __attribute__((visibility("default")))

struct leat_client;
struct leat_stream;
struct leat_batch;
struct leat_builder;
struct leat_error;

/* The library's version, "0.1.0". */
LEAT_API const char *leat_version(void);

/* ---- Errors ---- */

/* The error of the last call that failed on this client or on this stream. If a stream cannot be
 * opened, the client has the error. The result is never NULL. Its code is 0 if no call has failed
 * yet. The result is valid until the next call on the same client or stream. */
LEAT_API const struct leat_error *leat_client_error(const struct leat_client *client);
LEAT_API const struct leat_error *leat_stream_error(const struct leat_stream *stream);

/* The negative errno; 0: no error. */
LEAT_API int leat_error_code(const struct leat_error *error);
/* The message without the place. If there is no error, the text is "". */
LEAT_API const char *leat_error_message(const struct leat_error *error);
/* The place of the error: the file ("" if unknown), line and column in bytes (from 1, 0 if
 * unknown), and the place in the configuration ("streams.titanic.stages[5].shuffle.buffer_size", ""
 * if unknown). */
LEAT_API const char *leat_error_file(const struct leat_error *error);
LEAT_API uint32_t leat_error_line(const struct leat_error *error);
LEAT_API uint32_t leat_error_column(const struct leat_error *error);
LEAT_API const char *leat_error_path(const struct leat_error *error);
/* Place and message, "file:line:column: path: message". The text is valid until the same thread
 * calls this function again. */
LEAT_API const char *leat_error_text(const struct leat_error *error);

/* A copy of the error, which stays valid until you free it. NULL: no memory. */
LEAT_API struct leat_error *leat_error_copy(const struct leat_error *error);
/* Frees a copy, which may be NULL. Always returns NULL. */
LEAT_API struct leat_error *leat_error_free(struct leat_error *error);

/* ---- Clients ---- */

/* Makes a client, without connecting. `address` is the folder of the daemon's sockets, or one of
 * these sockets. If `address` is NULL, the library searches for the daemon each time you open a
 * stream. If the variable LEAT_SOCKET is set, the library uses only this address. Otherwise, it
 * searches in $XDG_RUNTIME_DIR/leat and then in /run/leat. Returns 0, -EINVAL (the address is too
 * long) or -ENOMEM. Free *ret_client with leat_client_free(). */
LEAT_API int leat_client_new(const char *address, struct leat_client **ret_client);
/* Frees the client, which may be NULL. Its streams stay open. Always returns NULL. */
LEAT_API struct leat_client *leat_client_free(struct leat_client *client);

/* ---- Opening a stream ---- */

enum leat_delivery {
    LEAT_DELIVERY_SHARED = 0, /* batches lie in shared memory, mapped read-only */
    LEAT_DELIVERY_COPY = 1,   /* LZ4 copies come through the socket, without shared memory */
};

/* Events of a lost connection: see leat_stream_next(). */
enum leat_reconnect_kind {
    LEAT_RECONNECT_LOST = 1,   /* the daemon is gone, or has announced its end */
    LEAT_RECONNECT_TRYING = 2, /* attempt number `attempt` begins */
    LEAT_RECONNECT_BACK = 3,   /* that attempt succeeded: the stream continues where it was */
};

struct leat_reconnect_event {
    size_t struct_size; /* sizeof(struct leat_reconnect_event) in the library */
    int32_t kind;       /* enum leat_reconnect_kind */
    uint32_t attempt;   /* from 1 */
    uint64_t waited_ns; /* time since the connection was lost */
    const char *reason; /* why it was lost, or why the last attempt failed; valid during the call */
};

#define LEAT_RECONNECT_DEFAULT_MS 60000
#define LEAT_NO_RECONNECT         INT32_MIN

/* Ranks. If rank and world_size are 0, the library takes them from environment variables of the
 * launcher. It uses the first of these launchers that has set its variables: LEAT_RANK,
 * LEAT_WORLD_SIZE (and LEAT_LOCAL_RANK, LEAT_LOCAL_WORLD_SIZE); torchrun; mlx.launch; Open MPI;
 * MPICH and others with PMI; Slurm (in tasks of srun); an indexed job of Kubernetes (set
 * LEAT_WORLD_SIZE or WORLD_SIZE to the number of its pods). Without a launcher, the trainer is rank
 * 0 of 1. If the variables are incomplete or contradictory, opening fails with -EINVAL, and the
 * error names them. If you give rank and world_size, the library uses these numbers. To give only
 * world_size, set rank to LEAT_RANK_LAUNCHER: the library then takes the rank from the launcher.
 * See leat_stream_rank_source(). */
#define LEAT_RANK_LAUNCHER UINT32_MAX

/* The shared memory of batches, as this process has mapped it. */
struct leat_ring {
    uint64_t number;     /* unique among the mappings of this process */
    const void *shared;  /* the daemon's memory, read-only */
    const void *memory;  /* tensors point here; equals `shared` unless you set private_writes */
    uint64_t size_bytes; /* of each mapping */
};

/* Chooses if a declared stream shuffles. */
enum leat_shuffle {
    LEAT_SHUFFLE_AS_DECLARED = 0, /* the stream shuffles if it has a stage `shuffle` */
    LEAT_SHUFFLE_ON = 1,  /* the stream shuffles; if it has no stage `shuffle`, opening fails with
                             -EINVAL */
    LEAT_SHUFFLE_OFF = 2, /* the stream does not shuffle: rows come in the order of the data */
};

/* Initialise with leat_open_options_init(). It sets struct_size, and sets all other members to
 * their default, which is zero. */
struct leat_open_options {
    size_t struct_size;   /* sizeof(struct leat_open_options) */
    int32_t delivery;     /* enum leat_delivery */
    uint32_t rank;        /* this trainer's rank, from 0; or LEAT_RANK_LAUNCHER. A trainer gets each
                             step for which step % world_size equals rank */
    uint32_t world_size;  /* number of ranks. 0: rank and world_size come from the launcher, if
                             there is one. 1: this is the only trainer, and the library ignores the
                             launcher */
    uint32_t window;      /* how many batches you may hold at once; 0: the daemon's default */
    uint64_t first_epoch; /* the stream begins at this epoch and step */
    uint64_t first_step;  /* counted over all ranks, so it is the same for all of them */
    uint64_t n_epochs;    /* number of epochs, counted from first_epoch; 0: no end */
    uint64_t n_steps;     /* end after this number of batches of this rank; 0: no end */
    uint64_t seed;        /* replaces the stream's own seed, if has_seed is true */
    bool has_seed;
    const char *client_name;      /* name that operators see; NULL: the name of the program */
    const uint8_t *expect_digest; /* 32 bytes of leat_stream_digest(): opening fails with -ESTALE if
                                     the stream has another digest; NULL: any digest */
    int32_t open_timeout_ms;      /* for connecting and opening; 0: 120 s; -1: no limit */
    int32_t reconnect_timeout_ms; /* how long to look for a daemon after the old one has ended. 0:
                                     LEAT_RECONNECT_DEFAULT_MS; -1: without limit;
                                     LEAT_NO_RECONNECT: do not look */
    uint32_t local_rank;          /* this trainer's rank among the ranks of this machine, from 0 */
    uint32_t local_world_size;    /* number of ranks on this machine; 0: from the launcher, or
                                     unknown */
    /* leat_stream_next(), or the call that opens the stream, calls this for events of a lost
     * connection. The callback must not call any function on the stream. May be NULL. */
    void (*on_reconnect)(void *user, const struct leat_reconnect_event *event);
    void *on_reconnect_user;
    const char *position; /* where to begin, in place of first_epoch and first_step: a text of
                             leat_stream_position(). The number of ranks may differ from before. The
                             stream uses the seed of the position. If you also give `seed`, both
                             seeds must be equal. -ESTALE: spec, data or seed have changed, and the
                             error says which. -EINVAL: the text is not a position. NULL: no
                             position */
    bool accept_changes;  /* begin at the epoch and step of `position` even if spec, data or seed
                             have changed. If you give no `seed`, the stream uses the seed of the
                             position */
    /* The library calls this before it unmaps a ring of batches, in any of its functions and on any
     * thread. If you registered the ring with a GPU, unregister it here. The callback must not call
     * any function of this library. May be NULL. */
    void (*on_unmap)(void *user, const struct leat_ring *ring);
    void *on_unmap_user;
    /* The library calls this if a signal interrupts the opening. If the callback returns 0, the
     * opening continues. Otherwise, and if on_interrupt is NULL, the opening fails with -EINTR. */
    int (*on_interrupt)(void *user);
    void *on_interrupt_user;
    bool private_writes; /* tensors may be written: see leat_batch_let_write() */
    const char *split;   /* part of a declared stream: "train", "validation" or "test". If the
                            daemon declares the stream NAME.SPLIT, leat opens that stream. Otherwise
                            the stage `split` of NAME keeps only this part. NULL: the stream as it
                            is declared */
    int32_t shuffle;     /* of a declared stream: enum leat_shuffle */
    /* leat_stream_next() calls this if the daemon warns that a file of the data has changed. `text`
     * is the warning. The callback must not call any function on the stream. May be NULL. */
    void (*on_notice)(void *user, const char *text);
    void *on_notice_user;
};

static inline void leat_open_options_init(struct leat_open_options *options) {
    memset(options, 0, sizeof(*options));
    options->struct_size = sizeof(*options);
}

/* Connects, and opens a stream that an operator has declared. If options is NULL, all options have
 * their defaults. Blocks for at most open_timeout_ms. Returns 0, or -errno with its text in
 * leat_client_error(): -ECONNREFUSED (no daemon answers; the text lists the sockets), -EACCES (the
 * text names the group that you must join), -ENOENT (no such stream; the text suggests the nearest
 * name), -ETIMEDOUT, -EPROTONOSUPPORT (daemon and library have different protocols), -ESTALE,
 * -EINTR (a signal came), and other errors of the daemon. Close *ret_stream with
 * leat_stream_close(). */
LEAT_API int leat_client_open(struct leat_client *client, const char *stream,
                              const struct leat_open_options *options,
                              struct leat_stream **ret_stream);

/* The same as leat_client_open(), for a stream that you built in code. The daemon opens only files
 * below the folders of its setting `roots`. Give absolute paths, or paths relative to one of these
 * folders: the daemon takes the first folder that has the file. You keep the builder, and free it
 * yourself. */
LEAT_API int leat_client_open_built(struct leat_client *client, const struct leat_builder *builder,
                                    const struct leat_open_options *options,
                                    struct leat_stream **ret_stream);

/* Closes the stream. Batches that you still hold stay valid until you release them. Until then the
 * daemon keeps the session and the memory of these batches. The stream may be NULL. Always returns
 * NULL. */
LEAT_API struct leat_stream *leat_stream_close(struct leat_stream *stream);

/* ---- Building a stream in code ---- */

/* Builds a stream from a source, stages and options, as in a configuration file. `leatctl stages`
 * lists all sources, stages and options with their arguments. Each argument goes to the source, the
 * stage or the options that you began last. After a failure, all later calls and the call that
 * opens the stream return the same failure. So you need to check only once after several calls.
 * Failures are -EINVAL (wrong use: an argument before a source, a name given twice, too many
 * levels), -E2BIG (more than 256 stages) and -ENOMEM. */
LEAT_API int leat_builder_new(const char *name, struct leat_builder **ret_builder);
LEAT_API struct leat_builder *leat_builder_free(struct leat_builder *builder);
LEAT_API const struct leat_error *leat_builder_error(const struct leat_builder *builder);

LEAT_API int leat_builder_source(struct leat_builder *builder, const char *kind); /* "csv" */
LEAT_API int leat_builder_stage(struct leat_builder *builder, const char *kind);  /* "shuffle" */
LEAT_API int leat_builder_options(struct leat_builder *builder); /* on_error, seed, ... */

/* Each of these functions adds one argument. Inside a list, the name is NULL. */
LEAT_API int leat_builder_text(struct leat_builder *builder, const char *name, const char *value);
LEAT_API int leat_builder_int(struct leat_builder *builder, const char *name, int64_t value);
LEAT_API int leat_builder_float(struct leat_builder *builder, const char *name, double value);
LEAT_API int leat_builder_bool(struct leat_builder *builder, const char *name, bool value);
/* A list of texts in one call. */
LEAT_API int leat_builder_texts(struct leat_builder *builder, const char *name,
                                const char *const *values, size_t n_values);
/* Begins a list or a map, which takes the values until leat_builder_end(). */
LEAT_API int leat_builder_list(struct leat_builder *builder, const char *name);
LEAT_API int leat_builder_map(struct leat_builder *builder, const char *name);
LEAT_API int leat_builder_end(struct leat_builder *builder);

/* ---- The opened stream ---- */

/* The types of a tensor's elements: the values of `dtype`. */
enum leat_element {
    LEAT_BOOL = 1, /* one byte, 0 or 1 */
    LEAT_UINT8 = 2,
    LEAT_UINT16 = 3,
    LEAT_INT32 = 4,
    LEAT_INT64 = 5,
    LEAT_FLOAT16 = 6,  /* IEEE 754 binary16 */
    LEAT_BFLOAT16 = 7, /* the upper half of binary32 */
    LEAT_FLOAT32 = 8,
    LEAT_FLOAT64 = 9,
    LEAT_INT8 = 11,
    LEAT_INT16 = 12,
};

#define LEAT_MAX_NDIM 4

struct leat_tensor_info {
    const char *name;
    const char *dtype_name; /* "int32" */
    uint32_t dtype;         /* enum leat_element */
    uint32_t ndim;
    int64_t shape[LEAT_MAX_NDIM]; /* -1: varies from batch to batch */
};

/* If an operator changes the stream, functions that describe the stream may give new results. The
 * names, types and numbers of dimensions of its tensors never change: see leat_stream_next(). */
LEAT_API const char *leat_stream_name(const struct leat_stream *stream);
LEAT_API size_t leat_stream_n_tensors(const struct leat_stream *stream);
/* This number grows after each new connection and after an operator's change. When it has grown,
 * call the functions that describe the stream again, because their earlier results may be out of
 * date. */
LEAT_API uint64_t leat_stream_version(const struct leat_stream *stream);
/* NULL if index is not below leat_stream_n_tensors(). */
LEAT_API const struct leat_tensor_info *leat_stream_tensor(const struct leat_stream *stream,
                                                           size_t index);
/* The most rows that a batch can have. */
LEAT_API uint64_t leat_stream_batch_size(const struct leat_stream *stream);
/* The most batches that you may hold at once. */
LEAT_API uint32_t leat_stream_window(const struct leat_stream *stream);
/* This trainer's rank, and the number of ranks. The trainer gets each step for which step %
 * world_size equals rank. */
LEAT_API uint32_t leat_stream_rank(const struct leat_stream *stream);
LEAT_API uint32_t leat_stream_world_size(const struct leat_stream *stream);
/* Where rank and world_size come from: "arguments", "environment" (LEAT_RANK), "torchrun",
 * "mlx.launch", "openmpi", "mpich", "slurm", "kubernetes"; "": no launcher was found, and this is
 * the only trainer. */
LEAT_API const char *leat_stream_rank_source(const struct leat_stream *stream);
/* 32 bytes: the digest of the stream's spec. You can give it as the option `expect_digest` when you
 * open the stream again. */
LEAT_API const uint8_t *leat_stream_digest(const struct leat_stream *stream);

/* The position after the last batch that leat_stream_next() returned, even if you have not released
 * this batch. Save the position in a checkpoint, and give it as the option `position` when you open
 * the stream again. It is one line of less than 256 bytes, without blanks. It holds epoch, step,
 * seed and world size, and the digests of spec and data. It is valid until the next call on the
 * stream.
 *
 * With several ranks, steps form rounds. A round is world_size steps, one for each rank. The first
 * round starts at step 0, or at the step where you opened the stream or to which you moved it. The
 * position names the first step of a round. So all ranks that have got the same number of batches
 * have the same text. Write checkpoints after the same number of batches on each rank. Any number
 * of ranks may begin at this position. */
LEAT_API const char *leat_stream_position(struct leat_stream *stream);
/* A text that must be equal on all ranks. It is the position, followed by ":order=N". N is the
 * version of the daemon's rules for the order of rows, or 0 if the daemon does not give the
 * version. Ranks should exchange the text before the first batch and at each checkpoint. If two
 * ranks have different texts, some rows come twice and others not at all. With the terminating 0 it
 * has at most LEAT_FINGERPRINT_SIZE bytes, so ranks can exchange arrays of this size
 * (client/examples/agree_mpi.c). It is never NULL. It is valid until the next call on the stream.
 */
#define LEAT_FINGERPRINT_SIZE 320
LEAT_API const char *leat_stream_fingerprint(struct leat_stream *stream);
/* A list of the files that the daemon reads for this stream. If ranks differ, compare their lists
 * to find the file that differs. There is one line for each file: its size in bytes, a tab, 16
 * hexadecimal digits of a digest of its contents, a tab, and its name as a JSON string. With
 * several ranks, the daemon gives the first 32 KiB of these lines. With one rank, or if the data
 * comes through a FIFO, the text is "". It is valid until the next call on the stream. */
LEAT_API const char *leat_stream_files(const struct leat_stream *stream);
/* The epoch and step of the batch that this rank gets next. The step counts over all ranks. */
LEAT_API void leat_stream_position_numbers(const struct leat_stream *stream, uint64_t *ret_epoch,
                                           uint64_t *ret_step);
/* Parses a position; each of the pointers may be NULL. Returns 0, or -EINVAL if the text is not a
 * position. */
LEAT_API int leat_position_parse(const char *text, uint64_t *ret_epoch, uint64_t *ret_step,
                                 uint64_t *ret_seed, uint32_t *ret_world_size);

/* Moves the stream to a step of an epoch. The next batch is this rank's first batch at or after
 * this place. You may call this after the end of the stream, too. The options n_epochs and n_steps
 * count from the new place. To go to the start of an epoch, give step 0. If the stream is already
 * at this place, nothing happens, and the daemon keeps the batches that it has prepared. Otherwise
 * the next leat_stream_next() opens a session at the new place, and returns its errors. Batches
 * that you hold stay valid. Returns 0, -EBUSY (you hold batches from before the previous seek and
 * others from after it: release the older ones), -EPERM, or the failure of the stream. */
LEAT_API int leat_stream_seek(struct leat_stream *stream, uint64_t epoch, uint64_t step);

/* Ends the session, so that the daemon frees the batches that it has prepared. Call it if you need
 * no batches for a while. The next leat_stream_next() opens another session at the same place. If
 * no session is open, nothing happens. Returns the same as leat_stream_seek(). */
LEAT_API int leat_stream_pause(struct leat_stream *stream);

/* Skips the rest of the epoch, as if you had read it. The next batch is the first batch of the next
 * epoch. The skipped epoch counts for the option n_epochs. If an operator has changed the stream,
 * the change takes effect at this batch. At the end of the stream, nothing happens. Returns the
 * same as leat_stream_seek(). */
LEAT_API int leat_stream_skip_epoch(struct leat_stream *stream);

/* Gives the number of steps of a whole epoch, over all ranks. Returns 0, or -ENODATA if the number
 * is unknown. leat_stream_steps_reason() then gives the reason. If the number is known, it gives
 * "". If all epochs have the same number of steps, the number is known after the first
 * LEAT_END_EPOCH. */
LEAT_API int leat_stream_n_steps(const struct leat_stream *stream, uint64_t *ret_n_steps);
LEAT_API const char *leat_stream_steps_reason(const struct leat_stream *stream);
/* The fields of the data that leat does not read by itself, each with the reason. To read such a
 * field, declare it in the stream. "" if there are no such fields. */
LEAT_API const char *leat_stream_left_out(const struct leat_stream *stream);

/* ---- Batches ---- */

#define LEAT_END_EPOCH 1 /* an epoch has ended, and the next one follows */
#define LEAT_END       2 /* the last epoch has ended, or n_steps batches have come */

/* Gives the next batch, in the order of steps. timeout_ms: -1 waits without limit, and 0 does not
 * wait. Returns 0 and a batch, which you must release. Returns LEAT_END_EPOCH at the end of an
 * epoch, and LEAT_END at the end of the stream (and at each call after it). After these errors you
 * may call again:
 *   -EAGAIN      no batch is ready (timeout 0)     -ETIMEDOUT  no batch came in time
 *   -EINTR       a signal came while waiting       -ENOBUFS    you hold all batches: release one
 * After these errors the stream has failed, and later calls return the same error:
 *   -EPROTO      a packet makes no sense           -ECONNRESET no daemon answers any more
 *   -EPERM       this is a forked child            -ESTALE     the stream or its data has changed
 *   or an error of the daemon
 * *ret_batch is NULL unless the function returns 0. Once you have held as many batches as the
 * option `window` allows, the function allocates no more memory.
 *
 * If the daemon dies, restarts or is upgraded, the stream only pauses. Within reconnect_timeout_ms
 * it connects again to the socket that answered before, opens the same stream at its position, and
 * continues with the next batch. timeout_ms still applies. You can still read the batches that you
 * hold. They still count for the option `window`. Errors that a restart cannot cure (another spec,
 * no permission, wrong data) come at once.
 *
 * -ESTALE can also mean that the data changed while the daemon read it. This happens if the stream
 * has the option `on_change: fail`. This option is the default if you open the stream at a position
 * or with several ranks. With `on_change: warn`, the stream continues and calls on_notice.
 *
 * An operator may change a declared stream while it is open. The current epoch ends unchanged.
 * After its LEAT_END_EPOCH the stream has the new digest, batch size, number of steps, shapes and
 * seed (unless you gave a seed). The names, types and numbers of dimensions of tensors stay the
 * same. The stream fails with -ESTALE if these would change, or if the operator removed the stream.
 * It also fails with -ESTALE if the new digest differs from expect_digest, or if the stream has the
 * option `on_reload: tell`. */
LEAT_API int leat_stream_next(struct leat_stream *stream, int timeout_ms,
                              struct leat_batch **ret_batch);

/* Interrupts leat_stream_next(): the call that waits now returns -EINTR. If no call waits now, the
 * next call that would wait returns -EINTR. You may call this from any thread and from a signal
 * handler, but not while another thread closes the stream. */
LEAT_API void leat_stream_wake(const struct leat_stream *stream);

/* A descriptor for event loops. When it is readable (POLLIN), call leat_stream_next(stream, 0,
 * ...), which may still return -EAGAIN. The descriptor stays the same as long as the stream is
 * open, also after a new connection. (It is an epoll instance of the socket and a timer.) It
 * belongs to the stream, so only watch it. Returns -errno if the descriptor cannot be made. */
LEAT_API int leat_stream_fd(struct leat_stream *stream);

/* True while the stream is connected to a daemon. If it is not, the next leat_stream_next() tries
 * to connect. */
LEAT_API bool leat_stream_is_connected(const struct leat_stream *stream);

/* Closes the inherited descriptors in a forked child. Without this call, the daemon keeps the
 * session and its memory until the child ends, even if the parent has ended. The call works even if
 * another thread of the parent used the stream during the fork. It is async-signal-safe, so you may
 * use it with pthread_atfork(). After this call, you may only close the stream. */
LEAT_API void leat_stream_forget(struct leat_stream *stream);

struct leat_tensor {
    const char *name;
    const char *dtype_name; /* "int32" */
    uint32_t dtype;         /* enum leat_element */
    uint32_t ndim;
    uint64_t shape[LEAT_MAX_NDIM];   /* elements; unused ones are 0 */
    uint64_t strides[LEAT_MAX_NDIM]; /* bytes; row-major, without gaps */
    const void *data;                /* read-only, at a multiple of 64 bytes */
    uint64_t size_bytes;
};

/* The place of the batch in the stream, and the numbers of its rows and tensors. */
LEAT_API uint64_t leat_batch_epoch(const struct leat_batch *batch);
LEAT_API uint64_t leat_batch_step(const struct leat_batch *batch); /* counted over all ranks */
LEAT_API uint32_t leat_batch_n_rows(const struct leat_batch *batch);
LEAT_API size_t leat_batch_n_tensors(const struct leat_batch *batch);
/* The tensor is valid until you release the batch. NULL if index is not below
 * leat_batch_n_tensors(). */
LEAT_API const struct leat_tensor *leat_batch_tensor(const struct leat_batch *batch, size_t index);
/* The tensor is valid until you release the batch. NULL if there is no tensor of that name. */
LEAT_API const struct leat_tensor *leat_batch_find(const struct leat_batch *batch,
                                                   const char *name);

/* The ring (shared memory) that holds the batch. The result is valid until you release the batch.
 * NULL: the batch is in memory of this process (LEAT_DELIVERY_COPY). */
LEAT_API const struct leat_ring *leat_batch_ring(const struct leat_batch *batch);

/* After this call you may write to the tensors of the batch, although their data is const. Only
 * this process sees the writes, because the kernel copies a page at the first write to it. When you
 * release the batch, the writes are lost. Returns 0, -EROFS (the batch is in shared memory, and you
 * opened the stream without private_writes) or -EPERM (this is a forked child). */
LEAT_API int leat_batch_let_write(struct leat_batch *batch);

/* Gives the batch back to the daemon. You may release batches in any order, also after you have
 * closed the stream. Accepts NULL. */
LEAT_API void leat_batch_release(struct leat_batch *batch);

/* ---- Saving ---- */

/* A safetensors file keeps all dtypes; its metadata has epoch, step and rows. A .npz file is for
 * numpy.load(). NumPy has no bfloat16, so a bfloat16 tensor has the dtype "V2" of two bytes, and
 * .view(ml_dtypes.bfloat16) gives its numbers. A JSONL file has a line for each row, with "_epoch",
 * "_step", "_row" and the values by the names of their tensors; infinities and NaN are null. Equal
 * batches give equal files. */
enum leat_save_format {
    LEAT_SAVE_BY_NAME = 0, /* by the end of the path: .safetensors, .npz, .jsonl */
    LEAT_SAVE_SAFETENSORS = 1,
    LEAT_SAVE_NPZ = 2,
    LEAT_SAVE_JSONL = 3,
};

/* Initialise with leat_save_options_init(). It sets struct_size, and sets all other members to
 * their default, which is zero. */
struct leat_save_options {
    size_t struct_size;  /* sizeof(struct leat_save_options) */
    int32_t format;      /* enum leat_save_format */
    int32_t compression; /* of .npz: 0: none, 1 .. 9: deflate, from fast to small */
};

static inline void leat_save_options_init(struct leat_save_options *options) {
    memset(options, 0, sizeof(*options));
    options->struct_size = sizeof(*options);
}

/* Writes the batch to a temporary file in the same folder, syncs it and renames it. So the file is
 * complete, or stays as it was. If options is NULL, all options have their defaults. Another thread
 * may use the stream meanwhile.
 *
 * Returns 0, or -errno with its text in leat_batch_error(). The disk may give -ENOSPC, -EACCES or
 * -EISDIR, or -ENOENT if there is no such folder. The error -EINVAL means an unknown format, names
 * that the format cannot hold, or a path of a device or a pipe. The error -EILSEQ means that a name
 * is not UTF-8. The error -EPERM means that this is a forked child. */
LEAT_API int leat_batch_save(struct leat_batch *batch, const char *path,
                             const struct leat_save_options *options);
/* The error of the last failed leat_batch_save() on this batch. Its code is 0 if none has
 * failed yet. The result is valid until the next leat_batch_save() on this batch, or until you
 * release the batch. */
LEAT_API const struct leat_error *leat_batch_error(const struct leat_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
