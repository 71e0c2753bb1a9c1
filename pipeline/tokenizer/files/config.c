#include "pipeline/tokenizer/files/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/component.h"

void leat_files_config_deinit(struct leat_files_config *config) {
    free(config->pad_token);
    config->pad_token = NULL;
}

/* A string, or an object whose `content` is one. */
static int read_pad_token(const struct leat_component *root, char **ret_token,
                          struct leat_error *err) {
    struct leat_component token;
    const char *text;
    size_t n;
    int r;

    if (!leat_component_get(root, "pad_token", &token))
        return 0;
    if (leat_json_kind(token.node) == LEAT_JSON_OBJECT)
        r = leat_component_string(&token, "content", NULL, &text, &n, err);
    else
        r = leat_component_string(root, "pad_token", NULL, &text, &n, err);
    if (r < 0)
        return r;
    *ret_token = strndup(text, n);
    return *ret_token ? 0 : leat_error_oom(err);
}

static int read_config(const struct leat_component *root, struct leat_files_config *config,
                       struct leat_error *err) {
    struct leat_component child;
    bool strips = false;
    int r;

    if (leat_json_kind(root->node) != LEAT_JSON_OBJECT)
        return leat_component_error(root, err, "must be an object");
    r = leat_component_bool(root, "do_lower_case", true, &config->lowercase, err);
    if (r == 0)
        r = leat_component_bool(root, "tokenize_chinese_chars", true, &config->spaces_chinese, err);
    if (r == 0)
        r = leat_component_bool(root, "add_prefix_space", false, &config->adds_prefix_space, err);
    if (r == 0)
        r = leat_component_bool(root, "strip_accents", false, &strips, err);
    if (r == 0 && leat_component_get(root, "strip_accents", &child))
        config->strip_accents = strips;
    return r < 0 ? r : read_pad_token(root, &config->pad_token, err);
}

/* Parsed as a record, whose numbers may be of any size: transformers writes
 * 1000000000000000019884624838656 as the `model_max_length` of a model without one. */
int leat_files_config_parse(const char *text, size_t n, const char *file,
                            struct leat_files_config *config, struct leat_error *err) {
    struct leat_document document = {.data = text, .n_bytes = n, .file = file};
    struct leat_component root;
    struct leat_json_node node;
    struct leat_json *json;
    int r;

    if (leat_json_new(n, &json) < 0)
        return leat_error_oom(err);
    r = leat_json_parse_record(json, text, n, n, &node, err);
    if (r == 0) {
        root = leat_component_root(&document, node);
        r = read_config(&root, config, err);
    }
    if (r < 0)
        leat_error_locate(err, file, 0, 0);
    leat_json_free(json);
    return r;
}
