/* usage.c: see usage.h. The times of getrusage(2) are as old as the scheduler's last tick, which is
 * longer than most jobs take; so the time is clock_gettime(2)'s. A file of /proc would have to be
 * kept open by each thread. */
#include "daemon/system/usage.h"

#include <sys/resource.h>
#include <time.h>

#include "proto/base/clock.h"

void leat_usage_read(struct leat_usage *ret_usage) {
    struct rusage usage;

    *ret_usage = (struct leat_usage){.cpu_ns = 0};
    if (getrusage(RUSAGE_THREAD, &usage) < 0)
        return;
    ret_usage->cpu_ns = leat_thread_ns();
    ret_usage->n_blocked = (uint64_t)usage.ru_nvcsw;
    ret_usage->n_displaced = (uint64_t)usage.ru_nivcsw;
}

void leat_usage_split(const struct leat_usage *before, const struct leat_usage *after,
                      uint64_t wall_ns, uint64_t *ret_cpu_ns, uint64_t *ret_delay_ns) {
    uint64_t cpu_ns = after->cpu_ns - before->cpu_ns;
    uint64_t n_blocked = after->n_blocked - before->n_blocked;
    uint64_t n_displaced = after->n_displaced - before->n_displaced;
    double lost_ns;

    *ret_cpu_ns = cpu_ns < wall_ns ? cpu_ns : wall_ns;
    lost_ns = (double)(wall_ns - *ret_cpu_ns);
    *ret_delay_ns =
        n_blocked == 0
            ? wall_ns - *ret_cpu_ns
            : (uint64_t)(lost_ns * (double)n_displaced / (double)(n_blocked + n_displaced));
}
