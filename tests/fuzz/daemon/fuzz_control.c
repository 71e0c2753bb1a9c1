/* fuzz_control.c: a lying leatctl: the first byte says how often the daemon gets to work while the
 * others arrive on a control connection. What is unpacked takes memory in proportion to the input.
 * Each frame that comes back is a reply: an error with a text, or an answer. */
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/control.h"
#include "proto/frame.h"
#include "tests/daemon/shared_stepped.h"
#include "tests/fuzz/mutate.h"
#include "tests/proto/shared_unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
FUZZ_MUTATOR(1, mutate_frames(&leat__control_request__descriptor, data, size, max_size, seed))

static void check_reply(const uint8_t *frame, size_t size) {
    Leat__ControlReply *reply = leat__control_reply__unpack(NULL, size, frame);

    assert(reply);
    if (reply->error)
        assert(reply->error->code < 0 && reply->error->message[0]);
    else
        assert(reply->verb_case != LEAT__CONTROL_REPLY__VERB__NOT_SET);
    leat__control_reply__free_unpacked(reply, NULL);
}

static void read_replies(int fd, struct leat_frame_decoder *decoder) {
    struct leat_error err = LEAT_ERROR_INIT;
    const uint8_t *frame;
    uint8_t *space;
    size_t size;
    ssize_t n;
    int r;

    while (leat_frame_decoder_space(decoder, 1, &space, &size) == 0 &&
           (n = recv(fd, space, size, MSG_DONTWAIT)) > 0) {
        leat_frame_decoder_filled(decoder, (size_t)n);
        while ((r = leat_frame_decoder_next(decoder, &frame, &size, &err)) > 0)
            check_reply(frame, size);
        assert(r == 0);
    }
}

static void unpack_frames(const uint8_t *data, size_t n_bytes) {
    struct leat_frame_decoder decoder;
    struct leat_error err = LEAT_ERROR_INIT;
    uint8_t *space;
    size_t size;

    leat_frame_decoder_init(&decoder, LEAT_CONTROL_FRAME_MAX);
    if (leat_frame_decoder_space(&decoder, n_bytes, &space, &size) == 0) {
        const uint8_t *frame;

        memcpy(space, data, n_bytes);
        leat_frame_decoder_filled(&decoder, n_bytes);
        while (leat_frame_decoder_next(&decoder, &frame, &size, &err) > 0)
            (void)unpack_within_bounds(&leat__control_request__descriptor, frame, size);
    }
    leat_frame_decoder_deinit(&decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_frame_decoder replies;
    struct leat_daemon *daemon;
    size_t piece;
    int ends[2];

    if (n_bytes < 2)
        return 0;
    unpack_frames(data + 1, n_bytes - 1);
    daemon = test_stepped_daemon();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return 0;
    leat_frame_decoder_init(&replies, LEAT_CONTROL_FRAME_MAX);
    (void)leat_control_accept(&daemon->controls, ends[0]);
    piece = (n_bytes - 1) / (size_t)(data[0] % 8 + 1) + 1;
    for (size_t i = 1; i < n_bytes && !daemon->are_handles_closed; i += piece) {
        size_t n = piece < n_bytes - i ? piece : n_bytes - i;

        if (send(ends[1], data + i, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break;
        test_stepped_run(daemon);
        read_replies(ends[1], &replies);
    }
    (void)close(ends[1]);
    leat_frame_decoder_deinit(&replies);
    test_stepped_end(daemon);
    return 0;
}
