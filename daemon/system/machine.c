/* machine.c: see machine.h, proc(5) on /proc/stat, and cpu.max of control groups (version 2). */
#include "daemon/system/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/calls.h"

#define TEXT_MAX 65536 /* lines of some 700 processors come first */

static size_t read_file(const char *path, char *buffer, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    ssize_t more = 1;

    while (fd >= 0 && n < size - 1 && (more = read(fd, buffer + n, size - 1 - n)) > 0)
        n += (size_t)more;
    if (fd >= 0)
        (void)close(fd);
    buffer[n] = '\0';
    return n;
}

/* "150000 100000", or "max 100000". */
static double quota_of(const char *text) {
    char *end;
    double quota = strtod(text, &end), period = strtod(end, NULL);

    return end != text && quota > 0 && period > 0 ? quota / period : 0;
}

/* The least limit of this process's group and its ancestors; 0: none. */
static double cgroup_quota(void) {
    char text[4096], path[4096 + 64], value[64], *group, *slash;
    double least = 0, quota;

    (void)read_file("/proc/self/cgroup", text, sizeof(text));
    group = strstr(text, "0::/");
    if (!group)
        return 0;
    group += 3;
    group[strcspn(group, "\n")] = '\0';
    while ((slash = strrchr(group, '/'))) {
        (void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
        (void)read_file(path, value, sizeof(value));
        quota = quota_of(value);
        least = quota > 0 && (least == 0 || quota < least) ? quota : least;
        *slash = '\0';
    }
    return least;
}

double leat_machine_n_cpus(void) {
    double quota = cgroup_quota(), n = leat_n_cpus();

    return quota > 0 && quota < n ? quota : n;
}

/* "cpu3 user nice system idle iowait irq softirq steal guest guest_nice": guests are in user. */
static uint64_t busy_ticks(const char *line) {
    uint64_t sum = 0;

    line += strcspn(line, " \n");
    for (int i = 0; i < 8; i++) {
        char *end;
        uint64_t ticks = strtoull(line, &end, 10);

        if (end == line)
            break;
        line = end;
        if (i != 3 && i != 4)
            sum += ticks;
    }
    return sum;
}

uint64_t leat_machine_busy_ns(void) {
    char *text = malloc(TEXT_MAX);
    long ticks_a_second = sysconf(_SC_CLK_TCK);
    uint64_t sum = 0, n = 0;
    cpu_set_t set;

    if (!text || ticks_a_second <= 0 || sched_getaffinity(0, sizeof(set), &set) < 0) {
        free(text);
        return LEAT_MACHINE_UNKNOWN;
    }
    (void)read_file("/proc/stat", text, TEXT_MAX);
    for (const char *line = text; line && strncmp(line, "cpu", 3) == 0;
         line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        unsigned long cpu = strtoul(line + 3, NULL, 10);

        if (line[3] == ' ' || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &set))
            continue; /* the sum of all processors, or one that we may not use */
        sum += busy_ticks(line);
        n++;
    }
    free(text);
    return n > 0 ? sum * (UINT64_C(1000000000) / (uint64_t)ticks_a_second) : LEAT_MACHINE_UNKNOWN;
}
