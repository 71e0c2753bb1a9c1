/* log_reference.c: see log_reference.h and systemd's "Message Catalogs". */
#include "daemon/log/log_reference.h"

#include <errno.h>
#include <string.h>

#include "daemon/log/event.h"

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
        (void)fputs("# What leatd logs\n\nTo find an event in the journal, use its id or its name: "
                    "`journalctl -u leatd LEAT_EVENT=NAME`.\n\n| event | level | room | what it "
                    "says, and what to do | MESSAGE_ID |\n| --- | --- | --- | --- | --- |\n",
                    file);
    for (int i = 0; i < LEAT_N_EVENTS; i++)
        print[form](&leat_log_events[i], file);
}
