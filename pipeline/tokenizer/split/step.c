/* step.c: a pre-tokenizer as a list of steps, and in words for people. See step.h.
 *
 * A regex that has a scanner becomes that scanner, if the words are those that it gives: matches
 * and what is between them (Isolated), or matches only (Removed and inverted).
 */
#include "pipeline/tokenizer/split/step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/unicode/unicode.h"

static const char *const behavior_names[] = {"Removed",        "Isolated",   "MergedWithPrevious",
                                             "MergedWithNext", "Contiguous", NULL};

static struct leat_split_step *add(struct leat_split_steps *steps,
                                   const struct leat_component *component,
                                   enum leat_split_step_kind kind, struct leat_error *err) {
    if (steps->n == LEAT_SPLIT_STEPS_MAX) {
        (void)leat_component_error(component, err, "the pre-tokenizer has more than %d steps",
                                   LEAT_SPLIT_STEPS_MAX);
        return NULL;
    }
    steps->items[steps->n].kind = kind;
    return &steps->items[steps->n++];
}

static int add_scan(struct leat_split_steps *steps, const struct leat_component *component,
                    const struct leat_scanner *scanner, struct leat_error *err) {
    struct leat_split_step *step = add(steps, component, LEAT_SPLIT_STEP_SCAN, err);

    if (!step)
        return -EINVAL;
    step->scanner = scanner;
    step->scan = leat_scanner_run(scanner);
    return 0;
}

static int set_bytes(struct leat_split_step *step, const char *bytes, size_t n_bytes,
                     struct leat_error *err) {
    step->bytes = calloc(1, n_bytes + 4); /* METASPACE copies 4 at once */
    if (!step->bytes)
        return leat_error_oom(err);
    memcpy(step->bytes, bytes, n_bytes);
    step->n_bytes = (uint32_t)n_bytes;
    return 0;
}

static int add_string(struct leat_split_steps *steps, const struct leat_component *component,
                      const char *bytes, size_t n_bytes, enum leat_split_step_behavior behavior,
                      bool is_inverted, struct leat_error *err) {
    struct leat_split_step *step = add(steps, component, LEAT_SPLIT_STEP_STRING, err);

    if (!step)
        return -EINVAL;
    step->behavior = behavior;
    step->is_inverted = is_inverted;
    return set_bytes(step, bytes, n_bytes, err);
}

static int add_regex(struct leat_split_steps *steps, const struct leat_component *component,
                     const char *pattern, size_t n_bytes, enum leat_split_step_behavior behavior,
                     bool is_inverted, struct leat_error *err) {
    const struct leat_scanner *scanner = NULL;
    struct leat_split_step *step;
    int r;

    if (behavior == LEAT_BEHAVIOR_ISOLATED || (behavior == LEAT_BEHAVIOR_REMOVED && is_inverted))
        scanner = leat_scanner_find(pattern, n_bytes, behavior == LEAT_BEHAVIOR_REMOVED);
    if (scanner)
        return add_scan(steps, component, scanner, err);
    step = add(steps, component, LEAT_SPLIT_STEP_REGEX, err);
    if (!step)
        return -EINVAL;
    step->behavior = behavior;
    step->is_inverted = is_inverted;
    r = leat_regex_new(pattern, n_bytes, &step->regex, err);
    return r < 0 ? leat_component_place(component, err) : 0;
}

static int read_sequence(const struct leat_component *component, struct leat_split_steps *steps,
                         struct leat_error *err);

static int read_byte_level(const struct leat_component *component, struct leat_split_steps *steps,
                           struct leat_error *err) {
    bool has_prefix = false, trims = false, has_regex = false;
    int r = leat_component_bool(component, "add_prefix_space", -1, &has_prefix, err);

    if (r == 0)
        r = leat_component_bool(component, "trim_offsets", -1, &trims, err);
    if (r == 0)
        r = leat_component_bool(component, "use_regex", 1, &has_regex, err);
    if (r < 0)
        return r;
    if (has_prefix && !add(steps, component, LEAT_SPLIT_STEP_PREFIX, err))
        return -EINVAL;
    if (has_regex && add_scan(steps, component, &leat_scanner_gpt2, err) < 0)
        return -EINVAL;
    return add(steps, component, LEAT_SPLIT_STEP_BYTES, err) ? 0 : -EINVAL;
}

static int read_delimiter(const struct leat_component *component, struct leat_split_steps *steps,
                          struct leat_error *err) {
    const char *text = NULL;
    size_t n_bytes = 0;
    int r = leat_component_character(component, "delimiter", &text, &n_bytes, err);

    if (r < 0)
        return r;
    return add_string(steps, component, text, n_bytes, LEAT_BEHAVIOR_REMOVED, false, err);
}

static int read_digits(const struct leat_component *component, struct leat_split_steps *steps,
                       struct leat_error *err) {
    bool is_single = false;
    int r = leat_component_bool(component, "individual_digits", -1, &is_single, err);

    if (r < 0)
        return r;
    return add_scan(steps, component,
                    is_single ? &leat_scanner_numeric_single : &leat_scanner_numeric_runs, err);
}

static int read_length(const struct leat_component *component, struct leat_split_steps *steps,
                       struct leat_error *err) {
    struct leat_split_step *step;
    uint64_t length = 0;
    int r = leat_component_uint(component, "length", 5, LEAT_TEXT_BYTES_MAX, &length, err);

    if (r < 0)
        return r;
    if (length == 0)
        return leat_component_error(component, err, "is 0, but a word has at least 1 character");
    step = add(steps, component, LEAT_SPLIT_STEP_LENGTH, err);
    if (!step)
        return -EINVAL;
    step->n_length = (uint32_t)length;
    return 0;
}

static int read_metaspace(const struct leat_component *component, struct leat_split_steps *steps,
                          struct leat_error *err) {
    struct leat_metaspace metaspace;
    struct leat_split_step *step;
    int r = leat_metaspace_read(component, &metaspace, err);

    if (r < 0)
        return r;
    step = add(steps, component, LEAT_SPLIT_STEP_METASPACE, err);
    if (!step)
        return -EINVAL;
    step->scheme = metaspace.scheme;
    r = set_bytes(step, metaspace.replacement, metaspace.n_replacement, err);
    if (r < 0 || !metaspace.splits)
        return r;
    if (strcmp(metaspace.replacement, "\xe2\x96\x81") == 0)
        return add_scan(steps, component, &leat_scanner_metaspace, err);
    return add_string(steps, component, metaspace.replacement, metaspace.n_replacement,
                      LEAT_BEHAVIOR_MERGED_WITH_NEXT, false, err);
}

static int read_punctuation(const struct leat_component *component, struct leat_split_steps *steps,
                            struct leat_error *err) {
    struct leat_split_step *step;
    int behavior = 0, r;

    r = leat_component_choice(component, "behavior", behavior_names, LEAT_BEHAVIOR_ISOLATED,
                              &behavior, err);
    if (r < 0)
        return r;
    if (behavior == LEAT_BEHAVIOR_CONTIGUOUS)
        return add_scan(steps, component, &leat_scanner_punctuation, err);
    step = add(steps, component, LEAT_SPLIT_STEP_CLASS, err);
    if (!step)
        return -EINVAL;
    step->classes = LEAT_UNICODE_BERT_PUNCTUATION;
    step->behavior = (enum leat_split_step_behavior)behavior;
    return 0;
}

/* An empty String is an empty regex, which matches everywhere. */
static int read_split(const struct leat_component *component, struct leat_split_steps *steps,
                      struct leat_error *err) {
    struct leat_component pattern, child;
    const char *text = NULL;
    size_t n_bytes = 0;
    bool is_inverted = false, is_regex;
    int behavior = 0, r;

    r = leat_component_child(component, "pattern", LEAT_JSON_OBJECT, &pattern, err);
    if (r == 0)
        r = leat_component_choice(component, "behavior", behavior_names, -1, &behavior, err);
    if (r == 0)
        r = leat_component_bool(component, "invert", -1, &is_inverted, err);
    if (r < 0)
        return r;
    is_regex = leat_component_get(&pattern, "Regex", &child);
    if (is_regex == leat_component_get(&pattern, "String", &child))
        return leat_component_error(&pattern, err, "needs either a String or a Regex");
    r = leat_component_string(&pattern, is_regex ? "Regex" : "String", NULL, &text, &n_bytes, err);
    if (r < 0)
        return r;
    if (is_regex || n_bytes == 0)
        return add_regex(steps, &pattern, text, n_bytes, (enum leat_split_step_behavior)behavior,
                         is_inverted, err);
    return add_string(steps, component, text, n_bytes, (enum leat_split_step_behavior)behavior,
                      is_inverted, err);
}

static int read_scripts(const struct leat_component *component, struct leat_split_steps *steps,
                        struct leat_error *err) {
    return add(steps, component, LEAT_SPLIT_STEP_SCRIPTS, err) ? 0 : -EINVAL;
}

static const struct {
    const char *name;
    int (*read)(const struct leat_component *component, struct leat_split_steps *steps,
                struct leat_error *err);
    const struct leat_scanner *scanner; /* if `read` is NULL */
} types[] = {
    {"BertPreTokenizer", NULL, &leat_scanner_bert},
    {"ByteLevel", read_byte_level, NULL},
    {"CharDelimiterSplit", read_delimiter, NULL},
    {"Delimiter", read_delimiter, NULL},
    {"Digits", read_digits, NULL},
    {"FixedLength", read_length, NULL},
    {"Metaspace", read_metaspace, NULL},
    {"Punctuation", read_punctuation, NULL},
    {"Sequence", read_sequence, NULL},
    {"Split", read_split, NULL},
    {"UnicodeScripts", read_scripts, NULL},
    {"Whitespace", NULL, &leat_scanner_words},
    {"WhitespaceSplit", NULL, &leat_scanner_nonspace},
};

static int read_any(const struct leat_component *component, struct leat_split_steps *steps,
                    struct leat_error *err) {
    const char *type = NULL;
    int r = leat_component_type(component, &type, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].read ? types[i].read(component, steps, err)
                                 : add_scan(steps, component, types[i].scanner, err);
    return leat_component_error(component, err, "there is no pre-tokenizer of the type \"%.60s\"",
                                type);
}

static int read_sequence(const struct leat_component *component, struct leat_split_steps *steps,
                         struct leat_error *err) {
    struct leat_component_iterator iterator;
    struct leat_component array, item;
    int r;

    if (component->depth > LEAT_COMPONENT_DEPTH_MAX)
        return leat_component_error(component, err, "sequences nest more than %d levels",
                                    LEAT_COMPONENT_DEPTH_MAX);
    r = leat_component_child(component, "pretokenizers", LEAT_JSON_ARRAY, &array, err);
    if (r < 0)
        return r;
    leat_component_iterate(&array, &iterator);
    while (r == 0 && leat_component_next(&iterator, &item))
        r = read_any(&item, steps, err);
    return r;
}

/* The scanner that does to plain bytes what one does to the characters that they are mapped to. */
static const struct leat_scanner *unmapped(const struct leat_split_step *step) {
    if (step->scanner == &leat_scanner_digits3)
        return &leat_scanner_digits3;
    if (step->scanner == &leat_scanner_numeric_runs)
        return &leat_scanner_mapped_numeric_runs;
    if (step->scanner == &leat_scanner_numeric_single)
        return &leat_scanner_mapped_numeric_single;
    return NULL;
}

/* Leaves out a BYTES that is the only one, if nothing, or only what has a scanner for plain bytes,
 * comes after it. */
static void drop_byte_map(struct leat_split_steps *steps) {
    uint32_t n_maps = 0, map = 0;

    for (uint32_t i = 0; i < steps->n; i++)
        if (steps->items[i].kind == LEAT_SPLIT_STEP_BYTES) {
            n_maps++;
            map = i;
        }
    if (n_maps != 1)
        return;
    for (uint32_t i = map + 1; i < steps->n; i++)
        if (steps->items[i].kind != LEAT_SPLIT_STEP_SCAN || !unmapped(&steps->items[i]))
            return;
    for (uint32_t i = map + 1; i < steps->n; i++) {
        steps->items[i].scanner = unmapped(&steps->items[i]);
        steps->items[i].scan = leat_scanner_run(steps->items[i].scanner);
        steps->items[i - 1] = steps->items[i];
    }
    steps->n--;
    steps->is_byte_level = true;
}

int leat_split_steps_read(const struct leat_component *component,
                          struct leat_split_steps *ret_steps, struct leat_error *err) {
    int r = read_any(component, ret_steps, err);

    if (r == 0)
        drop_byte_map(ret_steps);
    return r;
}

void leat_split_steps_deinit(struct leat_split_steps *steps) {
    for (uint32_t i = 0; i < steps->n; i++) {
        (void)leat_regex_free(steps->items[i].regex);
        free(steps->items[i].bytes);
    }
    *steps = (struct leat_split_steps){0};
}

/* ---- in words */

static const char *const behaviors[] = {
    [LEAT_BEHAVIOR_REMOVED] = "removed",
    [LEAT_BEHAVIOR_ISOLATED] = "isolated",
    [LEAT_BEHAVIOR_MERGED_WITH_PREVIOUS] = "merged with the word before",
    [LEAT_BEHAVIOR_MERGED_WITH_NEXT] = "merged with the word after",
    [LEAT_BEHAVIOR_CONTIGUOUS] = "isolated in runs",
};

static void describe_behavior(const struct leat_split_step *step, FILE *out) {
    (void)fprintf(out, ", %s%s", behaviors[step->behavior], step->is_inverted ? ", inverted" : "");
}

static void describe_metaspace(const struct leat_split_step *step, FILE *out) {
    static const char *const places[] = {
        [LEAT_SCHEME_ALWAYS] = "with one in front of each text",
        [LEAT_SCHEME_FIRST] = "with one in front of the document",
        [LEAT_SCHEME_NEVER] = "with none in front",
    };

    (void)fprintf(out, "blanks to \"%.*s\", %s", (int)step->n_bytes, (const char *)step->bytes,
                  places[step->scheme]);
}

static void describe(const struct leat_split_step *step, FILE *out) {
    switch (step->kind) {
    case LEAT_SPLIT_STEP_SCAN:
        (void)fprintf(out, "%s (scanner)", step->scanner->name);
        break;
    case LEAT_SPLIT_STEP_REGEX:
        (void)fputs("regex (PCRE2)", out);
        describe_behavior(step, out);
        break;
    case LEAT_SPLIT_STEP_STRING:
        (void)fprintf(out, "\"%.*s\"", step->n_bytes < 40 ? (int)step->n_bytes : 40,
                      (const char *)step->bytes);
        describe_behavior(step, out);
        break;
    case LEAT_SPLIT_STEP_CLASS:
        (void)fputs("signs", out);
        describe_behavior(step, out);
        break;
    case LEAT_SPLIT_STEP_LENGTH:
        (void)fprintf(out, "words of %u characters", (unsigned)step->n_length);
        break;
    case LEAT_SPLIT_STEP_SCRIPTS:
        (void)fputs("scripts", out);
        break;
    case LEAT_SPLIT_STEP_PREFIX:
        (void)fputs("adds a blank in front", out);
        break;
    case LEAT_SPLIT_STEP_METASPACE:
        describe_metaspace(step, out);
        break;
    case LEAT_SPLIT_STEP_BYTES:
        (void)fputs("byte alphabet", out);
        break;
    }
}

char *leat_split_steps_describe(const struct leat_split_steps *steps) {
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);

    if (!out)
        return NULL;
    for (uint32_t i = 0; i < steps->n; i++) {
        (void)fputs(i > 0 ? "; " : "", out);
        describe(&steps->items[i], out);
    }
    if (steps->is_byte_level)
        (void)fputs(steps->n > 0 ? "; byte alphabet" : "byte alphabet", out);
    else if (steps->n == 0)
        (void)fputs("none", out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

size_t leat_split_steps_n_bytes(const struct leat_split_steps *steps) {
    size_t n_bytes = 0;

    for (uint32_t i = 0; i < steps->n; i++) {
        n_bytes += steps->items[i].n_bytes;
        if (steps->items[i].regex)
            n_bytes += leat_regex_n_bytes(steps->items[i].regex);
    }
    return n_bytes;
}
