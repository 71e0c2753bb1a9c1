/* protocol.h: the reference of the control protocol: what its messages are is taken from what the
 * program is compiled with, whose right a verb is from its table, and what it means from the
 * comments of leat.proto. */
#pragma once

#include "pipeline/plan/render.h"

void leat_cli_protocol_markdown(struct leat_text *text);
void leat_cli_protocol_json(struct leat_text *text);
