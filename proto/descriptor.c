#include "proto/descriptor.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union room {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int leat_descriptor_send(int socket, struct iovec *parts, size_t n_parts, int fd, int flags) {
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = n_parts};
    union room room = {.bytes = {0}};
    ssize_t n;

    if (fd >= 0) {
        message.msg_control = &room;
        message.msg_controllen = sizeof(room);
        room.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&room.header), &fd, sizeof(fd));
    }
    do
        n = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

ssize_t leat_descriptor_receive(int socket, void *data, size_t size, int *ret_fd, int flags) {
    struct iovec part = {.iov_base = data, .iov_len = size};
    union room room; /* with its padding, there would be room for a second descriptor */
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &room,
                             .msg_controllen = CMSG_LEN(sizeof(int))};
    const struct cmsghdr *header;
    ssize_t n;

    *ret_fd = -1;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
    return n;
}
