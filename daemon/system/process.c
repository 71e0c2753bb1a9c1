/* process.c: see process.h and proc(5). */
#include "daemon/system/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"

#define UNIT_MAX 256 /* bytes of a control group's name that are kept */

#define DESCRIPTORS_RESERVED 65536 /* 512 KiB of the kernel's memory */

static size_t read_small(const char *path, char *buffer, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buffer, size - 1);

    if (fd >= 0)
        (void)close(fd);
    buffer[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* "key:  123 kB" in bytes. */
static uint64_t find_kilobytes(const char *text, const char *key) {
    const char *line = strstr(text, key);

    return line ? strtoull(line + strlen(key), NULL, 10) * 1024 : 0;
}

static uint32_t count_fds(void) {
    DIR *directory = opendir("/proc/self/fd");
    uint32_t n = 0;

    if (!directory)
        return 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        n += entry->d_name[0] != '.';
    (void)closedir(directory);
    return n - 1; /* the directory's own */
}

void leat_process_read(struct leat_process *ret_process) {
    leat_process_read_usage(ret_process);
    ret_process->n_fds = count_fds();
}

void leat_process_read_usage(struct leat_process *ret_process) {
    char text[4096];
    struct rusage usage;

    *ret_process = (struct leat_process){.n_fds = 0};
    (void)read_small("/proc/self/status", text, sizeof(text));
    ret_process->rss_bytes = find_kilobytes(text, "VmRSS:");
    ret_process->hwm_bytes = find_kilobytes(text, "VmHWM:");
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        ret_process->cpu_ns =
            (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * UINT64_C(1000000000) +
            (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* The path that a text of /proc/PID/cgroup has for that hierarchy, whose name ends with a slash;
 * NULL: none. */
static char *find_group(char *text, const char *hierarchy) {
    char *group = strstr(text, hierarchy);

    if (!group)
        return NULL;
    group += strlen(hierarchy) - 1;
    group[strcspn(group, "\n")] = '\0';
    return group;
}

uint64_t leat_process_delay_ns(pid_t pid) {
    char text[128], path[64], *end;

    (void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    if (pid <= 0 || read_small(path, text, sizeof(text)) <= 0)
        return 0;
    (void)strtoull(text, &end, 10);
    return strtoull(end, NULL, 10);
}

char *leat_process_unit(pid_t pid) {
    char text[4096], path[64], *group;

    if (pid <= 0)
        return NULL;
    (void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    (void)read_small(path, text, sizeof(text));
    group = find_group(text, "0::/");
    return group ? strndup(group, UNIT_MAX) : NULL;
}

/* The least limit of a group and its ancestors. A container may see its own group as the root, but
 * its path as from outside. */
static uint64_t least_limit(char *group, const char *folder, const char *file) {
    char path[4096 + 64], value[64], *slash = group;
    uint64_t limit = 0;

    while (slash) {
        (void)snprintf(path, sizeof(path), "%s%s/%s", folder, group, file);
        if (read_small(path, value, sizeof(value)) > 0 && value[0] >= '0' && value[0] <= '9') {
            uint64_t bytes = strtoull(value, NULL, 10);

            limit = limit == 0 || bytes < limit ? bytes : limit;
        }
        slash = strrchr(group, '/');
        if (slash)
            *slash = '\0';
    }
    return limit;
}

/* The path of the control group: of version 2, or of the memory controller of version 1. */
static uint64_t cgroup_limit(void) {
    char text[4096], *group;
    uint64_t limit = 0;

    (void)read_small("/proc/self/cgroup", text, sizeof(text));
    group = find_group(text, "0::/");
    if (group)
        limit = least_limit(group, "/sys/fs/cgroup", "memory.max");
    if (limit > 0)
        return limit;
    (void)read_small("/proc/self/cgroup", text, sizeof(text));
    group = find_group(text, ":memory:/");
    return group ? least_limit(group, "/sys/fs/cgroup/memory", "memory.limit_in_bytes") : 0;
}

uint64_t leat_process_memory_limit(void) {
    char text[4096];
    uint64_t total, group = cgroup_limit();

    (void)read_small("/proc/meminfo", text, sizeof(text));
    total = find_kilobytes(text, "MemTotal:");
    return group > 0 && (total == 0 || group < total) ? group : total;
}

uint64_t leat_process_available_bytes(void) {
    char text[4096];
    uint64_t available = 0, limit = leat_process_memory_limit();

    if (read_small("/proc/meminfo", text, sizeof(text)) > 0)
        available = find_kilobytes(text, "MemAvailable:");
    if (available == 0)
        available = UINT64_MAX;
    return limit > 0 && limit < available ? limit : available;
}

uint64_t leat_process_raise_descriptors(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    if (limit.rlim_cur < limit.rlim_max) {
        rlim_t before = limit.rlim_cur;

        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
            limit.rlim_cur = before;
    }
    return limit.rlim_cur;
}

int leat_process_widest_descriptor(void) {
    uint64_t n_max = leat_process_raise_descriptors();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), widest;

    if (fd < 0)
        return -errno;
    if (n_max > DESCRIPTORS_RESERVED)
        n_max = DESCRIPTORS_RESERVED;
    widest = fcntl(fd, F_DUPFD_CLOEXEC, (int)n_max - 1);
    if (widest < 0)
        widest = -errno;
    (void)close(fd);
    return widest;
}

void leat_process_reserve_descriptors(void) {
    int fd = leat_process_widest_descriptor();

    if (fd >= 0)
        (void)close(fd);
}

/* ---- the thread ----
 *
 * The times of getrusage(2) are as old as the scheduler's last tick, which is longer than most jobs
 * take; so the time is clock_gettime(2)'s. A file of /proc would have to be kept open by each
 * thread. */

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
