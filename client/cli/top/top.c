/* top.c: `leatctl top`: the daemon as it works, on a terminal, or as lines for programs. One loop
 * waits for keys, signals and the daemon; whatever comes changes the model or the view, and the
 * picture is drawn anew. A daemon that goes away is looked for again. */
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/output.h"
#include "client/cli/top/screen.h"
#include "client/cli/top/source.h"
#include "client/cli/top/view.h"

#define INTERVAL_S    1
#define PLAIN_COLUMNS 132 /* of what is printed to no terminal */
#define AWAY_MS       1000
#define ANSWER_MS     2000 /* Nobody waits at a screen for longer. */

struct top {
    struct leat_top_source source;
    struct leat_top_sample now, before;
    struct leat_top_model model;
    struct leat_top_view view;
    struct leat_screen screen;
    unsigned key_state;
    bool is_away, has_ended;
    int status;
    char notice[LEAT_ERROR_PRINT_MAX + 64];
};

static const Leat__TrainersReply *trainers_of(const struct leat_top_sample *sample) {
    return sample->trainers ? sample->trainers->trainers : NULL;
}

/* The next sample takes the place of the one before. */
static int advance(struct top *top, struct leat_top_sample sample, struct leat_error *err) {
    leat_top_model_deinit(&top->model);
    leat_top_sample_deinit(&top->before);
    top->before = top->now;
    top->now = sample;
    if (leat_top_model_init(&top->model, sample.update->update,
                            top->before.update ? top->before.update->update : NULL,
                            trainers_of(&top->now), trainers_of(&top->before)) < 0)
        return leat_error_oom(err);
    return 0;
}

/* An exit status. */
static int next_sample(struct top *top, struct leat_error *err) {
    struct leat_top_sample next;
    int status = leat_top_source_take(&top->source, &next, err);

    if (status != LEAT_CLI_OK)
        return status;
    return advance(top, next, err) < 0 ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}

static uint32_t interval_ms(const struct leat_cli_arguments *arguments) {
    return 1000 * (uint32_t)(arguments->interval.is_given ? arguments->interval.value : INTERVAL_S);
}

/* ---- for programs ---- */

static void print_picture(struct top *top) {
    struct leat_top_picture picture;

    leat_top_view_draw(&top->view, &top->model, &picture);
    for (size_t i = 0; i < picture.n_lines; i++) {
        struct leat_text *line = &picture.lines[i];

        while (line->n_bytes > 0 && line->data[line->n_bytes - 1] == ' ')
            line->n_bytes--;
        printf("%.*s\n", (int)line->n_bytes, line->data ? line->data : "");
    }
    leat_top_picture_deinit(&picture);
}

static void print_model(struct top *top, bool as_json) {
    struct leat_text text = {.data = NULL};

    if (!as_json) {
        print_picture(top);
    } else {
        leat_top_model_json(&text, &top->model);
        leat_cli_print(&text);
    }
    (void)fflush(stdout);
}

static size_t plain_columns(void) {
    struct winsize size = {.ws_col = 0};

    if (leat_cli_terminal_is(stdout) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return PLAIN_COLUMNS;
}

/* A line of JSON, or a picture, for each two updates. */
static int print(struct top *top, const struct leat_cli_arguments *arguments,
                 struct leat_error *err) {
    bool is_endless = arguments->json && !arguments->once;
    int status = leat_top_source_open(&top->source, interval_ms(arguments),
                                      LEAT_CLI_CONTROL_TIMEOUT_MS, err);

    top->view.is_whole = true;
    top->view.has_colour = leat_cli_terminal_has_colour(stdout);
    top->view.n_columns = plain_columns();
    leat_cli_interrupt_watch();
    while (status == LEAT_CLI_OK && !leat_cli_interrupt_seen()) {
        status = next_sample(top, err);
        if (status == LEAT_CLI_OK && top->before.update)
            print_model(top, arguments->json);
        if (status == LEAT_CLI_OK && top->before.update && !is_endless)
            return status;
    }
    return leat_cli_interrupt_seen() ? LEAT_CLI_INTERRUPTED : status;
}

/* ---- for people ---- */

static void draw(struct top *top) {
    struct leat_top_picture picture;

    top->view.n_rows = top->screen.n_rows;
    top->view.n_columns = top->screen.n_columns;
    top->view.notice = top->is_away ? top->notice : NULL;
    leat_top_view_draw(&top->view, &top->model, &picture);
    leat_screen_show(&top->screen, picture.lines, picture.n_lines);
    leat_top_picture_deinit(&picture);
}

/* The last figures stay on the screen, with a line that says so. */
static void go_away(struct top *top, const struct leat_error *err) {
    char line[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(err, line, sizeof(line));
    (void)snprintf(top->notice, sizeof(top->notice), "waiting for a daemon: %s", line);
    leat_top_source_close(&top->source);
    top->is_away = true;
}

static void come_back(struct top *top) {
    struct leat_error err = LEAT_ERROR_INIT;

    top->is_away = false;
    if (leat_top_source_open(&top->source, top->source.interval_ms, ANSWER_MS, &err) != LEAT_CLI_OK)
        go_away(top, &err);
}

static void take_sample(struct top *top) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (next_sample(top, &err) != LEAT_CLI_OK)
        go_away(top, &err);
}

static void take_signal(struct top *top, int number) {
    if (number == SIGWINCH) {
        leat_screen_resize(&top->screen);
    } else if (number == SIGTSTP) {
        leat_screen_stop(&top->screen);
    } else {
        top->has_ended = true;
        top->status = LEAT_CLI_INTERRUPTED;
    }
}

static void take_keys(struct top *top) {
    unsigned char bytes[64];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

    if (n <= 0)
        top->has_ended = true; /* the terminal has gone */
    for (ssize_t i = 0; i < n; i++) {
        enum leat_top_key key = leat_top_key_take(&top->key_state, bytes[i]);

        if (key == LEAT_TOP_KEY_QUIT)
            top->has_ended = true;
        else if (key == LEAT_TOP_KEY_STOP)
            leat_screen_stop(&top->screen);
        else if (key == LEAT_TOP_KEY_REDRAW)
            leat_screen_resize(&top->screen);
        else
            leat_top_view_take(&top->view, &top->model, key);
    }
}

static void step(struct top *top) {
    struct pollfd items[] = {
        {.fd = top->screen.signals, .events = POLLIN},
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = top->source.subscription.fd, .events = POLLIN},
    };
    int n = poll(items, 3, top->is_away ? AWAY_MS : -1), number;

    if (items[0].revents)
        while ((number = leat_screen_signal(&top->screen)) != 0)
            take_signal(top, number);
    if (items[1].revents && !top->has_ended)
        take_keys(top);
    if (n == 0)
        come_back(top);
    else if (!top->has_ended && items[2].revents)
        take_sample(top);
}

static int show(struct top *top, const struct leat_cli_arguments *arguments,
                struct leat_error *err) {
    int status = leat_top_source_open(&top->source, interval_ms(arguments),
                                      LEAT_CLI_CONTROL_TIMEOUT_MS, err);

    if (status == LEAT_CLI_OK)
        status = next_sample(top, err); /* what is refused is told before the screen is taken */
    if (status != LEAT_CLI_OK)
        return status;
    top->source.answer_ms = ANSWER_MS;
    top->view.has_colour = leat_cli_terminal_has_colour(stdout);
    if (leat_screen_open(&top->screen, err) < 0)
        status = LEAT_CLI_FAILURE;
    for (; status == LEAT_CLI_OK && !top->has_ended; step(top))
        draw(top);
    leat_screen_close(&top->screen);
    return status == LEAT_CLI_OK ? top->status : status;
}

static int top_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct top *top = calloc(1, sizeof(*top));
    bool is_plain = arguments->once || arguments->json || !leat_cli_terminal_has_screen();
    int status;

    if (!top) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    (void)setlocale(LC_CTYPE, ""); /* which characters of names the terminal can show */
    top->screen.signals = -1;
    status = is_plain ? print(top, arguments, err) : show(top, arguments, err);
    leat_top_source_close(&top->source);
    leat_top_model_deinit(&top->model);
    leat_top_sample_deinit(&top->now);
    leat_top_sample_deinit(&top->before);
    free(top);
    return status;
}

static const struct leat_cli_option top_options[] = {
    LEAT_CLI_OPTION(NUMBER, "interval", interval, "seconds between two updates (default 1)",
                    .value = "S", .min = 1, .max = 60),
    LEAT_CLI_OPTION(FLAG, "once", once, "print once after one interval, and exit"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_top_command = {
    .name = "top",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "watch streams, stages and trainers at work",
    .description =
        "Shows the daemon live: workers, CPUs and memory; the streams with their speed and\n"
        "waiting times; the load of each stage; and the trainers, with what they wait for. It\n"
        "fits terminals of any size. If the terminal has at least 80x24 characters, it shows\n"
        "all tables at once.\n"
        "\n"
        "Press tab for the next table, arrows to choose a stream or to scroll, s to change the\n"
        "sort order, ? to see what the columns mean, and q to quit. Without a terminal it\n"
        "prints once, as with --once. --json prints one line per interval, and --json --once\n"
        "prints one line and ends.",
    .examples = "  leatctl top\n"
                "  leatctl top --once\n"
                "  leatctl top --json --interval 10 | jq -c '.streams[] | [.name, "
                ".batches_per_s]'\n",
    .asks_daemon = true,
    .options = top_options,
    .run = top_main,
};
