/* post.c: the types of post-processors, each flattened to layouts. See post.h.
 *
 * A Sequence may hold any number of ByteLevel, which only trim offsets, and one processor that
 * gives a layout; several of those would have to be run one after the other.
 */
#include "pipeline/tokenizer/post/post.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

/* 0, -ENOMEM, -E2BIG above LEAT_POST_ITEMS_MAX or LEAT_POST_TEXTS_MAX. */
static int push_item(struct leat_post_layout *layout, struct leat_post_item item,
                     struct leat_error *err) {
    if (layout->n_items == LEAT_POST_ITEMS_MAX)
        return leat_error_set(err, -E2BIG, "has more than %d items", LEAT_POST_ITEMS_MAX);
    if (item.id < 0 && layout->n_texts == LEAT_POST_TEXTS_MAX)
        return leat_error_set(err, -E2BIG, "uses its texts more than %d times",
                              LEAT_POST_TEXTS_MAX);
    if (!leat_array_reserve(&layout->items, layout->n_items + 1, &layout->capacity))
        return leat_error_oom(err);
    layout->items[layout->n_items++] = item;
    layout->n_texts += item.id < 0;
    layout->n_added += item.id >= 0;
    return 0;
}

static void clear_layout(struct leat_post_layout *layout) {
    free(layout->items);
    *layout = (struct leat_post_layout){.items = NULL};
}

/* ---- BertProcessing, RobertaProcessing, ByteLevel */

/* A layout as a string: 'c' and 's' are the special tokens, 'A' and 'B' the texts. */
struct fixed_layout {
    const char *items[2];  /* [is_pair] */
    const char *types[2];  /* digit by digit */
    bool sets_text_types;  /* even where no special tokens are added */
    bool overflow_is_zero; /* or as of the plain texts */
};

static const struct fixed_layout bert = {{"cAs", "cAsBs"}, {"000", "00011"}, false, false};
static const struct fixed_layout roberta = {{"cAs", "cAssBs"}, {"000", "000000"}, true, true};

static int fill(struct leat_post_layout *layout, const char *items, const char *types,
                const int32_t ids[2], bool overflow_is_zero, struct leat_error *err) {
    int r = 0;

    clear_layout(layout);
    for (size_t i = 0; items[i] && r == 0; i++) {
        struct leat_post_item item = {.type_id = (uint32_t)(types[i] - '0')};
        bool is_text = items[i] == 'A' || items[i] == 'B';
        item.id = items[i] == 'A'   ? LEAT_POST_FIRST
                  : items[i] == 'B' ? LEAT_POST_SECOND
                                    : ids[items[i] == 's'];
        item.overflow_type_id = is_text ? items[i] == 'B' && !overflow_is_zero : item.type_id;
        r = push_item(layout, item, err);
    }
    return r;
}

static int fill_fixed(struct leat_post *post, const struct fixed_layout *fixed,
                      const int32_t ids[2], struct leat_error *err) {
    static const char *const plain[] = {"A", "AB"};
    int r = 0;

    for (int is_pair = 0; is_pair < 2 && r == 0; is_pair++) {
        r = fill(&post->layouts[is_pair][0], plain[is_pair], fixed->sets_text_types ? "00" : "01",
                 ids, false, err);
        if (r == 0)
            r = fill(&post->layouts[is_pair][1], fixed->items[is_pair], fixed->types[is_pair], ids,
                     fixed->overflow_is_zero, err);
    }
    return r;
}

/* Without a post-processor: one text after the other. */
static int fill_plain(struct leat_post *post, struct leat_error *err) {
    static const struct fixed_layout plain = {{"A", "AB"}, {"0", "01"}, false, false};

    return fill_fixed(post, &plain, (const int32_t[2]){0, 0}, err);
}

/* `key`: [text, id] */
static int read_special(const struct leat_component *component, const char *key, int32_t *ret_id,
                        struct leat_error *err) {
    struct leat_component_iterator iterator;
    struct leat_component array, text, id, more;
    int r = leat_component_child(component, key, LEAT_JSON_ARRAY, &array, err);
    int64_t value;

    if (r < 0)
        return r;
    leat_component_iterate(&array, &iterator);
    if (!leat_component_next(&iterator, &text) || !leat_component_next(&iterator, &id) ||
        leat_component_next(&iterator, &more) || leat_json_kind(text.node) != LEAT_JSON_STRING ||
        leat_json_kind(id.node) != LEAT_JSON_INT)
        return leat_component_error(&array, err, "must be [token, id]");
    value = leat_json_int(id.node);
    if (value < 0 || value > INT32_MAX)
        return leat_component_error(&id, err, "is %lld, which is outside 0..%d", (long long)value,
                                    INT32_MAX);
    *ret_id = (int32_t)value;
    return 0;
}

static int read_trim(const struct leat_component *component, struct leat_post *post,
                     struct leat_error *err) {
    bool trims, leaves_first;
    int r = leat_component_bool(component, "trim_offsets", -1, &trims, err);

    if (r == 0)
        r = leat_component_bool(component, "add_prefix_space", -1, &leaves_first, err);
    if (r < 0 || !trims)
        return r;
    if (post->n_trims == LEAT_POST_TRIMS_MAX)
        return leat_component_error(component, err, "trims offsets more than %d times",
                                    LEAT_POST_TRIMS_MAX);
    post->trim_leaves_first[post->n_trims++] = leaves_first;
    return 0;
}

/* BertProcessing and RobertaProcessing: HF tells them apart by their fields, not by `type`. */
static int read_cls_sep(const struct leat_component *component, struct leat_post *post,
                        struct leat_error *err) {
    struct leat_component trim, prefix;
    bool is_roberta = leat_component_get(component, "trim_offsets", &trim) &&
                      leat_component_get(component, "add_prefix_space", &prefix);
    int32_t ids[2];
    int r;

    r = read_special(component, "cls", &ids[0], err);
    if (r == 0)
        r = read_special(component, "sep", &ids[1], err);
    if (r == 0 && is_roberta)
        r = read_trim(component, post, err);
    return r < 0 ? r : fill_fixed(post, is_roberta ? &roberta : &bert, ids, err);
}

/* ---- TemplateProcessing
 *
 * A template is a list of pieces, {"Sequence": {"id": "A" or "B", "type_id"}} and {"SpecialToken":
 * {"id", "type_id"}}; what ids a special token stands for is in the map `special_tokens`. HF finds
 * out at encode that a special token is not in the map or that `single` asks for a second text, and
 * stops the program; here the file is refused.
 */

struct template {
    struct leat_component special_tokens;
    bool is_pair;
    struct leat_post_layout *layouts; /* [adds_special_tokens] */
};

static int push_at(struct leat_post_layout *layout, struct leat_post_item item,
                   const struct leat_component *piece, struct leat_error *err) {
    int r = push_item(layout, item, err);

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
        return leat_component_error(piece, err,
                                    "`single` has only the text A, so it cannot contain a text B");
    item = (struct leat_post_item){.id = choice ? LEAT_POST_SECOND : LEAT_POST_FIRST,
                                   .type_id = (uint32_t)type_id,
                                   .overflow_type_id = (uint32_t)choice};
    for (int adds = 0; adds < 2 && r == 0; adds++)
        r = push_at(&template->layouts[adds], item, piece, err);
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
        r = push_at(&template->layouts[1],
                    (struct leat_post_item){
                        .id = (int32_t)value, .type_id = type_id, .overflow_type_id = type_id},
                    &id, err);
    }
    return r;
}

static int read_special_piece(struct template *template, const struct leat_component *piece,
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
        return read_special_piece(template, &inner, err);
    return leat_component_error(piece, err,
                                "must be {\"Sequence\": ...} or {\"SpecialToken\": ...}");
}

static int read_pieces(struct template *template, const struct leat_component *component,
                       const char *key, struct leat_error *err) {
    struct leat_component_iterator iterator;
    struct leat_component pieces, piece;
    int r = leat_component_child(component, key, LEAT_JSON_ARRAY, &pieces, err);

    if (r < 0)
        return r;
    for (int adds = 0; adds < 2; adds++)
        clear_layout(&template->layouts[adds]);
    leat_component_iterate(&pieces, &iterator);
    while (r == 0 && leat_component_next(&iterator, &piece))
        r = read_piece(template, &piece, err);
    return r;
}

static int read_template(const struct leat_component *component, struct leat_post *post,
                         struct leat_error *err) {
    static const char *const keys[] = {"single", "pair"};
    struct template template = {.is_pair = false};
    int r = leat_component_child(component, "special_tokens", LEAT_JSON_OBJECT,
                                 &template.special_tokens, err);

    for (int is_pair = 0; is_pair < 2 && r == 0; is_pair++) {
        template.is_pair = is_pair;
        template.layouts = post->layouts[is_pair];
        r = read_pieces(&template, component, keys[is_pair], err);
    }
    return r;
}

/* ---- all types */

struct reading {
    struct leat_post *post;
    bool has_layout;
};

static int read_processor(const struct leat_component *component, struct reading *reading,
                          struct leat_error *err);

static int read_sequence(const struct leat_component *component, struct reading *reading,
                         struct leat_error *err) {
    struct leat_component_iterator iterator;
    struct leat_component array, item;
    int r = leat_component_child(component, "processors", LEAT_JSON_ARRAY, &array, err);

    if (r < 0)
        return r;
    leat_component_iterate(&array, &iterator);
    while (r == 0 && leat_component_next(&iterator, &item))
        r = read_processor(&item, reading, err);
    return r;
}

static const struct processor_type {
    const char *name;
    bool gives_layout;
    int (*read)(const struct leat_component *component, struct leat_post *post,
                struct leat_error *err);
} types[] = {
    {"ByteLevel", false, read_trim},
    {"BertProcessing", true, read_cls_sep},
    {"RobertaProcessing", true, read_cls_sep},
    {"TemplateProcessing", true, read_template},
};

static void describe_type(struct leat_post *post, const char *name) {
    size_t used = strlen(post->description);

    (void)snprintf(post->description + used, sizeof(post->description) - used, "%s%s",
                   used ? ", " : "", name);
}

static int read_processor(const struct leat_component *component, struct reading *reading,
                          struct leat_error *err) {
    const char *name;
    int r = leat_component_type(component, &name, err);

    if (r < 0)
        return r;
    if (strcmp(name, "Sequence") == 0)
        return read_sequence(component, reading, err);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (strcmp(name, types[i].name) != 0)
            continue;
        if (types[i].gives_layout && reading->has_layout)
            return leat_component_error(
                component, err, "a second processor adds tokens, but leat supports only one");
        reading->has_layout |= types[i].gives_layout;
        describe_type(reading->post, name);
        return types[i].read(component, reading->post, err);
    }
    return leat_component_error(component, err,
                                "is \"%.64s\", but must be one of BertProcessing, ByteLevel, "
                                "RobertaProcessing, Sequence, TemplateProcessing",
                                name);
}

/* " (101 A 102; pair: 101 A 102 B:1 102:1)" */
static void describe_layout(const struct leat_post_layout *layout, char *text, size_t size) {
    size_t used = 0;

    for (size_t i = 0; i < layout->n_items && used < size; i++) {
        const struct leat_post_item *item = &layout->items[i];
        char name[16], type[16] = "";
        if (item->id >= 0)
            (void)snprintf(name, sizeof(name), "%d", item->id);
        else
            (void)snprintf(name, sizeof(name), "%c", item->id == LEAT_POST_FIRST ? 'A' : 'B');
        if (item->type_id)
            (void)snprintf(type, sizeof(type), ":%u", item->type_id);
        used += (size_t)snprintf(text + used, size - used, "%s%s%s", i ? " " : "", name, type);
    }
}

static void describe(struct leat_post *post) {
    char single[96] = "", pair[96] = "";
    size_t used = strlen(post->description);

    if (!used)
        describe_type(post, "none");
    used = strlen(post->description);
    describe_layout(&post->layouts[0][1], single, sizeof(single));
    describe_layout(&post->layouts[1][1], pair, sizeof(pair));
    (void)snprintf(post->description + used, sizeof(post->description) - used, " (%s; pair: %s)",
                   single, pair);
}

int leat_post_new(const struct leat_component *component, struct leat_post **ret_post,
                  struct leat_error *err) {
    struct reading reading = {.post = calloc(1, sizeof(*reading.post))};
    int r;

    if (!reading.post)
        return leat_error_oom(err);
    r = fill_plain(reading.post, err);
    if (r == 0 && component)
        r = read_processor(component, &reading, err);
    if (r < 0) {
        leat_post_free(reading.post);
        return r;
    }
    describe(reading.post);
    *ret_post = reading.post;
    return 0;
}

struct leat_post *leat_post_free(struct leat_post *post) {
    if (!post)
        return NULL;
    for (int i = 0; i < 4; i++)
        clear_layout(&post->layouts[i / 2][i % 2]);
    free(post);
    return NULL;
}
