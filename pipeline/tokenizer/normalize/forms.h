/* forms.h: the normalization forms as rewritings of a text. */
#pragma once

#include "pipeline/tokenizer/normalize/step.h"
#include "pipeline/tokenizer/unicode/form.h"

/* 0, -ENOMEM, -E2BIG. */
int leat_form_run(enum leat_form form, struct leat_normalize_step_memory *memory,
                  struct leat_text_view *text);
