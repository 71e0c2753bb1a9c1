/* stream.c: see stream.h and leat.h.
 *
 * What the daemon says is believed only as far as it is consistent: a batch must be the very one
 * that comes next for this rank, in a slot that is not held, of a ring that is known. Rings come in
 * order, and so do the batches in them: once a batch lies in a newer ring, older ones are of no
 * further use and go with the last batch that is held of them.
 */
#include "client/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/address.h"

#define MAX_RINGS 16

/* Forgets a list of rings; those that batches lie in stay mapped until they are released. */
static void drop_rings(struct leat_mapping **list) {
    while (*list) {
        struct leat_mapping *mapping = *list;

        *list = mapping->older;
        mapping->older = NULL;
        leat_mapping_unref(mapping);
    }
}

void leat_stream_drop_rings(struct leat_stream *stream) {
    drop_rings(&stream->newest);
}

struct leat_stream *leat_stream_free(struct leat_stream *stream) {
    if (!stream)
        return NULL;
    while (stream->spare) {
        struct leat_batch *batch = stream->spare;

        stream->spare = batch->next;
        leat_batch_free(batch);
    }
    drop_rings(&stream->newest);
    leat_wire_deinit(&stream->wire);
    leat_retired_end(&stream->retired);
    leat_watch_deinit(&stream->watch);
    if (stream->wake_fd >= 0)
        (void)close(stream->wake_fd);
    leat_request_deinit(&stream->request);
    for (size_t i = 0; i < stream->n_tensors; i++)
        free((char *)(uintptr_t)stream->tensors[i].name);
    free(stream->tensors);
    free(stream->name);
    free(stream->steps_reason);
    free(stream->left_out);
    free(stream);
    return NULL;
}

/* Codes after which the caller may go on, and so not those of an end. */
static bool is_passing(int code) {
    return code == -EAGAIN || code == -ETIMEDOUT || code == -EINTR || code == -ENOBUFS;
}

/* A failure after which nothing comes any more. */
static int fail(struct leat_stream *stream) {
    if (is_passing(stream->error.code))
        stream->error.code = -ECONNRESET;
    stream->failure = stream->error.code;
    return stream->failure;
}

static int take_ring(struct leat_stream *stream) {
    const struct leat_packet *packet = &stream->wire.packet;
    struct leat_mapping *mapping = NULL;
    size_t n_rings = 0;
    int r;

    for (const struct leat_mapping *known = stream->newest; known; known = known->older) {
        n_rings++;
        if (known->generation == packet->ring.generation)
            return leat_error_set(&stream->error, -EPROTO, "the daemon sent ring %llu twice",
                                  (unsigned long long)packet->ring.generation);
    }
    if (n_rings >= MAX_RINGS)
        return leat_error_set(&stream->error, -EPROTO, "the daemon sent rings without use");
    if (stream->wire.passed_fd < 0)
        return leat_error_set(&stream->error, -EPROTO, "the daemon sent a ring without memory");
    r = leat_mapping_new(stream->wire.passed_fd, packet->ring.generation, packet->ring.slot_bytes,
                         packet->ring.n_slots, &stream->request.mapping, &mapping, &stream->error);
    if (r < 0)
        return r;
    mapping->older = stream->newest;
    stream->newest = mapping;
    return 0;
}

static struct leat_batch *take_spare(struct leat_stream *stream) {
    struct leat_batch *batch = stream->spare;

    if (batch) {
        stream->spare = batch->next;
        return batch;
    }
    batch = calloc(1, sizeof(*batch));
    if (batch)
        batch->stream = stream;
    return batch;
}

static void give_spare(struct leat_stream *stream, struct leat_batch *batch) {
    batch->next = stream->spare;
    stream->spare = batch;
}

static int fill_batch(struct leat_stream *stream, struct leat_batch *batch) {
    const struct leat_packet *packet = &stream->wire.packet;
    struct leat_mapping *mapping = stream->newest;
    int r;

    if (stream->wire.is_stream)
        return leat_batch_take_copy(batch, packet, stream->wire.payload, &stream->error);
    while (mapping && mapping->generation != packet->batch.generation)
        mapping = mapping->older;
    if (!mapping)
        return leat_error_set(&stream->error, -EPROTO, "a batch was announced in an unknown ring");
    r = leat_batch_take_slot(batch, packet, mapping, &stream->error);
    if (r == 0)
        drop_rings(&mapping->older);
    return r;
}

/* The next call shows that the daemon is gone. */
static void tell_epoch(struct leat_stream *stream, uint64_t epoch) {
    struct leat_packet reached = {.kind = LEAT_PACKET_REACHED, .batch = {.epoch = epoch}};

    if (epoch <= stream->reached)
        return;
    stream->reached = epoch;
    (void)leat_wire_send(&stream->wire, &reached, NULL);
}

static int take_batch(struct leat_stream *stream, struct leat_batch **ret_batch) {
    const struct leat_packet *packet = &stream->wire.packet;
    struct leat_batch *batch;
    int r;

    if (packet->batch.epoch != stream->epoch || packet->batch.step < stream->step ||
        (packet->batch.step - stream->step) % stream->world_size != 0)
        return leat_error_set(&stream->error, -EPROTO,
                              "the daemon sent batch (%llu, %llu) where (%llu, %llu) comes next",
                              (unsigned long long)packet->batch.epoch,
                              (unsigned long long)packet->batch.step,
                              (unsigned long long)stream->epoch, (unsigned long long)stream->step);
    batch = take_spare(stream);
    if (!batch)
        return leat_error_oom(&stream->error);
    r = fill_batch(stream, batch);
    if (r < 0) {
        give_spare(stream, batch);
        return r;
    }
    batch->is_held = true;
    batch->session = stream->number;
    stream->n_held++;
    stream->n_session_held++;
    stream->n_taken++;
    stream->step = packet->batch.step + stream->world_size; /* some may be skipped */
    tell_epoch(stream, packet->batch.epoch);
    *ret_batch = batch;
    return 0;
}

static int take_end(struct leat_stream *stream) {
    const struct leat_packet *packet = &stream->wire.packet;

    if (packet->end.epoch != stream->epoch)
        return leat_error_set(&stream->error, -EPROTO, "the daemon ended epoch %llu in epoch %llu",
                              (unsigned long long)packet->end.epoch,
                              (unsigned long long)stream->epoch);
    if (packet->end.is_last)
        stream->failure = LEAT_END;
    if (packet->end.is_last &&
        leat_request_is_done(&stream->request, stream->epoch, stream->n_taken))
        return LEAT_END; /* in the midst of the epoch, perhaps */
    if (stream->has_constant_steps && leat_stream_has_even_rounds(stream)) {
        stream->has_epoch_steps = true;
        stream->epoch_steps = packet->end.n_steps;
        stream->steps_reason[0] = '\0';
    }
    stream->epoch++;
    stream->step = stream->rank;
    return packet->end.is_last ? LEAT_END : LEAT_END_EPOCH;
}

/* The connection is gone. 0: it is tried for again. */
static int lose(struct leat_stream *stream) {
    int r = leat_reconnect_lose(stream);

    if (r < 0)
        return fail(stream);
    if (r > 0)
        stream->failure = r;
    else
        stream->error = LEAT_ERROR_INIT;
    return r;
}

/* The daemon goes, and is to be back. It fills no slot any more, and so need not be told what is
 * still read: BYE lets it end at once. */
static int leave(struct leat_stream *stream) {
    struct leat_packet bye = {.kind = LEAT_PACKET_BYE};

    if (stream->request.patience_ns > 0)
        (void)leat_wire_send(&stream->wire, &bye, NULL);
    return lose(stream);
}

/* The next call shows that the daemon is gone; nothing shows that it reads nothing. */
void leat_stream_tell_releases(struct leat_stream *stream) {
    size_t n = stream->n_released;

    stream->n_released = 0;
    if (n > 0 && leat_wire_send_many(&stream->wire, stream->released, n) == -EAGAIN) {
        stream->error = LEAT_ERROR_INIT;
        leat_error_set(&stream->error, -ETIMEDOUT, "the daemon takes no releases: is it stopped?");
        fail(stream);
    }
}

/* The stream is another one now, and goes on as that. */
static int renew(struct leat_stream *stream) {
    int r = leat_stream_renew(stream);

    if (r < 0)
        return fail(stream);
    if (r > 0)
        stream->failure = r;
    return r;
}

/* 1: a packet; 0: the connection was lost, and is tried for; LEAT_END; -EAGAIN; the failure. */
static int receive(struct leat_stream *stream) {
    int r = leat_wire_receive(&stream->wire);

    if (r > 0 || r == -EAGAIN)
        return r;
    if (r == 0 || r == -ECONNRESET) {
        leat_error_set(&stream->error, -ECONNRESET,
                       "the daemon closed the connection at batch (%llu, %llu); is leatd still "
                       "running? Its log says why",
                       (unsigned long long)stream->epoch, (unsigned long long)stream->step);
        return lose(stream);
    }
    if (r == -EPROTO)
        leat_error_set(&stream->error, r, "the daemon sent a packet of a wrong size");
    else
        leat_error_set(&stream->error, r, "receiving from the daemon: %s", strerror(-r));
    return fail(stream);
}

static int take_notice(const struct leat_stream *stream, struct leat_error *err) {
    const struct leat_request *request = &stream->request;
    struct leat_error notice = LEAT_ERROR_INIT;
    char text[LEAT_ERROR_PRINT_MAX];

    if (leat_session_take_error(&stream->wire.packet, stream->wire.payload, &notice) == -EPROTO)
        return leat_error_set(err, -EPROTO, "%s", notice.message);
    (void)leat_error_print(&notice, text, sizeof(text));
    if (request->on_notice)
        request->on_notice(request->on_notice_user, text);
    return 0;
}

/* One packet's effect: 0 and perhaps a batch, LEAT_END_EPOCH, LEAT_END, or the stream's failure. */
static int take_packet(struct leat_stream *stream, struct leat_batch **ret_batch) {
    const struct leat_packet *packet = &stream->wire.packet;
    int r;

    switch (packet->kind) {
    case LEAT_PACKET_BATCH:
        r = take_batch(stream, ret_batch);
        leat_reconnect_over(stream);
        break;
    case LEAT_PACKET_RING:
        r = take_ring(stream);
        break;
    case LEAT_PACKET_END:
        r = take_end(stream);
        leat_reconnect_over(stream);
        break;
    case LEAT_PACKET_GOAWAY:
        r = leat_session_take_error(packet, stream->wire.payload, &stream->error);
        if (r == -ESHUTDOWN)
            return leave(stream);
        if (r == LEAT_GOAWAY_CHANGED)
            return renew(stream);
        break;
    case LEAT_PACKET_NOTICE:
        r = take_notice(stream, &stream->error);
        break;
    default:
        if (packet->kind & 0x8000)
            return 0;
        r = leat_error_set(&stream->error, -EPROTO, "the daemon sent a packet of unknown kind %u",
                           packet->kind);
    }
    return r < 0 ? fail(stream) : r;
}

int leat_stream_check_process(struct leat_stream *stream) {
    if (stream->pid == getpid())
        return 0;
    stream->error = LEAT_ERROR_INIT;
    return leat_error_set(&stream->error, -EPERM,
                          "this stream was opened by process %d, before fork(); open it anew in "
                          "the child",
                          (int)stream->pid);
}

static int check_next(struct leat_stream *stream) {
    int r = leat_stream_check_process(stream);

    if (r == 0)
        r = stream->failure;
    if (r != 0)
        return r;
    if (stream->error.code)
        stream->error = LEAT_ERROR_INIT;
    if (stream->n_held >= stream->window)
        return leat_error_set(&stream->error, -ENOBUFS,
                              "all %u batches of the window are held: release a batch first",
                              stream->window);
    return 0;
}

static int wait_for_packet(struct leat_stream *stream, int timeout_ms, uint64_t deadline_ns) {
    uint64_t wake_ns = leat_reconnect_wake_ns(stream);
    int r;

    if (timeout_ms == 0)
        return leat_error_set(&stream->error, -EAGAIN, "no batch is there yet");
    r = leat_wire_wait(&stream->wire, POLLIN, stream->wake_fd,
                       wake_ns < deadline_ns ? wake_ns : deadline_ns);
    if (r == -ETIMEDOUT && wake_ns < deadline_ns)
        return 0;
    if (r == -ETIMEDOUT)
        return leat_error_set(&stream->error, r, "no batch came within %d ms", timeout_ms);
    if (r < 0)
        return leat_error_set(&stream->error, r, "waiting for a batch: %s", strerror(-r));
    return 0;
}

/* As far as it gets without waiting: 0 with a batch, an outcome, the stream's failure, or -EAGAIN.
 */
static int advance(struct leat_stream *stream, struct leat_batch **ret_batch) {
    for (;;) {
        int r;

        if (stream->phase != LEAT_PHASE_OPEN) {
            r = leat_reconnect_step(stream);
            if (r < 0)
                return fail(stream);
            if (r == 0)
                return -EAGAIN;
        }
        r = receive(stream);
        if (r > 0 && r != LEAT_END)
            r = take_packet(stream, ret_batch);
        if (r != 0 || *ret_batch)
            return r;
    }
}

static int next(struct leat_stream *stream, int timeout_ms, struct leat_batch **ret_batch) {
    uint64_t deadline_ns = 0;

    for (;;) {
        int r = advance(stream, ret_batch);

        if (r != -EAGAIN)
            return r;
        leat_stream_tell_releases(stream);
        if (stream->failure)
            return stream->failure;
        if (deadline_ns == 0)
            deadline_ns = leat_wire_deadline(timeout_ms);
        r = wait_for_packet(stream, timeout_ms, deadline_ns);
        if (r < 0)
            return r;
    }
}

int leat_stream_next(struct leat_stream *stream, int timeout_ms, struct leat_batch **ret_batch) {
    int r;

    *ret_batch = NULL;
    r = check_next(stream);
    if (r != 0)
        return r;
    r = next(stream, timeout_ms, ret_batch);
    leat_watch_wake(&stream->watch, leat_reconnect_wake_ns(stream));
    return r;
}

void leat_stream_wake(const struct leat_stream *stream) {
    if (stream->pid == getpid())
        (void)eventfd_write(stream->wake_fd, 1);
}

int leat_stream_fd(struct leat_stream *stream) {
    int r;

    if (stream->watch.fd >= 0)
        return stream->watch.fd;
    r = leat_watch_init(&stream->watch);
    if (r < 0)
        return r;
    if (stream->wire.fd >= 0)
        leat_watch_add(&stream->watch, stream->wire.fd);
    leat_watch_wake(&stream->watch, leat_reconnect_wake_ns(stream));
    return stream->watch.fd;
}

/* Releases are told a quarter of the window at a time, and before the trainer waits: each waking of
 * the daemon costs more than a release. */
static void add_release(struct leat_stream *stream, const struct leat_batch *batch) {
    struct leat_packet packet = {.kind = LEAT_PACKET_RELEASE, .batch = batch->packet.batch};
    size_t n_most = stream->watch.fd >= 0 ? 1 : stream->window / 4;

    stream->released[stream->n_released++] = packet;
    if (stream->n_released >= n_most || stream->n_released == LEAT_STREAM_MAX_RELEASED)
        leat_stream_tell_releases(stream);
}

/* Nothing is held any more: the daemon lets go of all that this session had. */
static void say_bye(struct leat_stream *stream) {
    struct leat_packet bye = {.kind = LEAT_PACKET_BYE};

    if (stream->pid == getpid() && stream->wire.fd >= 0)
        (void)leat_wire_send(&stream->wire, &bye, NULL);
    leat_wire_deinit(&stream->wire);
}

/* After a close the connection lives until the last batch is released: the daemon must not fill the
 * slots that are still looked into. */
static void end_if_released(struct leat_stream *stream) {
    if (!stream->is_closed || stream->n_held > 0)
        return;
    say_bye(stream);
    leat_stream_free(stream);
}

void leat_batch_release(struct leat_batch *batch) {
    struct leat_stream *stream;

    if (!batch || !batch->is_held)
        return;
    stream = batch->stream;
    batch->is_held = false;
    if (batch->error.code)
        batch->error = LEAT_ERROR_INIT;
    stream->n_held--;
    leat_batch_drop(batch);
    if (batch->session == stream->number)
        stream->n_session_held--;
    else if (stream->pid == getpid())
        (void)leat_retired_release(&stream->retired, batch->session, &batch->packet);
    if (!stream->is_closed && stream->failure >= 0 && stream->pid == getpid() &&
        batch->session == stream->number && stream->phase == LEAT_PHASE_OPEN)
        add_release(stream, batch);
    give_spare(stream, batch);
    end_if_released(stream);
}

static void forget(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void leat_stream_forget(struct leat_stream *stream) {
    forget(&stream->wire.fd);
    forget(&stream->wire.passed_fd);
    forget(&stream->retired.wire.fd);
    forget(&stream->wake_fd);
    forget(&stream->watch.fd);
    forget(&stream->watch.timer_fd);
}

struct leat_stream *leat_stream_close(struct leat_stream *stream) {
    if (!stream)
        return NULL;
    if (stream->n_held > 0 && stream->failure >= 0 && stream->pid == getpid())
        leat_stream_tell_releases(stream);
    stream->is_closed = true;
    leat_watch_deinit(&stream->watch);
    drop_rings(&stream->newest);
    end_if_released(stream);
    return NULL;
}

const struct leat_error *leat_stream_error(const struct leat_stream *stream) {
    return &stream->error;
}

int leat_stream_n_steps(const struct leat_stream *stream, uint64_t *ret_n_steps) {
    *ret_n_steps = stream->epoch_steps;
    return stream->has_epoch_steps ? 0 : -ENODATA;
}

const char *leat_stream_steps_reason(const struct leat_stream *stream) {
    return stream->steps_reason;
}

const char *leat_stream_left_out(const struct leat_stream *stream) {
    return stream->left_out;
}

const char *leat_stream_name(const struct leat_stream *stream) {
    return stream->name;
}

size_t leat_stream_n_tensors(const struct leat_stream *stream) {
    return stream->n_tensors;
}

const struct leat_tensor_info *leat_stream_tensor(const struct leat_stream *stream, size_t index) {
    return index < stream->n_tensors ? &stream->tensors[index] : NULL;
}

uint64_t leat_stream_batch_size(const struct leat_stream *stream) {
    return stream->batch_size;
}

uint32_t leat_stream_window(const struct leat_stream *stream) {
    return stream->window;
}

uint32_t leat_stream_rank(const struct leat_stream *stream) {
    return stream->rank;
}

uint32_t leat_stream_world_size(const struct leat_stream *stream) {
    return stream->world_size;
}

const char *leat_stream_rank_source(const struct leat_stream *stream) {
    return stream->rank_source;
}

const uint8_t *leat_stream_digest(const struct leat_stream *stream) {
    return stream->digest;
}
