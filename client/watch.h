/* watch.h: the one descriptor that an event loop watches, whatever connections come and go.
 *
 * It is an epoll instance of the present socket and of a timer that runs while there is something
 * to do at a certain time. Made when it is first asked for: who has no event loop pays nothing.
 * Owner: the stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct leat_watch {
    int fd; /* epoll; -1: not watched */
    int timer_fd;
    bool is_armed;
};

#define LEAT_WATCH_INIT ((struct leat_watch){.fd = -1, .timer_fd = -1})

/* 0 or -errno, with nothing made. */
int leat_watch_init(struct leat_watch *watch);
void leat_watch_deinit(struct leat_watch *watch);

/* The three do nothing if it is not watched. A socket is dropped before it is closed: in a forked
 * child it lives on, and would be told of for ever. */
void leat_watch_add(struct leat_watch *watch, int socket);
void leat_watch_drop(struct leat_watch *watch, int socket);
/* Readable at that time (CLOCK_MONOTONIC in ns); UINT64_MAX: by the socket alone. */
void leat_watch_wake(struct leat_watch *watch, uint64_t at_ns);
