/* leat.h: libleat, the trainer's side of leat.
 *
 * A daemon (leatd) turns CSV and JSONL into batches; this library hands them to a trainer. Batches
 * lie in shared memory that the trainer maps read-only: a tensor's address points straight at the
 * bytes that the daemon's worker wrote. Or, with LEAT_DELIVERY_COPY, in memory of this process.
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
 * Results. 0 is success; a negative errno is a failure, whose text the client or the stream keeps;
 * a positive number is an outcome (LEAT_END_EPOCH, LEAT_END).
 *
 * Threads. Any thread may call, but a client, or a stream with all its batches, must be used by one
 * thread at a time; only leat_stream_wake() may come from another. Different streams are
 * independent of each other and of the client.
 *
 * fork(). A child has neither the mappings nor the session: leat_stream_next() fails there with
 * -EPERM, and closing or releasing what it inherited only frees its own memory. Open a new stream
 * there.
 *
 * Strings that are passed in are UTF-8, terminated, and copied. Strings that are handed out belong
 * to the object that they were asked of.
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

/* The last failure of a call on the client (opening included) or on the stream. Never NULL; its
 * code is 0 if nothing has failed yet. Valid until the next call on that object. */
LEAT_API const struct leat_error *leat_client_error(const struct leat_client *client);
LEAT_API const struct leat_error *leat_stream_error(const struct leat_stream *stream);

/* The negative errno; 0: no error. */
LEAT_API int leat_error_code(const struct leat_error *error);
/* The message without the place. "" if there is no error. */
LEAT_API const char *leat_error_message(const struct leat_error *error);
/* Where: the file ("" if unknown), line and column in bytes (from 1, 0 if unknown), and the place
 * in the configuration ("streams.titanic.stages[5].shuffle.buffer_size", "" if unknown). */
LEAT_API const char *leat_error_file(const struct leat_error *error);
LEAT_API uint32_t leat_error_line(const struct leat_error *error);
LEAT_API uint32_t leat_error_column(const struct leat_error *error);
LEAT_API const char *leat_error_path(const struct leat_error *error);
/* Place and message, "file:line:column: path: message". In memory of the calling thread, valid
 * until that thread's next call of this function. */
LEAT_API const char *leat_error_text(const struct leat_error *error);

/* A copy that outlives the object it was asked of. NULL: no memory. To be freed. */
LEAT_API struct leat_error *leat_error_copy(const struct leat_error *error);
/* Frees a copy. Accepts NULL, returns NULL. */
LEAT_API struct leat_error *leat_error_free(struct leat_error *error);

/* ---- The client: where the daemon is ---- */

/* Makes a client. `address` is the daemon's socket directory, or a socket in it. NULL searches, at
 * each opening: $LEAT_SOCKET if it is set (and nothing else then), $XDG_RUNTIME_DIR/leat,
 * /run/leat. Does not connect. 0, -EINVAL (too long), -ENOMEM; *ret_client is to be freed. */
LEAT_API int leat_client_new(const char *address, struct leat_client **ret_client);
/* Frees the client; its streams live on. Accepts NULL, returns NULL. */
LEAT_API struct leat_client *leat_client_free(struct leat_client *client);

/* ---- Opening a stream ---- */

enum leat_delivery {
    LEAT_DELIVERY_SHARED = 0, /* batches lie in shared memory, mapped read-only */
    LEAT_DELIVERY_COPY = 1,   /* LZ4 copies through the socket, if memory cannot be mapped */
};

/* Events of a lost connection: see leat_stream_next(). */
enum leat_reconnect_kind {
    LEAT_RECONNECT_LOST = 1,   /* the daemon is gone, or has announced its end */
    LEAT_RECONNECT_TRYING = 2, /* attempt number `attempt` begins */
    LEAT_RECONNECT_BACK = 3,   /* that attempt succeeded: the stream continues where it was */
};

struct leat_reconnect_event {
    size_t struct_size; /* sizeof(struct leat_reconnect_event), as the library knows it */
    int32_t kind;       /* enum leat_reconnect_kind */
    uint32_t attempt;   /* from 1 */
    uint64_t waited_ns; /* since the connection was lost */
    const char *reason; /* why it was lost, or why the last attempt failed; valid during the call */
};

#define LEAT_RECONNECT_DEFAULT_MS 60000
#define LEAT_NO_RECONNECT         INT32_MIN

/* Ranks. If rank and world_size are 0, they are taken from the variables of the first launcher in
 * this order that has set any: LEAT_RANK, LEAT_WORLD_SIZE (and LEAT_LOCAL_RANK,
 * LEAT_LOCAL_WORLD_SIZE); torchrun; mlx.launch; Open MPI; MPICH and others that speak PMI; Slurm
 * (of tasks that srun started); an indexed job of Kubernetes (its size is LEAT_WORLD_SIZE or
 * WORLD_SIZE). Without any this is rank 0 of 1. Incomplete or contradictory variables are -EINVAL,
 * and the error names them. Given numbers take precedence; with LEAT_RANK_LAUNCHER as rank the size
 * is given and the rank is the launcher's. See leat_stream_rank_source(). */
#define LEAT_RANK_LAUNCHER UINT32_MAX

/* The memory of batches of shared delivery, as this process has mapped it. */
struct leat_ring {
    uint64_t number;    /* unique among the mappings of this process */
    const void *shared; /* the daemon's memory, read-only */
    const void *memory; /* of the tensors: the same, or with private_writes another mapping of it */
    uint64_t size_bytes; /* of each mapping */
};

/* Says if the stages `shuffle` of a declared stream apply. */
enum leat_shuffle {
    LEAT_SHUFFLE_AS_DECLARED = 0,
    LEAT_SHUFFLE_ON = 1,  /* as declared; -EINVAL if the stream has none */
    LEAT_SHUFFLE_OFF = 2, /* without them: rows come in the order of the data */
};

/* All zero but struct_size is the default. Initialise with leat_open_options_init(). */
struct leat_open_options {
    size_t struct_size;   /* sizeof(struct leat_open_options) */
    int32_t delivery;     /* enum leat_delivery */
    uint32_t rank;        /* this trainer sees the steps congruent to rank modulo world_size; or
                             LEAT_RANK_LAUNCHER */
    uint32_t world_size;  /* 0: rank and world_size are those of the launcher, if there is one; 1:
                             this is the only trainer, whatever a launcher says */
    uint32_t window;      /* batches that may be held at once; 0: the daemon's default */
    uint64_t first_epoch; /* start at this position: no batch before it is seen */
    uint64_t first_step;  /* counted over all ranks: the same for all of them */
    uint64_t n_epochs;    /* counted from first_epoch; 0: without end */
    uint64_t n_steps;     /* end after that many batches of this rank; 0: all */
    uint64_t seed;        /* in place of the stream's own, if has_seed */
    bool has_seed;
    const char *client_name;      /* shown to operators; NULL: the program's name */
    const uint8_t *expect_digest; /* 32 bytes: fail with -ESTALE if the stream's spec has another
                                     digest; NULL: whatever it has */
    int32_t open_timeout_ms;      /* for connecting and opening; 0: 120 s; -1: no limit */
    int32_t reconnect_timeout_ms; /* how long to look for a daemon that is gone, or goes while the
                                     stream is opened: 0: LEAT_RECONNECT_DEFAULT_MS; -1: for ever;
                                     LEAT_NO_RECONNECT: not at all */
    uint32_t local_rank;          /* the rank among those on this machine */
    uint32_t local_world_size;    /* their number; 0: the launcher's, or unknown */
    /* Called from within leat_stream_next(), and the call that opens the stream, for events of a
     * lost connection; must not call anything on the stream. May be NULL. */
    void (*on_reconnect)(void *user, const struct leat_reconnect_event *event);
    void *on_reconnect_user;
    const char *position; /* start there: a text of leat_stream_position(), in place of first_epoch
                             and first_step, in a world of any size. Its seed is used, and must
                             equal `seed` if that is given. -ESTALE: spec, data or seed have
                             changed, and the error says which; -EINVAL: it is no position. NULL:
                             none */
    bool accept_changes;  /* start at `position` even so: at that epoch and step of the changed
                             stream, with `seed` or else the seed of the position */
    /* Called before a ring of batches is unmapped, by any call on any thread, so that its
     * registration with a device can be undone. Must not call anything of this library. May be
     * NULL. */
    void (*on_unmap)(void *user, const struct leat_ring *ring);
    void *on_unmap_user;
    /* Called when a signal interrupts the opening: 0 continues, else it fails with -EINTR. NULL: it
     * fails. */
    int (*on_interrupt)(void *user);
    void *on_interrupt_user;
    bool private_writes; /* tensors may be written: see leat_batch_let_write() */
    const char *split;   /* of a declared stream: this part of its data, "train", "validation" or
                            "test": the stream NAME.SPLIT if there is one, else that part of its
                            stage `split`; NULL: as it is declared */
    int32_t shuffle;     /* of a declared stream: enum leat_shuffle */
    /* Called from within leat_stream_next() with a warning of the daemon: a file of the data has
     * changed. Must not call anything on the stream. May be NULL. */
    void (*on_notice)(void *user, const char *text);
    void *on_notice_user;
};

static inline void leat_open_options_init(struct leat_open_options *options) {
    memset(options, 0, sizeof(*options));
    options->struct_size = sizeof(*options);
}

/* Connects and opens a stream that the operator declared. options NULL: the default. Blocks up to
 * open_timeout_ms. 0, or -errno with its text in leat_client_error(): -ECONNREFUSED (no daemon
 * answers; lists the sockets), -EACCES (names the group to join), -ENOENT (no such stream; names
 * the nearest), -ETIMEDOUT, -EPROTONOSUPPORT (daemon and library do not fit), -ESTALE, -EINTR (a
 * signal came), and other errors of the daemon. *ret_stream is to be closed. */
LEAT_API int leat_client_open(struct leat_client *client, const char *stream,
                              const struct leat_open_options *options,
                              struct leat_stream **ret_stream);

/* The same for a stream that was built in code. Paths in it are absolute, or relative to the first
 * of the daemon's roots that has them; the daemon opens only files below its roots. The builder
 * stays the caller's. */
LEAT_API int leat_client_open_built(struct leat_client *client, const struct leat_builder *builder,
                                    const struct leat_open_options *options,
                                    struct leat_stream **ret_stream);

/* Closes the stream. Batches that are still held stay valid, with their mappings, until each is
 * released; until then the daemon keeps the session, and their slots. Accepts NULL, returns NULL.
 */
LEAT_API struct leat_stream *leat_stream_close(struct leat_stream *stream);

/* ---- Building a stream in code ---- */

/* A source and stages with arguments, as in a configuration file (`leatctl stages` lists them).
 * Arguments go to the source, stage or options begun last. The first failure is kept, and later
 * calls and the opening return it, so a chain of calls needs one check. Failures are -EINVAL
 * (misuse: an argument before anything was begun, a name given twice, too deep), -E2BIG (more than
 * 256 stages), -ENOMEM. */
LEAT_API int leat_builder_new(const char *name, struct leat_builder **ret_builder);
LEAT_API struct leat_builder *leat_builder_free(struct leat_builder *builder);
LEAT_API const struct leat_error *leat_builder_error(const struct leat_builder *builder);

LEAT_API int leat_builder_source(struct leat_builder *builder, const char *kind); /* "csv" */
LEAT_API int leat_builder_stage(struct leat_builder *builder, const char *kind);  /* "shuffle" */
LEAT_API int leat_builder_options(struct leat_builder *builder); /* on_error, seed, ... */

/* One argument each. Inside a list the name is NULL. */
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

/* ---- What was opened ---- */

/* Element types: the values of `dtype`. */
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

/* If an operator changes the stream, everything may change except the names, types and numbers of
 * dimensions of tensors: see leat_stream_next(). */
LEAT_API const char *leat_stream_name(const struct leat_stream *stream);
LEAT_API size_t leat_stream_n_tensors(const struct leat_stream *stream);
/* Grows whenever a daemon has described the stream again, after a reconnection or an operator's
 * change: results of these functions that were kept are out of date then. */
LEAT_API uint64_t leat_stream_version(const struct leat_stream *stream);
/* NULL if index is not below leat_stream_n_tensors(). */
LEAT_API const struct leat_tensor_info *leat_stream_tensor(const struct leat_stream *stream,
                                                           size_t index);
LEAT_API uint64_t leat_stream_batch_size(const struct leat_stream *stream); /* rows */
LEAT_API uint32_t leat_stream_window(const struct leat_stream *stream);
/* Its steps are those congruent to rank modulo world_size. */
LEAT_API uint32_t leat_stream_rank(const struct leat_stream *stream);
LEAT_API uint32_t leat_stream_world_size(const struct leat_stream *stream);
/* Where rank and world_size come from: "arguments", "environment" (LEAT_RANK), "torchrun",
 * "mlx.launch", "openmpi", "mpich", "slurm", "kubernetes"; "": no launcher was found, and this is
 * the only trainer. */
LEAT_API const char *leat_stream_rank_source(const struct leat_stream *stream);
/* 32 bytes: the digest of the bound spec, to keep with a position. */
LEAT_API const uint8_t *leat_stream_digest(const struct leat_stream *stream);

/* The position after the last batch that leat_stream_next() returned, released or not, for a
 * checkpoint and the `position` of a later opening. One line of less than 256 bytes, without
 * blanks, with the digests of spec and data, seed, epoch, step and world size. Valid until the next
 * call on the stream.
 *
 * With several ranks it names the first step of a round (world_size steps, one for each rank,
 * counted from the step at which the epoch was begun). So all ranks that have seen the same number
 * of batches have the same text: checkpoint after the same number on each. Any number of ranks may
 * start there. (With another world size, a later step in the round would be skipped for other
 * ranks, or seen twice.)
 */
LEAT_API const char *leat_stream_position(struct leat_stream *stream);
/* All ranks of a world must have this in common: the position and, behind it, ":order=N", the
 * version of the daemon's rules for the order of rows (0: a daemon that does not tell). Exchange it
 * before the first batch, and whenever a checkpoint is written; where two ranks have different
 * texts, rows come twice or not at all. With the terminating 0 it has at most LEAT_FINGERPRINT_SIZE
 * bytes, so that an array of that size can be exchanged (client/examples/agree_mpi.c). Never NULL;
 * cannot fail. Valid until the next call on the stream. */
#define LEAT_FINGERPRINT_SIZE 320
LEAT_API const char *leat_stream_fingerprint(struct leat_stream *stream);
/* The files that the daemon reads for this stream, to tell in which of them ranks differ. A line
 * for each: its size in bytes, a tab, 16 hexadecimal digits of a digest of its contents, a tab, and
 * its name as a JSON string. The daemon tells them if there are several ranks, the first 32 KiB of
 * lines; "" if it does not, or the data comes through a FIFO. Valid until the next call on the
 * stream. */
LEAT_API const char *leat_stream_files(const struct leat_stream *stream);
/* The step, counted over all ranks, that this rank sees next. */
LEAT_API void leat_stream_position_numbers(const struct leat_stream *stream, uint64_t *ret_epoch,
                                           uint64_t *ret_step);
/* Parses a position; each of the pointers may be NULL. 0; -EINVAL: the text is not a position. */
LEAT_API int leat_position_parse(const char *text, uint64_t *ret_epoch, uint64_t *ret_step,
                                 uint64_t *ret_seed, uint32_t *ret_world_size);

/* Moves the stream: the next batch is the first one of this rank at or after `step` of `epoch`,
 * also if the stream had ended. n_epochs and n_steps count from there. To set the epoch, step is 0.
 * If the stream is there already, nothing is done, and batches that were made ahead are not lost.
 * Otherwise the next leat_stream_next() opens a session there, and returns its errors. Held batches
 * stay valid. 0; -EBUSY: batches of two sessions are held already; -EPERM; or the stream's failure.
 */
LEAT_API int leat_stream_seek(struct leat_stream *stream, uint64_t epoch, uint64_t step);

/* Gives up the session with the batches that the daemon made ahead: the next leat_stream_next()
 * opens another one at the same place. Does nothing if none is open. Results as of
 * leat_stream_seek(). */
LEAT_API int leat_stream_pause(struct leat_stream *stream);

/* Skips the rest of the epoch as if it had been read: the next batch is the first one of the next
 * epoch. n_epochs and n_steps count on, and an operator's change of the stream takes effect there.
 * Does nothing at the stream's end. Results as of leat_stream_seek(). */
LEAT_API int leat_stream_skip_epoch(struct leat_stream *stream);

/* The number of steps of a whole epoch, over all ranks. 0; -ENODATA: it is unknown, for the reason
 * in leat_stream_steps_reason() ("" if it is known). If all epochs have as many, it is known from
 * the first LEAT_END_EPOCH on. */
LEAT_API int leat_stream_n_steps(const struct leat_stream *stream, uint64_t *ret_n_steps);
LEAT_API const char *leat_stream_steps_reason(const struct leat_stream *stream);
/* Fields of the data that are not read because they are not declared, and why; "" if there are
 * none. */
LEAT_API const char *leat_stream_left_out(const struct leat_stream *stream);

/* ---- Batches ---- */

#define LEAT_END_EPOCH 1 /* an epoch ended; the next one follows */
#define LEAT_END       2 /* the last epoch ended, or n_steps batches were seen: nothing follows */

/* The next batch, in step order. timeout_ms: -1 waits without limit, 0 does not wait. 0 and a batch
 * to release; LEAT_END_EPOCH; LEAT_END (again and again); or
 *   -EAGAIN      no batch is ready (timeout 0)     -ETIMEDOUT  no batch came in time
 *   -EINTR       a signal came while waiting       -ENOBUFS    the whole window is held: release
 * after which the stream can continue. Or the stream has failed, and later calls return the same:
 *   -EPROTO      a packet makes no sense           -ECONNRESET no daemon answers any more
 *   -EPERM       this is a forked child            -ESTALE     the stream or its data has changed
 *   or an error of the daemon
 * *ret_batch is NULL unless 0 is returned. Nothing is allocated once the window has been held.
 *
 * A daemon that dies, is restarted or upgraded costs only a pause: the stream connects again within
 * reconnect_timeout_ms to the socket that answered before, opens the same stream at its position,
 * and continues with the next batch. Timeouts hold meanwhile. Held batches stay readable and count
 * against the window. Errors that a restart does not cure (another spec, no permission, data that
 * fails) are returned at once.
 *
 * -ESTALE also means that the data changed while the daemon read it, if the stream's option
 * `on_change` is `fail`, which is the default at a position or with several ranks. With `warn` the
 * stream continues, and on_notice is called.
 *
 * An operator may change a declared stream while it is open. The present epoch ends unchanged.
 * After its LEAT_END_EPOCH the stream has the new digest, batch size, number of steps, shapes and,
 * unless it was given, seed; tensors keep their names, types and numbers of dimensions. -ESTALE:
 * they would not; the stream was removed; expect_digest is of another one; or the operator wants
 * trainers to end (`on_reload: tell`). */
LEAT_API int leat_stream_next(struct leat_stream *stream, int timeout_ms,
                              struct leat_batch **ret_batch);

/* Makes the leat_stream_next() that waits now, or else the next one that would wait, return -EINTR.
 * For any thread and signal handlers, at any time except while the stream is being closed. */
LEAT_API void leat_stream_wake(const struct leat_stream *stream);

/* For event loops: a descriptor that is readable (POLLIN) when leat_stream_next(stream, 0, ...)
 * would advance; that may still return -EAGAIN. It stays the same for the stream's whole life,
 * through all connections (an epoll instance of the socket and a timer). Belongs to the stream;
 * only watch it. -errno if it cannot be made. */
LEAT_API int leat_stream_fd(struct leat_stream *stream);

/* True while a session is open. If none is, the next leat_stream_next() will try to connect. */
LEAT_API bool leat_stream_is_connected(const struct leat_stream *stream);

/* Closes the inherited descriptors in a forked child, whatever another thread of the parent is
 * doing with the stream. Otherwise they keep the session, and its memory in the daemon, until the
 * child ends too. Async-signal-safe: for pthread_atfork(). Afterwards the stream may only be
 * closed. */
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

/* All of this is valid until the batch is released. */
LEAT_API uint64_t leat_batch_epoch(const struct leat_batch *batch);
LEAT_API uint64_t leat_batch_step(const struct leat_batch *batch); /* over all ranks */
LEAT_API uint32_t leat_batch_n_rows(const struct leat_batch *batch);
LEAT_API size_t leat_batch_n_tensors(const struct leat_batch *batch);
/* NULL if index is not below leat_batch_n_tensors(). */
LEAT_API const struct leat_tensor *leat_batch_tensor(const struct leat_batch *batch, size_t index);
/* NULL if there is no tensor of that name. */
LEAT_API const struct leat_tensor *leat_batch_find(const struct leat_batch *batch,
                                                   const char *name);

/* The ring with the batch, valid until the batch is released; NULL: the batch is in memory of this
 * process (LEAT_DELIVERY_COPY). */
LEAT_API const struct leat_ring *leat_batch_ring(const struct leat_batch *batch);

/* From now on the bytes of the batch's tensors may be written, const or not. Only this process sees
 * the writes, and they are dropped when the batch is released: a page is copied when it is first
 * written to. 0; -EROFS: the batch is in shared memory and the stream was not opened with
 * private_writes; -EPERM: this is a forked child. */
LEAT_API int leat_batch_let_write(struct leat_batch *batch);

/* Gives the batch back, in any order, also after its stream was closed. Accepts NULL. */
LEAT_API void leat_batch_release(struct leat_batch *batch);

/* ---- Saving ---- */

/* safetensors keeps all dtypes, and has epoch, step and rows as its metadata. .npz is for
 * numpy.load(); bfloat16, which NumPy does not have, becomes "V2" of two bytes, which
 * .view(ml_dtypes.bfloat16) reads. JSONL has a line for each row: "_epoch", "_step" and "_row", and
 * its values by the tensors' names; infinities and NaN are null. The same batch makes the same
 * bytes. */
enum leat_save_format {
    LEAT_SAVE_BY_NAME = 0, /* as the path ends: .safetensors, .npz, .jsonl */
    LEAT_SAVE_SAFETENSORS = 1,
    LEAT_SAVE_NPZ = 2,
    LEAT_SAVE_JSONL = 3,
};

/* All zero but struct_size is the default. Initialise with leat_save_options_init(). */
struct leat_save_options {
    size_t struct_size;  /* sizeof(struct leat_save_options) */
    int32_t format;      /* enum leat_save_format */
    int32_t compression; /* of .npz: 0: none, 1 .. 9: deflate, from fast to small */
};

static inline void leat_save_options_init(struct leat_save_options *options) {
    memset(options, 0, sizeof(*options));
    options->struct_size = sizeof(*options);
}

/* Writes the batch to a file under a temporary name in the same folder, syncs and renames it. So
 * the file is either complete or as before. options NULL: the default. Only the batch is used:
 * another thread may use the stream meanwhile.
 *
 * 0, or -errno with its text in leat_batch_error(): an error of the disk (-ENOSPC, -EACCES,
 * -ENOENT: no such folder, -EISDIR), -EINVAL (no such format; names that it cannot hold; the path
 * is a device or a pipe), -EILSEQ (a name is not UTF-8), -EPERM (this is a forked child).
 */
LEAT_API int leat_batch_save(struct leat_batch *batch, const char *path,
                             const struct leat_save_options *options);
/* The last failure of leat_batch_save() on this batch; as leat_stream_error(). Valid until the next
 * such call, or the release. */
LEAT_API const struct leat_error *leat_batch_error(const struct leat_batch *batch);

#ifdef __cplusplus
}
#endif

#endif
