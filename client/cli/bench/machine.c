/* machine.c: on what was measured: CPU, kernel, memory. Declared in case.h. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "client/cli/bench/case.h"

/* "model name: AMD ..." of x86; other machines say less: then their architecture. */
static void read_cpu(char *ret_cpu, size_t size, const char *machine) {
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];

    (void)snprintf(ret_cpu, size, "%s", machine);
    while (file && fgets(line, sizeof(line), file)) {
        const char *value = strchr(line, ':');

        if (strncmp(line, "model name", 10) != 0 || !value)
            continue;
        value += strspn(value, ": ");
        (void)snprintf(ret_cpu, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file)
        (void)fclose(file);
}

static unsigned count_cpus(void) {
    cpu_set_t set;
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    return n > 0 ? (unsigned)n : 1;
}

void leat_bench_machine_read(struct leat_bench_machine *ret_machine) {
    long n_pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    struct utsname name;

    *ret_machine = (struct leat_bench_machine){.n_cpus = count_cpus()};
    if (n_pages > 0 && page > 0)
        ret_machine->memory_bytes = (uint64_t)n_pages * (uint64_t)page;
    if (uname(&name) < 0)
        return;
    (void)snprintf(ret_machine->kernel, sizeof(ret_machine->kernel), "%.60s %.60s", name.sysname,
                   name.release);
    (void)snprintf(ret_machine->host, sizeof(ret_machine->host), "%.64s", name.nodename);
    read_cpu(ret_machine->cpu, sizeof(ret_machine->cpu), name.machine);
}
