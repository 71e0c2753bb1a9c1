/* stats.h: what the tuners of a stream chose, and why: as text, and as JSON. */
#pragma once

#include "proto/base/text.h"
#include "proto/leat.pb-c.h"

void leat_cli_tuner_text(struct leat_text *text, const Leat__StreamStats *stats);
/* "tuners": [..], without braces. */
void leat_cli_tuner_json(struct leat_text *json, const Leat__StreamStats *stats);
