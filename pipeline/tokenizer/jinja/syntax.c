#include "pipeline/tokenizer/jinja/syntax.h"

bool leat_jinja_find_symbol(const struct leat_jinja_template *template, const char *name,
                            size_t n_bytes, uint32_t *ret_symbol) {
    for (size_t i = 0; i < template->n_symbols; i++)
        if (leat_jinja_equals_text(&template->symbols[i].name, name, n_bytes)) {
            *ret_symbol = (uint32_t)i;
            return true;
        }
    return false;
}
