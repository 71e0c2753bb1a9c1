/* daemon_process.c: see daemon_process.h. */
#include "tests/bench/daemon_process.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void give_up(const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    (void)vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(1);
}

double now_s(void) {
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double own_cpu_s(void) {
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void write_config(const struct daemon_process *daemon, const char *config, char *path,
                         size_t size) {
    FILE *file;

    (void)snprintf(path, size, "%s/leatd.yaml", daemon->directory);
    file = fopen(path, "w");
    if (!file || fputs(config, file) < 0 || fclose(file) != 0)
        give_up("%s: %s", path, strerror(errno));
}

static void wait_until_ready(const struct daemon_process *daemon) {
    for (int i = 0; i < 6000; i++) { /* two minutes at least */
        struct timespec pause = {.tv_nsec = 20000000};
        char *answer;
        int is_there;

        if (waitpid(daemon->pid, NULL, WNOHANG) != 0)
            give_up("leatd ended; its message is above");
        answer = daemon_process_ask(daemon, "status --json 2>/dev/null");
        is_there = strchr(answer, '{') != NULL;
        free(answer);
        if (is_there)
            return;
        (void)nanosleep(&pause, NULL);
    }
    give_up("leatd does not answer on %s", daemon->directory);
}

void daemon_process_start(struct daemon_process *daemon, const char *bin, const char *config,
                          const char *config_path, unsigned n_workers) {
    char program[4096], path[512], workers[16];

    *daemon = (struct daemon_process){.bin = bin, .directory = "/tmp/leat-bench.XXXXXX"};
    if (!mkdtemp(daemon->directory))
        give_up("%s: %s", daemon->directory, strerror(errno));
    if (!config_path)
        write_config(daemon, config, path, sizeof(path));
    (void)snprintf(program, sizeof(program), "%s/leatd", bin);
    (void)snprintf(workers, sizeof(workers), "%u", n_workers);
    daemon->pid = fork();
    if (daemon->pid < 0)
        give_up("fork: %s", strerror(errno));
    if (daemon->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* it ends with us, whatever ends us */
        (void)execl(program, program, "--config", config_path ? config_path : path, "--socket-dir",
                    daemon->directory, "--workers", workers, (char *)NULL);
        fprintf(stderr, "%s: %s\n", program, strerror(errno));
        _exit(127);
    }
    wait_until_ready(daemon);
}

void daemon_process_stop(struct daemon_process *daemon) {
    char command[512];

    (void)kill(daemon->pid, SIGTERM);
    (void)waitpid(daemon->pid, NULL, 0);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", daemon->directory);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", daemon->directory);
}

char *daemon_process_ask(const struct daemon_process *daemon, const char *words) {
    size_t n = 0, capacity = 1 << 20;
    char *answer = malloc(capacity);
    char command[8192];
    FILE *pipe;

    (void)snprintf(command, sizeof(command), "LEAT_SOCKET='%s' '%s/leatctl' %s", daemon->directory,
                   daemon->bin, words);
    pipe = popen(command, "r");
    if (!pipe || !answer)
        give_up("%s: %s", command, strerror(errno));
    n = fread(answer, 1, capacity - 1, pipe);
    (void)pclose(pipe);
    while (n > 0 && answer[n - 1] == '\n')
        n--;
    answer[n] = '\0';
    return answer;
}

double json_number(const char *json, const char *key) {
    char quoted[128];
    const char *at;

    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", key);
    at = strstr(json, quoted);
    at = at ? strchr(at, ':') : NULL;
    return at ? strtod(at + 1, NULL) : 0;
}

/* One line of /proc/PID/NAME, behind `prefix`. */
static int read_proc(pid_t pid, const char *name, const char *prefix, char *line, int size) {
    char path[64];
    FILE *file;
    int found = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    file = fopen(path, "r");
    while (file && !found && fgets(line, size, file))
        found = strncmp(line, prefix, strlen(prefix)) == 0;
    if (file)
        (void)fclose(file);
    return found;
}

double daemon_process_cpu_s(const struct daemon_process *daemon) {
    unsigned long long user = 0, system = 0;
    char line[1024];
    const char *at;

    if (!read_proc(daemon->pid, "stat", "", line, sizeof(line)))
        return 0;
    at = strrchr(line, ')'); /* the name may hold anything */
    if (!at || sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
                      &system) != 2)
        return 0;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

uint64_t daemon_process_hwm_bytes(const struct daemon_process *daemon) {
    char line[256];

    if (!read_proc(daemon->pid, "status", "VmHWM:", line, sizeof(line)))
        return 0;
    return strtoull(line + strlen("VmHWM:"), NULL, 10) * 1024;
}
