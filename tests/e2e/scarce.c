/* scarce.c: a library to preload: while there is a file by the name in LEAT_SCARCE_THREADS no
 * thread can be made, but for the first LEAT_THREADS_MOST of the process; while there is one by the
 * name in LEAT_SCARCE_PIPES no pipe can; while there is one by the name in LEAT_CLOCK_JUMPS each
 * look at the clock finds it a day before or behind what the last one found. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static bool is_scarce(const char *variable) {
    const char *path = getenv(variable);

    return path && access(path, F_OK) == 0;
}

SHOWN int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                         void *(*start)(void *), void *data) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    const char *most = getenv("LEAT_THREADS_MOST");
    static atomic_int n_threads;

    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    if (is_scarce("LEAT_SCARCE_THREADS") &&
        atomic_fetch_add(&n_threads, 1) >= atoi(most ? most : "0"))
        return EAGAIN;
    return real(thread, attributes, start, data);
}

SHOWN int pipe2(int ends[2], int flags) {
    int (*real)(int *, int);

    *(void **)&real = dlsym(RTLD_NEXT, "pipe2");
    if (!is_scarce("LEAT_SCARCE_PIPES"))
        return real(ends, flags);
    errno = EMFILE;
    return -1;
}

/* The monotonic clock never jumps. */
SHOWN int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *);
    static atomic_uint n_looks;
    int r;

    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    r = real(clock, now);
    if (r == 0 && clock == CLOCK_REALTIME && is_scarce("LEAT_CLOCK_JUMPS"))
        now->tv_sec += atomic_fetch_add(&n_looks, 1) % 2 ? 86400 : -86400;
    return r;
}
