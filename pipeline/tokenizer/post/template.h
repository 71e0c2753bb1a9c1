/* template.h: TemplateProcessing. Owner: the thread that loads. */
#pragma once

#include "pipeline/tokenizer/post.h"

/* Replaces the layouts by those of a TemplateProcessing. 0 or a negative errno with err placed. */
int leat_post_template_read(const struct leat_component *component, struct leat_post *post,
                            struct leat_error *err);
