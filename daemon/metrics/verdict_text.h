/* verdict_text.h: a verdict for people, and for programs. */
#pragma once

#include "daemon/metrics/verdict.h"
#include "proto/base/text.h"

/* Writes one line without a line end: what bounds the stream, and which trainer waits for which. */
void leat_verdict_line(const struct leat_verdict_facts *facts, const struct leat_verdict *verdict,
                       struct leat_text *text);
/* Lines of at most 100 columns, but for names. */
void leat_verdict_text(const char *stream, const struct leat_verdict_facts *facts,
                       const struct leat_verdict *verdict, struct leat_text *text);
/* Writes members of an open object; unknown values are null. */
void leat_verdict_json(struct leat_text *json, const char *stream,
                       const struct leat_verdict_facts *facts, const struct leat_verdict *verdict);
