/* reference.h: the daemon's tables of settings, events and metrics as JSON, from which the manual
 * pages are made; and its events for operators. */
#pragma once

#include <stdio.h>

#include "proto/base/text.h"

void leat_reference_json(struct leat_text *text);

enum leat_reference_form {
    LEAT_REFERENCE_TEXT,
    LEAT_REFERENCE_MARKDOWN,
    LEAT_REFERENCE_CATALOG, /* of systemd: journalctl(1), --update-catalog */
    LEAT_N_REFERENCE_FORMS
};

/* -EINVAL: there is no form of that name. */
int leat_reference_form(const char *name);

/* Prints all events (log_events.def), with advice for operators: as text, as Markdown, or as a
 * catalog of the journal (`journalctl -x`). */
void leat_log_reference_print(enum leat_reference_form form, FILE *file);
