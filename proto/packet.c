/* packet.c: one packet in, one packet out.
 *
 * Where no descriptor may come, the packet is looked at first (MSG_PEEK without a control buffer):
 * if the peer passed descriptors the kernel says MSG_CTRUNC and nothing was installed here. The
 * packet is then left in the queue for the caller to dispose of with the socket, since even
 * receiving it could block on the close of a foreign descriptor.
 */
#include "proto/packet.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proto/descriptor.h"

#define MAX_DESCRIPTORS 4
#define SEND_AT_ONCE    32

int leat_packet_send(int socket, const struct leat_packet *packet, const void *payload, int fd,
                     int may_block) {
    struct iovec parts[2] = {
        {.iov_base = (void *)(uintptr_t)packet, .iov_len = sizeof(*packet)},
        {.iov_base = (void *)(uintptr_t)payload, .iov_len = packet->payload_bytes},
    };

    return leat_descriptor_send(socket, parts, packet->payload_bytes ? 2 : 1, fd,
                                may_block ? 0 : MSG_DONTWAIT);
}

int leat_packet_send_many(int socket, const struct leat_packet *packets, size_t n, int may_block) {
    struct iovec parts[SEND_AT_ONCE];
    struct mmsghdr messages[SEND_AT_ONCE];

    while (n > 0) {
        unsigned n_now = n < SEND_AT_ONCE ? (unsigned)n : SEND_AT_ONCE;
        int n_sent;

        for (unsigned i = 0; i < n_now; i++) {
            parts[i] = (struct iovec){.iov_base = (void *)(uintptr_t)&packets[i],
                                      .iov_len = sizeof(packets[i])};
            messages[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1}};
        }
        n_sent = sendmmsg(socket, messages, n_now, MSG_NOSIGNAL | (may_block ? 0 : MSG_DONTWAIT));
        if (n_sent < 0 && errno == EINTR)
            continue;
        if (n_sent < 0)
            return -errno;
        packets += n_sent;
        n -= (size_t)n_sent;
    }
    return 0;
}

int leat_packet_send_joined(int socket, const struct leat_packet *packets, size_t n,
                            int may_block) {
    struct iovec part = {.iov_base = (void *)(uintptr_t)packets, .iov_len = n * sizeof(*packets)};

    return leat_descriptor_send(socket, &part, 1, -1, may_block ? 0 : MSG_DONTWAIT);
}

/* Keeps the first descriptor of the message and closes all others. */
static int take_descriptors(struct msghdr *message, int *ret_fd) {
    int n_taken = 0;

    *ret_fd = -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head)) {
        size_t n;

        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof(fd));
            if (n_taken++ == 0)
                *ret_fd = fd;
            else
                (void)close(fd);
        }
    }
    return n_taken > 1 || (message->msg_flags & MSG_CTRUNC) ? -EPROTO : 0;
}

/* A peer that closes with packets unread leaves ECONNRESET behind, once, in front of what it had
 * sent: its last words (BYE) and the end of file come after. */
static bool is_passing(int error) {
    return error == EINTR || error == ECONNRESET;
}

static int peek_without_descriptors(int socket, int flags) {
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;

    do {
        n = recvmsg(socket, &message, MSG_PEEK | flags);
    } while (n < 0 && is_passing(errno));
    if (n < 0)
        return -errno;
    return message.msg_flags & MSG_CTRUNC ? -EPROTO : 0;
}

/* True if n_bytes behind the packet are its payload, or other packets without one. ret_n_more NULL:
 * there must be none. */
static bool is_proper(const struct leat_packet *packet, const void *behind, size_t n_bytes,
                      size_t *ret_n_more) {
    const struct leat_packet *more = behind;
    size_t n = n_bytes / sizeof(*more);

    if (n_bytes == packet->payload_bytes)
        return true;
    if (!ret_n_more || packet->payload_bytes > 0 || n_bytes % sizeof(*more) != 0 ||
        n >= LEAT_PACKET_JOINED_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (more[i].payload_bytes > 0)
            return false;
    *ret_n_more = n;
    return true;
}

int leat_packet_receive(int socket, struct leat_packet *ret_packet, void *ret_payload, int *ret_fd,
                        int may_block) {
    return leat_packet_receive_joined(socket, ret_packet, ret_payload, NULL, ret_fd, may_block);
}

int leat_packet_receive_joined(int socket, struct leat_packet *ret_packet, void *ret_payload,
                               size_t *ret_n_more, int *ret_fd, int may_block) {
    struct iovec parts[2] = {
        {.iov_base = ret_packet, .iov_len = sizeof(*ret_packet)},
        {.iov_base = ret_payload, .iov_len = ret_payload ? LEAT_PACKET_PAYLOAD_MAX : 0},
    };
    union {
        char bytes[CMSG_SPACE(MAX_DESCRIPTORS * sizeof(int))];
        struct cmsghdr align;
    } control;
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = ret_payload ? 2 : 1};
    int flags = MSG_CMSG_CLOEXEC | (may_block ? 0 : MSG_DONTWAIT);
    ssize_t n;
    int r;

    if (ret_n_more)
        *ret_n_more = 0;
    if (ret_fd) {
        *ret_fd = -1;
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
    } else {
        r = peek_without_descriptors(socket, flags & MSG_DONTWAIT);
        if (r < 0)
            return r;
    }
    do {
        n = recvmsg(socket, &message, flags);
    } while (n < 0 && is_passing(errno));
    if (n < 0)
        return -errno;
    r = ret_fd ? take_descriptors(&message, ret_fd) : 0;
    if (n == 0 && r == 0 && !(ret_fd && *ret_fd >= 0))
        return 0;
    if (r == 0 &&
        (message.msg_flags & MSG_TRUNC || (size_t)n < sizeof(*ret_packet) ||
         !is_proper(ret_packet, ret_payload, (size_t)n - sizeof(*ret_packet), ret_n_more)))
        r = -EPROTO;
    if (r < 0 && ret_fd && *ret_fd >= 0) {
        (void)close(*ret_fd);
        *ret_fd = -1;
    }
    return r < 0 ? r : 1;
}
