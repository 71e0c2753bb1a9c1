#include "pipeline/stages/shared_text_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int set_literal(struct leat_text_piece *piece, const char *text, size_t n) {
    piece->literal = calloc(1, (n / LEAT_TEXT_LITERAL_STEP + 1) * LEAT_TEXT_LITERAL_STEP);
    if (!piece->literal)
        return -ENOMEM;
    memcpy(piece->literal, text, n);
    piece->n_literal = (uint32_t)n;
    return 0;
}

int leat_text_part_literal(struct leat_text_part *part, const char *text) {
    part->pieces = calloc(1, sizeof(*part->pieces));
    if (!part->pieces)
        return -ENOMEM;
    part->n_pieces = 1;
    part->pieces[0].column = -1;
    return set_literal(&part->pieces[0], text, strlen(text));
}

/* Copies a literal up to a lone '{' or '}' or the end, and resolves doubled braces. Returns where
 * it ended. */
static const char *read_literal(const char *at, char *literal, size_t *n) {
    *n = 0;
    while (*at) {
        if ((*at == '{' || *at == '}') && at[1] != *at)
            break;
        at += *at == '{' || *at == '}';
        literal[(*n)++] = *at++;
    }
    return at;
}

/* The name of the field in the schema. */
static const char *resolve(const struct leat_text_map *names, const char *name) {
    for (size_t i = 0; names && i < names->n_items; i++)
        if (strcmp(names->keys[i], name) == 0)
            return names->values[i];
    return name;
}

static int find_field(const struct leat_config *config, const char *arg, const char *name, size_t n,
                      const struct leat_text_map *names, struct leat_planner *planner,
                      int32_t *ret_column, struct leat_error *err) {
    const struct leat_field *field;
    char copy[LEAT_NAME_MAX + 1];
    uint32_t column;
    int r;

    if (n == 0 || n > LEAT_NAME_MAX)
        return leat_config_error(config, arg, err,
                                 "the name of a field may have 1 to %d bytes; this one has %zu",
                                 LEAT_NAME_MAX, n);
    memcpy(copy, name, n);
    copy[n] = '\0';
    r = leat_planner_find(planner, config, arg, resolve(names, copy), &column, err);
    if (r < 0)
        return r;
    field = leat_planner_field(planner, column);
    if (field->is_list && field->dtype != LEAT_DTYPE_TEXT)
        return leat_config_error(config, arg, err,
                                 "\"%s\" is a list, but a text can contain only texts and numbers",
                                 resolve(names, copy));
    *ret_column = (int32_t)column;
    return 0;
}

int leat_text_part_compile(struct leat_text_part *part, const struct leat_config *config,
                           const char *arg, size_t index, const char *text,
                           const struct leat_text_map *names, struct leat_planner *planner,
                           struct leat_error *err) {
    const char *at = text;
    char *literal = malloc(strlen(text) + 1);
    int r = literal ? 0 : leat_error_oom(err);

    part->pieces = calloc(strlen(text) + 1, sizeof(*part->pieces));
    if (!part->pieces && r == 0)
        r = leat_error_oom(err);
    while (r == 0) {
        struct leat_text_piece *piece = &part->pieces[part->n_pieces++];
        const char *close;
        size_t n;

        piece->column = -1;
        at = read_literal(at, literal, &n);
        r = set_literal(piece, literal, n) < 0 ? leat_error_oom(err) : 0;
        if (r < 0 || *at == '\0')
            break;
        close = *at == '{' ? strchr(at, '}') : NULL;
        if (!close)
            r = leat_config_error(config, arg, err,
                                  "part %zu has a single '%c': write '%c%c' for a brace", index,
                                  *at, *at, *at);
        else
            r = find_field(config, arg, at + 1, (size_t)(close - at - 1), names, planner,
                           &piece->column, err);
        at = close ? close + 1 : at;
        if (*at == '\0')
            break;
    }
    free(literal);
    return r;
}

void leat_text_part_deinit(struct leat_text_part *part) {
    for (size_t i = 0; i < part->n_pieces; i++)
        free(part->pieces[i].literal);
    free(part->pieces);
}

size_t leat_text_part_n_literal(const struct leat_text_part *part) {
    size_t n = 0;

    for (size_t i = 0; i < part->n_pieces; i++)
        n += part->pieces[i].n_literal;
    return n;
}
