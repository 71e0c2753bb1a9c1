/* watch.h: the one descriptor that an event loop polls, whatever connections come and go.
 *
 * It is an epoll instance of the present socket, and of a timer for what is due at a certain time.
 * It is made when it is first asked for, so a trainer without an event loop does not pay for it.
 * Owner: the connection.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct leat_watch {
    int fd; /* of epoll; -1: not made */
    int timer_fd;
    bool is_armed;
};

#define LEAT_WATCH_INIT ((struct leat_watch){.fd = -1, .timer_fd = -1})

/* 0, or -errno and nothing is made. */
int leat_watch_init(struct leat_watch *watch);
void leat_watch_deinit(struct leat_watch *watch);
/* Closes the descriptors. Async-signal-safe. */
void leat_watch_forget(struct leat_watch *watch);

/* The following do nothing if the watch is not made. A socket must be dropped before it is closed:
 * it lives on in a forked child, and epoll would go on reporting it. */
void leat_watch_add(struct leat_watch *watch, int socket);
void leat_watch_drop(struct leat_watch *watch, int socket);
/* Makes the descriptor readable at that time (CLOCK_MONOTONIC in ns); UINT64_MAX: by the socket
 * alone. */
void leat_watch_set_timer(struct leat_watch *watch, uint64_t at_ns);
