/* reference.h: what there is to know of the daemon that stands in its tables: settings, events of
 * its log, metrics. As JSON: the manual pages are made of it. */
#pragma once

#include "proto/base/text.h"

void leat_reference_json(struct leat_text *text);
