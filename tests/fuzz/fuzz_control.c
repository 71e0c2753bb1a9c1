/* fuzz_control.c: a lying leatctl: the first byte says how often the daemon gets to work while the
 * others arrive on a control connection. What is unpacked takes memory in proportion to the input.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/control/control.h"
#include "proto/frame.h"
#include "tests/daemon/shared_stepped.h"
#include "tests/proto/shared_unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void read_away(int fd) {
    static uint8_t bytes[1 << 16];

    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
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
    struct leat_daemon *daemon;
    size_t piece;
    int ends[2];

    if (n_bytes < 2)
        return 0;
    unpack_frames(data + 1, n_bytes - 1);
    daemon = test_stepped_daemon();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return 0;
    (void)leat_control_accept(daemon, ends[0]);
    piece = (n_bytes - 1) / (size_t)(data[0] % 8 + 1) + 1;
    for (size_t i = 1; i < n_bytes && !daemon->are_handles_closed; i += piece) {
        size_t n = piece < n_bytes - i ? piece : n_bytes - i;

        if (send(ends[1], data + i, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break;
        test_stepped_run(daemon);
        read_away(ends[1]);
    }
    (void)close(ends[1]);
    test_stepped_end(daemon);
    return 0;
}
