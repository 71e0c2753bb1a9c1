/* fork.c: see fork.h. A list of all open streams, whole whenever a process forks: the mutex is held
 * across it. Without this, a child that lives on (a worker of a DataLoader) would keep the session,
 * and what the daemon holds for it, beyond the end of its parent.
 */
#include "client/python/src/fork.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct leat_py_link *links;

void leat_py_fork_watch(struct leat_py_link *link) {
    (void)pthread_mutex_lock(&mutex);
    link->older = links;
    links = link;
    (void)pthread_mutex_unlock(&mutex);
}

void leat_py_fork_unwatch(struct leat_py_link *link) {
    struct leat_py_link **place = &links;

    (void)pthread_mutex_lock(&mutex);
    while (*place && *place != link)
        place = &(*place)->older;
    if (*place)
        *place = link->older;
    (void)pthread_mutex_unlock(&mutex);
}

static void before(void) {
    (void)pthread_mutex_lock(&mutex);
}

static void in_parent(void) {
    (void)pthread_mutex_unlock(&mutex);
}

static void in_child(void) {
    for (struct leat_py_link *link = links; link; link = link->older)
        leat_stream_forget(link->stream);
    links = NULL;
    (void)pthread_mutex_unlock(&mutex);
}

int leat_py_fork_register(void) {
    return pthread_atfork(before, in_parent, in_child);
}
