/* files_config.c: see files_config.h. */
#include "pipeline/tokenizer/files_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/component.h"

#define LONG_DIGITS 20 /* of integers that need not fit into 64 bits */

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
    int r = 0;

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

/* The end of the string that begins at `at`, or `end`. */
static char *skip_string(char *at, const char *end) {
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end)
            at++;
    return at < end ? at + 1 : at;
}

/* The end of the number that has a digit at `at`; it becomes 0 if it is an integer of that many
 * digits. */
static char *tame_number(char *at, const char *end) {
    char *start = at;
    bool is_integer = true;

    for (; at < end && *at != '\0' && strchr("0123456789+-.eE", *at); at++)
        is_integer = is_integer && *at >= '0' && *at <= '9';
    if (is_integer && *start != '0' && at - start >= LONG_DIGITS) {
        memset(start, ' ', (size_t)(at - start));
        *start = '0';
    }
    return at;
}

/* A copy of the text, in which integers that are too large for JSON's reader are 0: transformers
 * writes 1000000000000000019884624838656 as the `model_max_length` of a model without one, and
 * nothing that is read here can be as large. Or NULL. */
static char *tame_integers(const char *text, size_t n) {
    char *copy = malloc(n + 1), *at = copy;
    const char *end = copy + n;

    if (!copy)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    while (at < end) {
        if (*at == '"')
            at = skip_string(at, end);
        else if (*at >= '0' && *at <= '9')
            at = tame_number(at, end);
        else
            at++;
    }
    return copy;
}

static int parse(struct leat_json *json, const char *text, size_t n, const char *file,
                 struct leat_files_config *config, struct leat_error *err) {
    struct leat_document document = {.data = text, .n_bytes = n, .file = file};
    struct leat_component root;
    struct leat_json_node node;
    int r = leat_json_parse(json, text, n, n, &node, err);

    if (r < 0) {
        leat_error_locate(err, file, 0, 0);
        return r;
    }
    root = leat_component_root(&document, node);
    return read_config(&root, config, err);
}

int leat_files_config_parse(const char *text, size_t n, const char *file,
                            struct leat_files_config *config, struct leat_error *err) {
    char *tamed = tame_integers(text, n);
    struct leat_json *json = NULL;
    int r = tamed && leat_json_new(n, &json) == 0 ? 0 : leat_error_oom(err);

    if (r == 0)
        r = parse(json, tamed, n, file, config, err);
    leat_json_free(json);
    free(tamed);
    return r;
}
