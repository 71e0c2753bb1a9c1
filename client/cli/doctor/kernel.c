/* kernel.c: what the kernel grants to the daemon (its unit or container may deny it to the daemon
 * alone), and the limits of this user. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "client/cli/base/units.h"
#include "client/cli/doctor/doctor.h"
#include "pipeline/io/kernel.h"

#define AREA          "kernel"
#define LEAST_MAJOR   5
#define LEAST_MINOR   6 /* openat2 */
#define LEAST_FILES   1024
#define LITTLE_MEMORY (UINT64_C(512) << 20)
#define FORBIDDEN_MEND                                                                             \
    "allow this call in the seccomp filter of the container or unit, or use Linux %s or newer"

static void examine_version(struct leat_doctor *doctor) {
    unsigned major = 0, minor = 0;
    struct utsname name;
    bool is_new;

    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2)
        return;
    is_new = major > LEAST_MAJOR || (major == LEAST_MAJOR && minor >= LEAST_MINOR);
    leat_doctor_add(doctor, is_new ? LEAT_DOCTOR_OK : LEAT_DOCTOR_FAIL, AREA, "version",
                    "Linux %.64s", name.release);
    leat_doctor_mend(doctor, "use Linux %d.%d or newer", LEAST_MAJOR, LEAST_MINOR);
}

/* The error with which the daemon has tried it. -1: it does not say. */
static int find_error(const struct leat_doctor *doctor, const char *name) {
    for (size_t i = 0; doctor->status && i < doctor->status->n_kernel_needs; i++)
        if (strcmp(doctor->status->kernel_needs[i]->name, name) == 0)
            return (int)doctor->status->kernel_needs[i]->error;
    return -1;
}

static void examine_need(struct leat_doctor *doctor, const struct leat_kernel_need *need) {
    int told = find_error(doctor, need->name), code = told >= 0 ? told : need->try();
    const char *whose = told >= 0 ? "the daemon" : "leatctl";
    const char *note = told >= 0 ? "" : "; no daemon answers";

    if (code == 0) {
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, AREA, need->name, "%s: %s can use it%s", need->what,
                        whose, note);
    } else if (need->instead) {
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, AREA, need->name, "%s cannot use it (%s): %s%s",
                        whose, strerror(code), need->instead, note);
    } else {
        leat_doctor_add(doctor, LEAT_DOCTOR_FAIL, AREA, need->name, "%s: not allowed for %s: %s%s",
                        need->what, whose, strerror(code), note);
        leat_doctor_mend(doctor, FORBIDDEN_MEND, need->since);
    }
}

/* Older daemons say nothing of it. */
static void examine_sandbox(struct leat_doctor *doctor) {
    const char *sandbox = doctor->status ? doctor->status->sandbox : "";
    bool has_none = strcmp(sandbox, "none") == 0;

    if (!sandbox[0])
        return;
    leat_doctor_add(doctor, has_none ? LEAT_DOCTOR_WARN : LEAT_DOCTOR_OK, AREA, "sandbox",
                    strcmp(sandbox, "off") == 0 ? "%s, because leatd.yaml contains `sandbox: off`"
                    : has_none ? "%s: the kernel has no seccomp, or denies it to the daemon"
                               : "the daemon and its programs are restricted: %s",
                    sandbox);
    leat_doctor_mend(doctor, "use a kernel with seccomp filters, or set `sandbox: off`");
}

void leat_doctor_kernel(struct leat_doctor *doctor) {
    examine_version(doctor);
    for (const struct leat_kernel_need *need = leat_kernel_needs; need->name; need++)
        examine_need(doctor, need);
    examine_sandbox(doctor);
}

/* ---- limits ---- */

static void examine_files_limit(struct leat_doctor *doctor) {
    char most[LEAT_CLI_UNIT_MAX], now[LEAT_CLI_UNIT_MAX];
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    leat_doctor_add(doctor, limit.rlim_max < LEAST_FILES ? LEAT_DOCTOR_WARN : LEAT_DOCTOR_OK,
                    "limits", "open files", "the limit is %s, and can be raised to %s",
                    leat_cli_count(limit.rlim_cur, now), leat_cli_count(limit.rlim_max, most));
    leat_doctor_mend(doctor,
                     "a daemon opens several files for each trainer: raise `ulimit -Hn` to %d, or "
                     "nofile in /etc/security/limits.conf",
                     4 * LEAST_FILES);
}

static void examine_address_limit(struct leat_doctor *doctor) {
    char bytes[LEAT_CLI_UNIT_MAX];
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) < 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, "limits", "address space", "unlimited");
    else
        leat_doctor_add(doctor, LEAT_DOCTOR_WARN, "limits", "address space", "%s",
                        leat_cli_bytes(limit.rlim_cur, bytes));
    leat_doctor_mend(doctor,
                     "trainers map the memory of all their batches, so run `ulimit -v unlimited`");
}

static void examine_locked_limit(struct leat_doctor *doctor) {
    char bytes[LEAT_CLI_UNIT_MAX] = "unlimited";
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
        return;
    if (limit.rlim_cur != RLIM_INFINITY)
        (void)leat_cli_bytes(limit.rlim_cur, bytes);
    leat_doctor_add(doctor, LEAT_DOCTOR_OK, "limits", "locked memory",
                    "the limit is %s; leat locks no memory, but pinning batches for a GPU may need "
                    "locked memory",
                    bytes);
}

uint64_t leat_doctor_read_number(const char *path, const char *key) {
    FILE *file = fopen(path, "re");
    char line[256];
    uint64_t number = LEAT_DOCTOR_NO_NUMBER;

    while (file && number == LEAT_DOCTOR_NO_NUMBER && fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0)
            number = strtoull(line + strlen(key), NULL, 10);
    if (file)
        (void)fclose(file);
    return number;
}

static void examine_memory(struct leat_doctor *doctor) {
    char free_text[LEAT_CLI_UNIT_MAX], all_text[LEAT_CLI_UNIT_MAX];
    uint64_t n_free = leat_doctor_read_number("/proc/meminfo", "MemAvailable:");
    uint64_t n_all = leat_doctor_read_number("/proc/meminfo", "MemTotal:");

    if (n_free == LEAT_DOCTOR_NO_NUMBER || n_all == LEAT_DOCTOR_NO_NUMBER) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "limits", "memory", "/proc/meminfo");
        return;
    }
    n_free *= 1024; /* "MemAvailable:   123 kB" */
    n_all *= 1024;
    leat_doctor_add(doctor, n_free < LITTLE_MEMORY ? LEAT_DOCTOR_WARN : LEAT_DOCTOR_OK, "limits",
                    "memory", "%s of %s are free", leat_cli_bytes(n_free, free_text),
                    leat_cli_bytes(n_all, all_text));
    leat_doctor_mend(doctor, "end other programs, or set memory_limit in leatd.yaml; leat then "
                             "refuses streams before the kernel kills processes");
}

void leat_doctor_limits(struct leat_doctor *doctor) {
    examine_files_limit(doctor);
    examine_address_limit(doctor);
    examine_locked_limit(doctor);
    examine_memory(doctor);
}
