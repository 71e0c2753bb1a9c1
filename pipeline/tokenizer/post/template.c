/* template.c: see template.h.
 *
 * A template is a list of pieces, {"Sequence": {"id": "A" or "B", "type_id"}} and {"SpecialToken":
 * {"id", "type_id"}}; what ids a special token stands for is in the map `special_tokens`. HF finds
 * out at encode that a special token is not in the map or that `single` asks for a second text, and
 * stops the program; here the file is refused.
 */
#include "pipeline/tokenizer/post/template.h"

#include <string.h>

#include "pipeline/tokenizer/post/layout.h"

struct template {
    struct leat_component special_tokens;
    bool is_pair;
    struct leat_post_layout *layouts; /* [adds_special_tokens] */
};

static int push(struct leat_post_layout *layout, struct leat_post_item item,
                const struct leat_component *piece, struct leat_error *err) {
    int r = leat_post_layout_push(layout, item, err);

    return r < 0 ? leat_component_place(piece, err) : 0;
}

static int read_text(struct template *template, const struct leat_component *piece,
                     struct leat_error *err) {
    static const char *const names[] = {"A", "B", NULL};
    struct leat_post_item item;
    uint64_t type_id;
    int choice, r;

    r = leat_component_choice(piece, "id", names, -1, &choice, err);
    if (r == 0)
        r = leat_component_uint(piece, "type_id", -1, UINT32_MAX, &type_id, err);
    if (r < 0)
        return r;
    if (choice == 1 && !template->is_pair)
        return leat_component_error(piece, err, "text B in the layout of a single text");
    item = (struct leat_post_item){.id = choice ? LEAT_POST_SECOND : LEAT_POST_FIRST,
                                   .type_id = (uint32_t)type_id,
                                   .overflow_type_id = (uint32_t)choice};
    for (int adds = 0; adds < 2 && r == 0; adds++)
        r = push(&template->layouts[adds], item, piece, err);
    return r;
}

static int push_ids(struct template *template, const struct leat_component *ids, uint32_t type_id,
                    struct leat_error *err) {
    struct leat_component_iterator iterator;
    struct leat_component id;
    int r = 0;

    leat_component_iterate(ids, &iterator);
    while (r == 0 && leat_component_next(&iterator, &id)) {
        int64_t value = leat_json_kind(id.node) == LEAT_JSON_INT ? leat_json_int(id.node) : -1;
        if (value < 0 || value > INT32_MAX)
            return leat_component_error(&id, err, "must be an integer in 0..%d", INT32_MAX);
        r = push(&template->layouts[1],
                 (struct leat_post_item){
                     .id = (int32_t)value, .type_id = type_id, .overflow_type_id = type_id},
                 &id, err);
    }
    return r;
}

static int read_special(struct template *template, const struct leat_component *piece,
                        struct leat_error *err) {
    struct leat_component special, ids;
    uint64_t type_id = 0;
    const char *name;
    size_t n_name;
    int r;

    r = leat_component_string(piece, "id", NULL, &name, &n_name, err);
    if (r == 0)
        r = leat_component_uint(piece, "type_id", -1, UINT32_MAX, &type_id, err);
    if (r < 0)
        return r;
    if (strlen(name) != n_name || !leat_component_get(&template->special_tokens, name, &special))
        return leat_component_error(piece, err, "\"%.64s\" is not among `special_tokens`", name);
    r = leat_component_child(&special, "ids", LEAT_JSON_ARRAY, &ids, err);
    return r < 0 ? r : push_ids(template, &ids, (uint32_t)type_id, err);
}

static int read_piece(struct template *template, const struct leat_component *piece,
                      struct leat_error *err) {
    struct leat_component inner;

    if (leat_component_get(piece, "Sequence", &inner))
        return read_text(template, &inner, err);
    if (leat_component_get(piece, "SpecialToken", &inner))
        return read_special(template, &inner, err);
    return leat_component_error(piece, err,
                                "must be {\"Sequence\": ...} or {\"SpecialToken\": ...}");
}

static int read_template(struct template *template, const struct leat_component *component,
                         const char *key, struct leat_error *err) {
    struct leat_component_iterator iterator;
    struct leat_component pieces, piece;
    int r = leat_component_child(component, key, LEAT_JSON_ARRAY, &pieces, err);

    if (r < 0)
        return r;
    for (int adds = 0; adds < 2; adds++)
        leat_post_layout_clear(&template->layouts[adds]);
    leat_component_iterate(&pieces, &iterator);
    while (r == 0 && leat_component_next(&iterator, &piece))
        r = read_piece(template, &piece, err);
    return r;
}

int leat_post_template_read(const struct leat_component *component, struct leat_post *post,
                            struct leat_error *err) {
    static const char *const keys[] = {"single", "pair"};
    struct template template = {.is_pair = false};
    int r = leat_component_child(component, "special_tokens", LEAT_JSON_OBJECT,
                                 &template.special_tokens, err);

    for (int is_pair = 0; is_pair < 2 && r == 0; is_pair++) {
        template.is_pair = is_pair;
        template.layouts = post->layouts[is_pair];
        r = read_template(&template, component, keys[is_pair], err);
    }
    return r;
}
