/* reference.h: the daemon's tables of settings, events and metrics as JSON, from which the manual
 * pages are made. */
#pragma once

#include "proto/base/text.h"

void leat_reference_json(struct leat_text *text);
