/* screen.c: see screen.h; escape sequences as of xterm, which all of today's terminals know. Each
 * line is cleared before it is written: behind its last column that would take a character away. */
#include "client/cli/top/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[0m\033[?7h\033[?25h\033[?1049l"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGPIPE};

static struct termios before;
static bool is_entered;

static void write_all(const char *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, n_bytes);

        if (n < 0 && errno != EINTR)
            return; /* nobody is there any more: the next signal, or the end of input, tells */
        bytes += n > 0 ? n : 0;
        n_bytes -= n > 0 ? (size_t)n : 0;
    }
}

static void leave(void) {
    if (!is_entered)
        return;
    is_entered = false;
    write_all(LEAVE, sizeof(LEAVE) - 1);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static int enter(void) {
    struct termios raw = before;

    raw.c_iflag &= (tcflag_t) ~(ICRNL | IXON);
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
        return -errno;
    is_entered = true;
    write_all(ENTER, sizeof(ENTER) - 1);
    return 0;
}

static void signal_set(sigset_t *ret_set) {
    (void)sigemptyset(ret_set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        (void)sigaddset(ret_set, signals[i]);
}

int leat_screen_open(struct leat_screen *screen, struct leat_error *err) {
    static bool is_registered;
    sigset_t set;

    *screen = (struct leat_screen){.signals = -1};
    if (tcgetattr(STDIN_FILENO, &before) < 0)
        return leat_error_set(err, -errno, "cannot use the terminal: %s", strerror(errno));
    signal_set(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    screen->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (screen->signals < 0)
        return leat_error_set(err, -errno, "signalfd: %s", strerror(errno));
    if (!is_registered)
        is_registered = atexit(leave) == 0;
    if (enter() < 0)
        return leat_error_set(err, -errno, "cannot use the terminal: %s", strerror(errno));
    leat_screen_resize(screen);
    return 0;
}

static void forget(struct leat_screen *screen) {
    for (size_t i = 0; i < screen->n_shown; i++)
        free(screen->shown[i].data);
    free(screen->shown);
    screen->shown = NULL;
    screen->n_shown = 0;
}

void leat_screen_close(struct leat_screen *screen) {
    leave();
    forget(screen);
    if (screen->signals >= 0)
        (void)close(screen->signals);
    screen->signals = -1;
}

void leat_screen_resize(struct leat_screen *screen) {
    struct winsize size = {.ws_row = 0};

    forget(screen);
    screen->n_rows = 24;
    screen->n_columns = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
        return;
    screen->n_rows = size.ws_row;
    screen->n_columns = size.ws_col;
}

static bool is_shown(const struct leat_screen *screen, size_t i, const struct leat_text *line) {
    const struct leat_text *shown = i < screen->n_shown ? &screen->shown[i] : NULL;

    return shown && shown->n_bytes == line->n_bytes &&
           (line->n_bytes == 0 || memcmp(shown->data, line->data, line->n_bytes) == 0);
}

static void remember(struct leat_screen *screen, const struct leat_text *lines, size_t n_lines) {
    forget(screen);
    screen->shown = calloc(n_lines + 1, sizeof(*screen->shown));
    if (!screen->shown)
        return; /* then all is written the next time */
    screen->n_shown = n_lines;
    for (size_t i = 0; i < n_lines; i++)
        leat_text_add_bytes(&screen->shown[i], lines[i].data, lines[i].n_bytes);
}

void leat_screen_show(struct leat_screen *screen, const struct leat_text *lines, size_t n_lines) {
    struct leat_text out = {.data = NULL};

    n_lines = n_lines < screen->n_rows ? n_lines : screen->n_rows;
    if (!screen->shown)
        leat_text_add(&out, "\033[2J");
    for (size_t i = 0; i < n_lines; i++) {
        if (is_shown(screen, i, &lines[i]))
            continue;
        leat_text_add(&out, "\033[%zu;1H\033[K", i + 1);
        leat_text_add_bytes(&out, lines[i].data, lines[i].n_bytes);
    }
    if (n_lines < screen->n_rows && n_lines < screen->n_shown)
        leat_text_add(&out, "\033[%zu;1H\033[J", n_lines + 1);
    write_all(out.data, out.n_bytes);
    free(out.data);
    remember(screen, lines, n_lines);
}

void leat_screen_stop(struct leat_screen *screen) {
    leave();
    (void)raise(SIGSTOP);
    if (tcgetpgrp(STDIN_FILENO) == getpgrp()) /* else it is as the shell has it for itself */
        (void)tcgetattr(STDIN_FILENO, &before);
    (void)enter();
    leat_screen_resize(screen);
}

int leat_screen_signal(struct leat_screen *screen) {
    struct signalfd_siginfo info;

    return read(screen->signals, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo
                                                                               : 0;
}
