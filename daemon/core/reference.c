#include "daemon/core/reference.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/settings.h"
#include "daemon/log/event.h"
#include "daemon/log/log.h"
#include "daemon/metrics/metrics.h"
#include "pipeline/spec/arg_json.h"
#include "proto/base/json_writer.h"

static void add_settings(struct leat_text *json) {
    leat_json_line(json);
    leat_args_json(json, "settings", leat_settings_args);
    leat_json_line(json);
    leat_json_add_texts(json, "at_start", leat_settings_at_start);
}

static void add_events(struct leat_text *json) {
    leat_json_line(json);
    leat_json_open(json, "events", '[');
    for (size_t i = 0; i < LEAT_N_EVENTS; i++) {
        const struct leat_log_event *event = &leat_log_events[i];

        leat_json_line(json);
        leat_json_open(json, NULL, '{');
        leat_json_add_text(json, "name", event->name);
        leat_json_add_text(json, "room", leat_log_room_name(event->room));
        leat_json_add_text(json, "level", leat_log_level_name(event->level));
        leat_json_add_text(json, "id", event->id);
        leat_json_add_text(json, "message", event->message);
        leat_json_add_text(json, "advice", event->advice);
        leat_json_close(json, '}');
    }
    leat_json_close(json, ']');
}

static void add_metric(struct leat_text *json, const char *name, const char *scope,
                       const char *kind, const char *member, const char *help) {
    leat_json_line(json);
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", name);
    leat_json_add_text(json, "scope", scope);
    leat_json_add_text(json, "kind", kind);
    leat_json_add_text(json, "member", member);
    leat_json_add_text(json, "help", help);
    leat_json_close(json, '}');
}

static void add_figures(struct leat_text *json, const struct leat_figure *table,
                        const char *scope) {
    for (const struct leat_figure *figure = table; figure->member; figure++) {
        struct leat_text name = {.data = NULL};

        if (!leat_figure_is_first(figure))
            continue;
        leat_metrics_name(&name, figure);
        add_metric(json, name.data, scope,
                   figure->kind == LEAT_FIGURE_COUNTER ? "counter" : "gauge", figure->member,
                   figure->help);
        free(name.data);
    }
}

static void add_metrics(struct leat_text *json) {
    leat_json_line(json);
    leat_json_open(json, "metrics", '[');
    add_metric(json, LEAT_METRICS_BUILD_INFO, "daemon", "gauge", NULL,
               LEAT_METRICS_BUILD_INFO_HELP);
    add_figures(json, leat_daemon_figure_table, "daemon");
    add_figures(json, leat_stream_figure_table, "stream");
    add_figures(json, leat_stage_figure_table, "stage");
    for (size_t i = 0; i < LEAT_N_SPREADS; i++) {
        struct leat_text name = {.data = NULL};

        leat_metrics_spread_name(&name, &leat_spread_table[i]);
        add_metric(json, name.data, "stream", "histogram", NULL, leat_spread_table[i].help);
        free(name.data);
    }
    leat_json_close(json, ']');
}

void leat_reference_json(struct leat_text *json) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "version", LEAT_VERSION);
    add_settings(json);
    add_events(json);
    add_metrics(json);
    leat_json_close(json, '}');
    leat_text_add(json, "\n");
}

/* ---- events ---- */

#define TEXT_COLUMNS 78

int leat_reference_form(const char *name) {
    static const char *const names[LEAT_N_REFERENCE_FORMS] = {
        [LEAT_REFERENCE_TEXT] = "text",
        [LEAT_REFERENCE_MARKDOWN] = "markdown",
        [LEAT_REFERENCE_CATALOG] = "catalog",
    };

    for (int i = 0; i < LEAT_N_REFERENCE_FORMS; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -EINVAL;
}

/* Breaks the text into lines of TEXT_COLUMNS at most, each with `before` in front. */
static void print_wrapped(const char *text, const char *before, FILE *file) {
    size_t most = TEXT_COLUMNS - strlen(before);

    while (*text) {
        size_t n = strlen(text);

        if (n > most)
            for (n = most; n > 0 && text[n] != ' '; n--)
                ;
        if (n == 0)
            n = strcspn(text, " ");
        (void)fprintf(file, "%s%.*s\n", before, (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
}

static void print_text(const struct leat_log_event *event, FILE *file) {
    (void)fprintf(file, "%s (%s, room %s, MESSAGE_ID=%s)\n", event->name,
                  leat_log_level_name(event->level), leat_log_room_name(event->room), event->id);
    (void)fprintf(file, "  %s\n", event->message);
    print_wrapped(event->advice, "    ", file);
    (void)fputc('\n', file);
}

static void print_markdown(const struct leat_log_event *event, FILE *file) {
    (void)fprintf(file, "| `%s` | %s | %s | %s. %s | `%s` |\n", event->name,
                  leat_log_level_name(event->level), leat_log_room_name(event->room),
                  event->message, event->advice, event->id);
}

static void print_catalog(const struct leat_log_event *event, FILE *file) {
    (void)fprintf(file,
                  "-- %s\nSubject: %s\nDefined-By: leatd\nDocumentation: man:leat-events(7)\n\n",
                  event->id, event->message);
    print_wrapped(event->advice, "", file);
    (void)fputc('\n', file);
}

void leat_log_reference_print(enum leat_reference_form form, FILE *file) {
    static void (*const print[LEAT_N_REFERENCE_FORMS])(const struct leat_log_event *, FILE *) = {
        [LEAT_REFERENCE_TEXT] = print_text,
        [LEAT_REFERENCE_MARKDOWN] = print_markdown,
        [LEAT_REFERENCE_CATALOG] = print_catalog,
    };

    if (form == LEAT_REFERENCE_MARKDOWN)
        (void)fputs(
            "# Log events of leatd\n\nTo find an event in the journal, use its id or its name: "
            "`journalctl -u leatd LEAT_EVENT=NAME`.\n\n| event | level | room | what it "
            "says, and what to do | MESSAGE_ID |\n| --- | --- | --- | --- | --- |\n",
            file);
    for (int i = 0; i < LEAT_N_EVENTS; i++)
        print[form](&leat_log_events[i], file);
}
