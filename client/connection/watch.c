#include "client/connection/watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "proto/base/file.h"

static int add_descriptor(const struct leat_watch *watch, int fd) {
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(watch->fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int leat_watch_init(struct leat_watch *watch) {
    int r;

    *watch = LEAT_WATCH_INIT;
    watch->fd = epoll_create1(EPOLL_CLOEXEC);
    if (watch->fd < 0)
        return -errno;
    watch->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    r = watch->timer_fd < 0 ? -errno : add_descriptor(watch, watch->timer_fd);
    if (r < 0)
        leat_watch_deinit(watch);
    return r;
}

void leat_watch_forget(struct leat_watch *watch) {
    leat_file_close(&watch->fd);
    leat_file_close(&watch->timer_fd);
}

void leat_watch_deinit(struct leat_watch *watch) {
    leat_watch_forget(watch);
    *watch = LEAT_WATCH_INIT;
}

void leat_watch_add(struct leat_watch *watch, int socket) {
    if (watch->fd >= 0 && add_descriptor(watch, socket) < 0)
        leat_watch_set_timer(watch, 1); /* no memory: the timer is readable at once, always */
}

void leat_watch_drop(struct leat_watch *watch, int socket) {
    if (watch->fd >= 0 && socket >= 0)
        (void)epoll_ctl(watch->fd, EPOLL_CTL_DEL, socket, NULL);
}

void leat_watch_set_timer(struct leat_watch *watch, uint64_t at_ns) {
    struct itimerspec when = {.it_value = {.tv_sec = 0}};

    if (watch->fd < 0 || (at_ns == UINT64_MAX && !watch->is_armed))
        return;
    watch->is_armed = at_ns != UINT64_MAX;
    if (watch->is_armed)
        when.it_value = (struct timespec){.tv_sec = (time_t)(at_ns / 1000000000U),
                                          .tv_nsec = (long)(at_ns % 1000000000U)};
    (void)timerfd_settime(watch->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}
