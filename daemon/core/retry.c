#include "daemon/core/retry.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"

#define NAME "failing" /* holds the time of the first failure, in seconds of CLOCK_MONOTONIC */

static bool find_mark(char *path, size_t size) {
    const char *folder = getenv("RUNTIME_DIRECTORY");

    if (!folder || !folder[0] || !getenv("NOTIFY_SOCKET"))
        return false;
    return (size_t)snprintf(path, size, "%.*s/" NAME, (int)strcspn(folder, ":"), folder) < size;
}

static int64_t now_s(void) {
    return (int64_t)(leat_now_ns() / UINT64_C(1000000000));
}

/* The time of the first failure; -1: there was none. */
static int64_t read_since(const char *path) {
    int64_t since = -1;
    FILE *file = fopen(path, "re");

    if (file && fscanf(file, "%" SCNd64, &since) != 1)
        since = -1;
    if (file)
        (void)fclose(file);
    return since;
}

static bool write_since(const char *path, int64_t since) {
    FILE *file = fopen(path, "we");
    bool is_written = file && fprintf(file, "%" PRId64 "\n", since) > 0;

    return file && fclose(file) == 0 && is_written;
}

void leat_retry_begin(struct leat_retry *ret_retry, bool may_heal) {
    int64_t now = now_s(), since, elapsed;
    char path[4096];

    *ret_retry = (struct leat_retry){.is_managed = find_mark(path, sizeof(path))};
    if (!ret_retry->is_managed)
        return;
    since = read_since(path);
    if (since < 0 || since > now) {
        ret_retry->is_managed = write_since(path, now);
        return;
    }
    elapsed = now - since;
    ret_retry->is_given_up = elapsed >= LEAT_RETRY_S && !may_heal;
    if (ret_retry->is_given_up)
        (void)unlink(path);
    else
        ret_retry->pause_s = elapsed < 1                   ? 1
                             : elapsed < LEAT_RETRY_MOST_S ? (uint32_t)elapsed
                                                           : LEAT_RETRY_MOST_S;
}

bool leat_retry_wait(const struct leat_retry *retry) {
    struct timespec pause = {.tv_sec = retry->pause_s};
    sigset_t signals;

    if (retry->pause_s == 0)
        return true;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    if (sigtimedwait(&signals, NULL, &pause) < 0)
        return true;
    leat_retry_forget();
    return false;
}

void leat_retry_forget(void) {
    char path[4096];

    if (find_mark(path, sizeof(path)))
        (void)unlink(path);
}
