/* reload_ask.c: see reload_ask.h. Sends one frame and receives one. */
#include "daemon/core/reload_ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/core/endpoints.h"
#include "proto/frame.h"
#include "proto/leat.pb-c.h"
#include "proto/message.h"

static int open_socket(const char *directory, struct leat_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char fallback[4096];
    int fd;

    if (!directory && leat_endpoints_directory(fallback, sizeof(fallback), err) < 0)
        return err->code;
    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock",
                         directory ? directory : fallback) >= sizeof(address.sun_path))
        return leat_error_set(err, -ENAMETOOLONG, "the name of the control socket is too long");
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    leat_error_set(err, -errno, "%s: %s", address.sun_path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return err->code;
}

static int send_request(int fd, struct leat_error *err) {
    Leat__ReloadRequest reload = LEAT__RELOAD_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    uint8_t frame[LEAT_FRAME_HEAD_BYTES + 64];
    size_t n;

    request.version = 1;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_RELOAD;
    request.reload = &reload;
    n = leat__control_request__pack(&request, frame + LEAT_FRAME_HEAD_BYTES);
    leat_frame_head(frame, (uint32_t)n);
    n += LEAT_FRAME_HEAD_BYTES;
    /* after EPIPE the reason of a refusal can still be read */
    if (send(fd, frame, n, MSG_NOSIGNAL) != (ssize_t)n && errno != EPIPE)
        return leat_error_set(err, -errno, "control socket: %s", strerror(errno));
    return 0;
}

static int read_frame(int fd, struct leat_frame_decoder *decoder, const uint8_t **frame,
                      size_t *size, struct leat_error *err) {
    int r;

    while ((r = leat_frame_decoder_next(decoder, frame, size, err)) == 0) {
        uint8_t *space;
        size_t n_space;
        ssize_t n;

        if (leat_frame_decoder_space(decoder, 4096, &space, &n_space) < 0)
            return leat_error_oom(err);
        n = recv(fd, space, n_space, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return leat_error_set(err, n < 0 ? -errno : -ECONNRESET,
                                  "the daemon did not answer: %s",
                                  strerror(n < 0 ? errno : ECONNRESET));
        leat_frame_decoder_filled(decoder, (size_t)n);
    }
    return r;
}

static int take_reply(const uint8_t *frame, size_t size, struct leat_error *err) {
    Leat__ControlReply *reply = leat_message_unpack(&leat__control_reply__descriptor, frame, size,
                                                    "the daemon's answer is malformed", err);

    if (!reply)
        return err->code;
    if (reply->error)
        leat_error_from_message(err, reply->error);
    else if (reply->verb_case != LEAT__CONTROL_REPLY__VERB_RELOAD)
        leat_error_set(err, -EPROTO, "the daemon sent an unexpected answer");
    leat__control_reply__free_unpacked(reply, NULL);
    return err->code;
}

int leat_reload_ask(const char *directory, struct leat_error *err) {
    struct leat_frame_decoder decoder;
    const uint8_t *frame = NULL;
    size_t size = 0;
    int fd = open_socket(directory, err), r;

    if (fd < 0)
        return fd;
    leat_frame_decoder_init(&decoder, LEAT_CONTROL_FRAME_MAX);
    r = send_request(fd, err);
    if (r == 0)
        r = read_frame(fd, &decoder, &frame, &size, err);
    if (r > 0)
        r = take_reply(frame, size, err);
    leat_frame_decoder_deinit(&decoder);
    (void)close(fd);
    return r;
}
