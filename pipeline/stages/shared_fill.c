#include "pipeline/stages/shared_fill.h"

#include <string.h>

#include "pipeline/stages/tokenize/tokenize.h"
#include "pipeline/tokenizer/tokenizer.h"

int leat_fill_number(const struct leat_config *config, const char *arg,
                     const struct leat_token_value *value, const struct leat_field *field,
                     double *ret_number, struct leat_error *err) {
    const struct leat_tokenize *tokenize = (const struct leat_tokenize *)field->tokenizer;
    int32_t id;

    *ret_number = value->number;
    if (!value->name)
        return 0;
    if (!tokenize || !tokenize->tokenizer)
        return leat_config_error(
            config, arg, err,
            "\"%.64s\" is a token's name, but no `tokenizer` made \"%s\": give "
            "a number",
            value->name, field->name);
    id = leat_tokenizer_id(tokenize->tokenizer, value->name, strlen(value->name));
    if (id < 0)
        return leat_config_error(config, arg, err, "the tokenizer of \"%s\" has no token \"%.64s\"",
                                 field->name, value->name);
    *ret_number = (double)id;
    return 0;
}
