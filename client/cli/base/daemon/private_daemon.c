/* private_daemon.c: see private_daemon.h. The daemon reports readiness by sd_notify's protocol: a
 * datagram with a line READY=1 to $NOTIFY_SOCKET. Its pidfd reports its death. */
#include "client/cli/base/daemon/private_daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/base/interrupt.h"
#include "pipeline/spec/override.h"

#define START_TIMEOUT_MS 60000
#define STOP_TIMEOUT_MS  10000
#define LOG_NAME         "leatd.log"
#define NOTIFY_NAME      "notify.sock"
#define MAX_WARNINGS     10 /* that are printed */

/* leatd beside this program, else $LEAT_LEATD, else "leatd" for the PATH. */
static void find_program(char *ret_path, size_t size) {
    const char *given = getenv("LEAT_LEATD");
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n > 0) {
        self[n] = '\0';
        slash = strrchr(self, '/');
        (void)snprintf(ret_path, size, "%.*s/leatd", (int)(slash - self), self);
        if (access(ret_path, X_OK) == 0)
            return;
    }
    (void)snprintf(ret_path, size, "%s", given && given[0] ? given : "leatd");
}

static int make_directory(struct leat_cli_daemon *daemon, struct leat_error *err) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat status;
    bool has_runtime = runtime && runtime[0] == '/' && strlen(runtime) < 60 &&
                       stat(runtime, &status) == 0 && access(runtime, W_OK) == 0;

    (void)snprintf(daemon->directory, sizeof(daemon->directory), "%s/leatctl-XXXXXX",
                   has_runtime ? runtime : "/tmp");
    if (mkdtemp(daemon->directory))
        return 0;
    daemon->directory[0] = '\0';
    return leat_error_set(err, -errno, "cannot create a folder for sockets in %s: %s",
                          has_runtime ? runtime : "/tmp", strerror(errno));
}

static void remove_directory(struct leat_cli_daemon *daemon) {
    DIR *directory = daemon->directory[0] ? opendir(daemon->directory) : NULL;
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        (void)closedir(directory);
    if (daemon->directory[0])
        (void)rmdir(daemon->directory);
    daemon->directory[0] = '\0';
}

static int listen_for_ready(const struct leat_cli_daemon *daemon, struct sockaddr_un *ret_address,
                            struct leat_error *err) {
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "%s/" NOTIFY_NAME,
                   daemon->directory);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)ret_address, sizeof(*ret_address)) == 0)
        return fd;
    (void)leat_error_set(err, -errno, "cannot listen at %s: %s", ret_address->sun_path,
                         strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return err->code;
}

#define MAX_WORDS (2 * LEAT_OVERRIDES_MAX + 16)

/* The command line; borrows its words. */
struct words {
    const char *items[MAX_WORDS];
    size_t n_items;
};

static void add_words(struct words *words, const char *first, const char *second) {
    words->items[words->n_items++] = first;
    if (second)
        words->items[words->n_items++] = second;
}

static int add_overrides(struct words *words, const char *const *overrides, size_t n_overrides) {
    if (n_overrides > LEAT_OVERRIDES_MAX)
        return -E2BIG;
    for (size_t i = 0; i < n_overrides; i++)
        add_words(words, "--set", overrides[i]);
    return 0;
}

struct launch {
    char program[4096];
    char log[128];
    struct words words;
    const char *notify;
    pid_t parent;
    char self[16]; /* our process id, for --end-with */
};

/* Runs in the child. */
static void become_daemon(const struct launch *launch) {
    int log = open(launch->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != launch->parent)
        _exit(127);
    (void)setpgid(0, 0); /* Ctrl-C reaches only the parent, which stops the daemon */
    if (log >= 0)
        (void)dup2(log, STDERR_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    if (setenv("NOTIFY_SOCKET", launch->notify, 1) < 0) { /* it could not say that it is ready */
        (void)dprintf(STDERR_FILENO, "leatd: out of memory\n");
        _exit(127);
    }
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("JOURNAL_STREAM");
    (void)unsetenv("WATCHDOG_USEC");
    (void)execvp(launch->program, (char *const *)(uintptr_t)launch->words.items);
    (void)dprintf(STDERR_FILENO,
                  "cannot start %s: %s; put leatd into the folder of leatctl or on the PATH, or "
                  "set LEAT_LEATD to its path\n",
                  launch->program, strerror(errno));
    _exit(127);
}

/* 1: ready, 0: not yet, -errno. */
static int read_notice(int notify) {
    char text[4096];
    ssize_t n = recv(notify, text, sizeof(text) - 1, MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    text[n] = '\0';
    return strncmp(text, "READY=1", 7) == 0 || strstr(text, "\nREADY=1") != NULL;
}

/* Makes the log the message, without its last line end. */
static int fail_with_log(const struct launch *launch, struct leat_error *err) {
    char text[LEAT_ERROR_MESSAGE_MAX] = "";
    int fd = open(launch->log, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd >= 0) {
        n = read(fd, text, sizeof(text) - 1);
        (void)close(fd);
    }
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
    return leat_error_set(err, -ECHILD, "%s",
                          n > 0 ? text
                                : "leatd ended before it was ready, and gave no reason; run `leatd "
                                  "--config FILE` to see more");
}

static int wait_until_ready(const struct leat_cli_daemon *daemon, const struct launch *launch,
                            int notify, struct leat_error *err) {
    struct pollfd items[2] = {{.fd = notify, .events = POLLIN},
                              {.fd = daemon->pidfd, .events = POLLIN}};

    for (;;) {
        int n = poll(items, 2, START_TIMEOUT_MS);

        if (n == 0)
            return leat_error_set(err, -ETIMEDOUT, "leatd was not ready within %d s",
                                  START_TIMEOUT_MS / 1000);
        if (leat_cli_interrupt_seen())
            return leat_error_set(err, -EINTR, "interrupted");
        if (n > 0 && items[0].revents && read_notice(notify) > 0)
            return 0;
        if (n > 0 && items[1].revents)
            return fail_with_log(launch, err);
    }
}

static int launch_daemon(struct leat_cli_daemon *daemon, struct launch *launch, int notify,
                         struct leat_error *err) {
    launch->parent = getpid();
    (void)fflush(stdout);
    daemon->pid = fork();
    if (daemon->pid < 0) {
        daemon->pid = 0;
        return leat_error_set(err, -errno, "cannot start leatd: %s", strerror(errno));
    }
    if (daemon->pid == 0)
        become_daemon(launch);
    daemon->pidfd = (int)syscall(SYS_pidfd_open, daemon->pid, 0);
    if (daemon->pidfd < 0)
        return leat_error_set(err, -errno, "pidfd_open: %s", strerror(errno));
    return wait_until_ready(daemon, launch, notify, err);
}

static int start_daemon(struct leat_cli_daemon *daemon, struct launch *launch,
                        struct leat_error *err) {
    struct sockaddr_un address;
    int notify;
    int r;

    find_program(launch->program, sizeof(launch->program));
    (void)snprintf(launch->log, sizeof(launch->log), "%s/" LOG_NAME, daemon->directory);
    notify = listen_for_ready(daemon, &address, err);
    launch->notify = address.sun_path;
    r = notify < 0 ? notify : launch_daemon(daemon, launch, notify, err);
    if (notify >= 0)
        (void)close(notify);
    if (r < 0)
        leat_cli_daemon_stop(daemon);
    return r;
}

int leat_cli_daemon_start_with(struct leat_cli_daemon *daemon, const char *file,
                               const char *const *overrides, size_t n_overrides, bool is_unfused,
                               struct leat_error *err) {
    struct launch launch = {.words = {.n_items = 0}};
    int r;

    *daemon = (struct leat_cli_daemon){.pidfd = -1};
    r = make_directory(daemon, err);
    if (r < 0)
        return r;
    add_words(&launch.words, "leatd", NULL);
    add_words(&launch.words, "--config", file);
    (void)snprintf(launch.self, sizeof(launch.self), "%d", (int)getpid());
    add_words(&launch.words, "--end-with", launch.self);
    add_words(&launch.words, "--socket-dir", daemon->directory);
    if (is_unfused)
        add_words(&launch.words, "--no-fuse", NULL);
    r = add_overrides(&launch.words, overrides, n_overrides);
    if (r < 0) {
        leat_cli_daemon_stop(daemon);
        return leat_error_set(err, r, "at most %d settings can be changed for one run",
                              LEAT_OVERRIDES_MAX);
    }
    return start_daemon(daemon, &launch, err);
}

int leat_cli_daemon_start(struct leat_cli_daemon *daemon,
                          const struct leat_cli_arguments *arguments, struct leat_error *err) {
    char workers[32];
    const char *const overrides[] = {workers};

    (void)snprintf(workers, sizeof(workers), "workers=%u", (unsigned)arguments->workers.value);
    return leat_cli_daemon_start_with(daemon, arguments->operand, overrides,
                                      arguments->workers.is_given, arguments->no_fuse, err);
}

/* ---- checking ---- */

static void become_checker(const char *program, const struct words *words, int output) {
    if (dup2(output, STDERR_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
        (void)execvp(program, (char *const *)(uintptr_t)words->items);
    if (errno == ENOENT)
        _exit(127);
    (void)dprintf(output, "leatd: cannot start %s: %s\n", program, strerror(errno));
    _exit(EXIT_FAILURE);
}

/* Reads the output of the checker to its end. */
static void read_output(int fd, char *ret_text, size_t size) {
    size_t n_read = 0;
    ssize_t n;

    do {
        n = read(fd, ret_text + n_read, size - 1 - n_read);
        if (n > 0)
            n_read += (size_t)n;
    } while (n > 0 || (n < 0 && errno == EINTR));
    ret_text[n_read] = '\0';
}

static int fail_check(char *ret_text, size_t size) {
    (void)snprintf(ret_text, size, "cannot run leatd: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

int leat_cli_daemon_check(const char *file, const char *const *overrides, size_t n_overrides,
                          char *ret_text, size_t size) {
    struct words words = {.n_items = 0};
    char program[4096];
    int ends[2], status = 0, r;
    pid_t pid;

    find_program(program, sizeof(program));
    add_words(&words, "leatd", NULL);
    add_words(&words, "--config", file);
    add_words(&words, "--check-config", NULL);
    r = add_overrides(&words, overrides, n_overrides);
    if (r < 0)
        errno = -r;
    if (r < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return fail_check(ret_text, size);
    pid = fork();
    if (pid == 0)
        become_checker(program, &words, ends[1]);
    if (pid < 0)
        (void)fail_check(ret_text, size);
    (void)close(ends[1]);
    if (pid > 0)
        read_output(ends[0], ret_text, size);
    (void)close(ends[0]);
    if (pid < 0)
        return EXIT_FAILURE;
    do {
        r = waitpid(pid, &status, 0);
    } while (r < 0 && errno == EINTR);
    if (r < 0)
        return fail_check(ret_text, size);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

/* ---- the end ---- */

static void wait_for_end(struct leat_cli_daemon *daemon) {
    struct pollfd item = {.fd = daemon->pidfd, .events = POLLIN};
    int n;

    do {
        n = daemon->pidfd < 0 ? 0 : poll(&item, 1, STOP_TIMEOUT_MS);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        (void)kill(daemon->pid, SIGKILL);
    while (waitpid(daemon->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Prints warnings such as of a cache that cannot be used. Why a stream was refused is an error of
 * its opening already. */
static void print_warnings(const struct leat_cli_daemon *daemon) {
    static const char mark[] = " warning event=", refused[] = "refused ";
    char path[sizeof(daemon->directory) + sizeof(LOG_NAME) + 1], *line = NULL, *at;
    size_t capacity = 0;
    int n_printed = 0;
    FILE *log;

    (void)snprintf(path, sizeof(path), "%s/" LOG_NAME, daemon->directory);
    log = fopen(path, "re");
    while (log && n_printed < MAX_WARNINGS && getline(&line, &capacity, log) > 0) {
        at = strstr(line, mark);
        if (!at || strncmp(at + strlen(mark), refused, strlen(refused)) == 0)
            continue;
        (void)fprintf(stderr, "leatd: %s", at + 1);
        n_printed++;
    }
    free(line);
    if (log)
        (void)fclose(log);
}

void leat_cli_daemon_stop(struct leat_cli_daemon *daemon) {
    if (daemon->pid > 0) {
        (void)kill(daemon->pid, SIGTERM);
        wait_for_end(daemon);
        daemon->pid = 0;
        print_warnings(daemon);
    }
    if (daemon->pidfd >= 0)
        (void)close(daemon->pidfd);
    daemon->pidfd = -1;
    remove_directory(daemon);
}
