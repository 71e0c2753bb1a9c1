/* socket_closer.c: one thread, two pipes, one descriptor at a time. */
#include "daemon/net/socket_closer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

#define STACK_BYTES (64U << 10)
#define MAX_DRAIN   4096 /* packets: more than a socket's buffer holds */
#define MAX_A_TURN  32   /* sockets; each takes up to 30 us */

static ssize_t read_number(int fd, int *ret_number) {
    ssize_t n;

    do {
        n = read(fd, ret_number, sizeof(*ret_number));
    } while (n < 0 && errno == EINTR);
    return n;
}

static int write_number(int fd, int number) {
    ssize_t n;

    do {
        n = write(fd, &number, sizeof(number));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(number) ? 0 : -EPIPE;
}

static void run_thread(void *data) {
    const struct leat_socket_closer *closer = data;
    int input = closer->to_thread[0], output = closer->from_thread[1], fd;

    while (read_number(input, &fd) == (ssize_t)sizeof(fd)) {
        (void)close(fd);
        if (write_number(output, fd) < 0)
            break;
    }
}

static void close_end(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static void queue_init(struct leat_socket_closer_queue *queue) {
    queue->first = NULL;
    queue->last = &queue->first;
}

static void queue_push(struct leat_socket_closer_queue *queue,
                       struct leat_socket_closer_item *item) {
    item->next = NULL;
    *queue->last = item;
    queue->last = &item->next;
}

static struct leat_socket_closer_item *queue_pop(struct leat_socket_closer_queue *queue) {
    struct leat_socket_closer_item *item = queue->first;

    queue->first = item->next;
    if (!queue->first)
        queue->last = &queue->first;
    return item;
}

static void hand_over(struct leat_socket_closer *closer) {
    if (closer->is_busy || !closer->blocking.first)
        return;
    closer->is_busy = write_number(closer->to_thread[1], closer->blocking.first->fd) == 0;
}

static void on_poll(uv_poll_t *poll_handle, int status, int events) {
    struct leat_socket_closer *closer = poll_handle->data;
    struct leat_socket_closer_item *item;
    int fd;

    (void)status;
    (void)events;
    if (!closer->is_busy || read_number(closer->from_thread[0], &fd) != (ssize_t)sizeof(fd))
        return;
    closer->is_busy = false;
    item = queue_pop(&closer->blocking);
    hand_over(closer);
    item->on_closed(item);
}

int leat_socket_closer_init(struct leat_socket_closer *closer, uv_loop_t *loop) {
    uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK_BYTES};
    int r;

    *closer = (struct leat_socket_closer){.to_thread = {-1, -1}, .from_thread = {-1, -1}};
    queue_init(&closer->pending);
    queue_init(&closer->blocking);
    if (pipe2(closer->to_thread, O_CLOEXEC) < 0 || pipe2(closer->from_thread, O_CLOEXEC) < 0)
        return -errno;
    (void)uv_idle_init(loop, &closer->turn);
    closer->turn.data = closer;
    closer->has_turn = true;
    r = uv_poll_init(loop, &closer->poll, closer->from_thread[0]);
    if (r < 0)
        return r;
    closer->poll.data = closer;
    closer->has_poll = true;
    uv_unref((uv_handle_t *)&closer->poll);
    r = uv_thread_create_ex(&closer->thread, &options, run_thread, closer);
    if (r < 0)
        return r;
    closer->has_thread = true;
    return uv_poll_start(&closer->poll, UV_READABLE, on_poll);
}

void leat_socket_closer_stop(struct leat_socket_closer *closer) {
    if (closer->has_poll)
        uv_close((uv_handle_t *)&closer->poll, NULL);
    if (closer->has_turn)
        uv_close((uv_handle_t *)&closer->turn, NULL);
}

bool leat_socket_closer_is_idle(const struct leat_socket_closer *closer) {
    return !closer->pending.first && !closer->blocking.first;
}

void leat_socket_closer_deinit(struct leat_socket_closer *closer) {
    assert(leat_socket_closer_is_idle(closer));
    close_end(&closer->to_thread[1]);
    if (closer->has_thread)
        (void)uv_thread_join(&closer->thread);
    close_end(&closer->to_thread[0]);
    close_end(&closer->from_thread[0]);
    close_end(&closer->from_thread[1]);
}

bool leat_socket_refuse_descriptors(int socket) {
    int no = 0;

    return setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no)) == 0;
}

/* The size of the next packet; -EPROTO if it carries a descriptor, -ENODATA at the end of file,
 * -errno. Without space for descriptors none is installed, and MSG_CTRUNC says that there was one.
 * An empty packet looks like the end of file, but comes with its sender's credentials. */
static ssize_t peek(int socket, char *bytes, size_t n_bytes, bool has_packets) {
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec part = {.iov_base = bytes, .iov_len = n_bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t n;

    do {
        n = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT);
    } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n < 0)
        return -errno;
    if (message.msg_flags & MSG_CTRUNC)
        return -EPROTO;
    return n > 0 || (has_packets && message.msg_controllen > 0) ? n : -ENODATA;
}

/* Reads until the queue is empty: 0; or -EPROTO if it holds a descriptor, or may hold one. */
static int drain(int socket) {
    int from_front = -1, yes = 1, type;
    socklen_t size = sizeof(type);
    char bytes[4096];

    (void)setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &from_front, sizeof(from_front));
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
        setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0)
        return -EPROTO;
    for (int i = 0; i < MAX_DRAIN; i++) {
        ssize_t n = peek(socket, bytes, sizeof(bytes), type == SOCK_SEQPACKET);

        if (n < 0)
            return n == -EPROTO ? -EPROTO : 0;
        (void)recv(socket, bytes, (size_t)n, MSG_DONTWAIT);
    }
    return -EPROTO;
}

static void close_one(struct leat_socket_closer *closer, struct leat_socket_closer_item *item) {
    (void)shutdown(item->fd, SHUT_RDWR);
    if (drain(item->fd) == 0) {
        (void)close(item->fd);
        item->on_closed(item);
        return;
    }
    queue_push(&closer->blocking, item);
    hand_over(closer);
}

static void on_turn(uv_idle_t *idle) {
    struct leat_socket_closer *closer = idle->data;

    for (int i = 0; i < MAX_A_TURN && closer->pending.first; i++)
        close_one(closer, queue_pop(&closer->pending));
    if (!closer->pending.first)
        (void)uv_idle_stop(idle);
}

void leat_socket_closer_close(struct leat_socket_closer *closer,
                              struct leat_socket_closer_item *item) {
    (void)uv_idle_start(&closer->turn, on_turn);
    queue_push(&closer->pending, item);
}

static void on_disposed(struct leat_socket_closer_item *item) {
    free(item);
}

void leat_socket_closer_dispose(struct leat_socket_closer *closer, int take_fd) {
    struct leat_socket_closer_item *item = calloc(1, sizeof(*item));

    if (!item) {
        (void)close(take_fd);
        return;
    }
    *item = (struct leat_socket_closer_item){.fd = take_fd, .on_closed = on_disposed};
    leat_socket_closer_close(closer, item);
}
