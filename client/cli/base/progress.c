#include "client/cli/base/progress.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/cli/base/output.h"
#include "client/cli/base/units.h"
#include "proto/base/clock.h"

#define BAR_WIDTH   24
#define INTERVAL_NS 100000000
#define MOST_PER_NS 1e9       /* a higher rate is a mistake */
#define MIN_NS      200000000 /* an earlier rate is a guess */

void leat_cli_progress_begin(struct leat_cli_progress *progress, enum leat_progress_unit unit,
                             bool is_hidden) {
    *progress = (struct leat_cli_progress){.is_wanted = !is_hidden && leat_cli_terminal_is(stderr),
                                           .unit = unit,
                                           .start_ns = leat_now_ns()};
}

static const char *show_amount(enum leat_progress_unit unit, uint64_t n, char *buffer) {
    return unit == LEAT_PROGRESS_BYTES ? leat_cli_bytes(n, buffer) : leat_cli_count(n, buffer);
}

static void add_bar(struct leat_text *text, double share) {
    static const char full[] = "########################";
    static const char empty[] = "------------------------";
    int n = (int)(share * BAR_WIDTH);

    leat_text_add(text, "[%.*s%.*s] %3.0f %%  ", n, full, BAR_WIDTH - n, empty, 100 * share);
}

static void add_amounts(struct leat_text *text, enum leat_progress_unit unit, uint64_t n_done,
                        uint64_t n_total) {
    static const char *const names[] = {"", " records", " runs"};
    char done[LEAT_CLI_UNIT_MAX], total[LEAT_CLI_UNIT_MAX];

    leat_text_add(text, "%s", show_amount(unit, n_done, done));
    if (n_total > 0)
        leat_text_add(text, " of %s", show_amount(unit, n_total, total));
    leat_text_add(text, "%s", names[unit]);
}

/* The rate is the mean since the start, and the rest is expected at the same rate. */
static void add_rate(struct leat_text *text, enum leat_progress_unit unit, uint64_t n_done,
                     uint64_t n_total, uint64_t elapsed_ns) {
    char rate[LEAT_CLI_UNIT_MAX], left[LEAT_CLI_UNIT_MAX];
    double per_ns = (double)n_done / (double)elapsed_ns;
    double left_ns = n_total > n_done ? (double)(n_total - n_done) / per_ns : 0;

    if (unit != LEAT_PROGRESS_RUNS)
        leat_text_add(text, "  %s/s",
                      show_amount(unit, per_ns < MOST_PER_NS ? (uint64_t)(per_ns * 1e9) : 0, rate));
    if (n_total > 0 && left_ns < 1e17) /* three years */
        leat_text_add(text, "  %s left",
                      leat_cli_duration((uint64_t)(left_ns / 1e9 + 0.5) * 1000000000U, left));
}

void leat_cli_progress_line(struct leat_text *text, enum leat_progress_unit unit, uint64_t n_done,
                            uint64_t n_total, uint64_t elapsed_ns, const char *about,
                            size_t n_columns) {
    double share = n_total > 0 ? (double)n_done / (double)n_total : 0;
    size_t start = text->n_bytes;

    if (n_total > 0)
        add_bar(text, share > 1 ? 1 : share);
    add_amounts(text, unit, n_done, n_total);
    if (n_done > 0 && elapsed_ns >= MIN_NS)
        add_rate(text, unit, n_done, n_total, elapsed_ns);
    if (about[0]) {
        leat_text_add(text, "  ");
        leat_text_add_shown(text, about);
    }
    if (text->n_bytes - start > n_columns)
        text->n_bytes =
            start + n_columns; /* counts bytes: a name may be cut too early, never too late */
}

static size_t count_columns(void) {
    struct winsize size = {.ws_col = 0};

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 79;
}

void leat_cli_progress_show(struct leat_cli_progress *progress, uint64_t n_done, uint64_t n_total,
                            const char *about) {
    struct leat_text text = {.data = NULL};
    uint64_t now_ns = leat_now_ns();

    if (!progress->is_wanted || now_ns - progress->shown_ns < INTERVAL_NS)
        return;
    progress->shown_ns = now_ns;
    progress->has_shown = true;
    leat_text_add(&text, "\r\033[K");
    leat_cli_progress_line(&text, progress->unit, n_done, n_total, now_ns - progress->start_ns,
                           about, count_columns());
    leat_cli_print_to(&text, stderr);
    (void)fflush(stderr);
}

void leat_cli_progress_hide(struct leat_cli_progress *progress) {
    if (progress->has_shown)
        fprintf(stderr, "\r\033[K");
    progress->has_shown = false;
    progress->shown_ns = 0;
}
