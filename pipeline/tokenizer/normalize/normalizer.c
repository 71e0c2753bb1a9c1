/* normalizer.c: a normalizer is a list of steps; sequences within sequences are laid flat. See
 * normalizer.h and normalize/step.h.
 *
 * Hugging Face takes a component whose `type` it does not know, or that has none, for the first
 * kind whose fields are there; so do we.
 */
#include "pipeline/tokenizer/normalize/normalizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/tokenizer/normalize/step.h"
#include "pipeline/tokenizer/split/regex.h"

#define STEPS_MAX       64
#define DESCRIPTION_MAX 1024

struct leat_normalizer {
    struct leat_normalize_step *steps[STEPS_MAX];
    size_t n_steps;
    char description[DESCRIPTION_MAX];
};

struct leat_normalizer_context {
    struct leat_normalize_step_memory memory;
};

static const struct leat_normalize_step_kind *const kinds[] = {
    &leat_normalize_step_bert,          &leat_normalize_step_strip,
    &leat_normalize_step_strip_accents, &leat_normalize_step_nfc,
    &leat_normalize_step_nfd,           &leat_normalize_step_nfkc,
    &leat_normalize_step_nfkd,          &leat_normalize_step_lowercase,
    &leat_normalize_step_nmt,           &leat_normalize_step_precompiled,
    &leat_normalize_step_replace,       &leat_normalize_step_prepend,
    &leat_normalize_step_byte_level,
};

static const struct {
    const char *fields[3];
    const char *name;
} guesses[] = {
    {{"clean_text", "handle_chinese_chars", "lowercase"}, "BertNormalizer"},
    {{"strip_left", "strip_right", NULL}, "Strip"},
    {{"normalizers", NULL, NULL}, "Sequence"},
    {{"precompiled_charsmap", NULL, NULL}, "Precompiled"},
    {{"pattern", "content", NULL}, "Replace"},
    {{"prepend", NULL, NULL}, "Prepend"},
};

void leat_normalize_step_describe(struct leat_normalize_step *step, const char *format, ...) {
    size_t n = strlen(step->description);
    va_list args;

    va_start(args, format);
    vsnprintf(step->description + n, sizeof(step->description) - n, format, args);
    va_end(args);
}

/* Loading. */

static const struct leat_normalize_step_kind *find_kind(const char *name) {
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

static const char *guess_name(const struct leat_component *component) {
    for (size_t i = 0; i < sizeof(guesses) / sizeof(*guesses); i++) {
        struct leat_component child;
        size_t n = 0;

        while (n < 3 && guesses[i].fields[n] &&
               leat_component_get(component, guesses[i].fields[n], &child))
            n++;
        if (n == 3 || !guesses[i].fields[n])
            return guesses[i].name;
    }
    return NULL;
}

/* The kind's name: the type where it is known, else by the fields. */
static int name_of(const struct leat_component *component, const char **ret_name,
                   struct leat_error *err) {
    const char *type, *guess;
    int r = leat_component_type(component, &type, LEAT_ERROR_IGNORED);

    if (r == 0 && (strcmp(type, "Sequence") == 0 || find_kind(type))) {
        *ret_name = type;
        return 0;
    }
    guess = component->depth <= LEAT_COMPONENT_DEPTH_MAX ? guess_name(component) : NULL;
    if (!guess && r == 0)
        return leat_component_error(component, err, "there is no normalizer of the type `%.64s`",
                                    type);
    if (!guess)
        return leat_component_type(component, &type, err);
    *ret_name = guess;
    return 0;
}

static int load(struct leat_normalizer *normalizer, const struct leat_component *component,
                struct leat_error *err);

static int load_sequence(struct leat_normalizer *normalizer, const struct leat_component *component,
                         struct leat_error *err) {
    struct leat_component_iterator iterator;
    struct leat_component array, item;
    int r;

    r = leat_component_child(component, "normalizers", LEAT_JSON_ARRAY, &array, err);
    if (r < 0)
        return r;
    leat_component_iterate(&array, &iterator);
    while (r == 0 && leat_component_next(&iterator, &item))
        r = load(normalizer, &item, err);
    return r;
}

static int load(struct leat_normalizer *normalizer, const struct leat_component *component,
                struct leat_error *err) {
    const struct leat_normalize_step_kind *kind;
    struct leat_normalize_step *step;
    const char *name = NULL;
    int r;

    r = name_of(component, &name, err);
    if (r < 0)
        return r;
    if (strcmp(name, "Sequence") == 0)
        return load_sequence(normalizer, component, err);
    if (normalizer->n_steps == STEPS_MAX)
        return leat_component_error(component, err, "has more than %d normalizers", STEPS_MAX);
    kind = find_kind(name);
    step = calloc(1, kind->size);
    if (!step)
        return -ENOMEM;
    normalizer->steps[normalizer->n_steps++] = step;
    step->kind = kind;
    step->n_bytes = kind->size;
    step->growth = LEAT_NORMALIZE_STEP_GROWTH;
    r = kind->load ? kind->load(step, component, err) : 0;
    if (!step->description[0])
        leat_normalize_step_describe(step, "%s", name);
    return r;
}

static void describe(struct leat_normalizer *normalizer) {
    size_t n = 0;

    if (normalizer->n_steps == 0)
        strcpy(normalizer->description, "none");
    for (size_t i = 0; i < normalizer->n_steps && n < DESCRIPTION_MAX; i++)
        n += (size_t)snprintf(normalizer->description + n, DESCRIPTION_MAX - n, "%s%s",
                              i > 0 ? ", " : "", normalizer->steps[i]->description);
}

int leat_normalizer_new(const struct leat_component *component,
                        struct leat_normalizer **ret_normalizer, struct leat_error *err) {
    struct leat_normalizer *normalizer = calloc(1, sizeof(*normalizer));
    int r = 0;

    if (!normalizer)
        return -ENOMEM;
    if (component)
        r = load(normalizer, component, err);
    if (r < 0) {
        leat_normalizer_free(normalizer);
        return r;
    }
    describe(normalizer);
    *ret_normalizer = normalizer;
    return 0;
}

struct leat_normalizer *leat_normalizer_free(struct leat_normalizer *normalizer) {
    if (!normalizer)
        return NULL;
    for (size_t i = 0; i < normalizer->n_steps; i++) {
        struct leat_normalize_step *step = normalizer->steps[i];

        if (step->kind->deinit)
            step->kind->deinit(step);
        free(step);
    }
    free(normalizer);
    return NULL;
}

/* Running. */

struct leat_normalizer_context *leat_normalizer_context_new(void) {
    return calloc(1, sizeof(struct leat_normalizer_context));
}

struct leat_normalizer_context *
leat_normalizer_context_free(struct leat_normalizer_context *context) {
    if (!context)
        return NULL;
    leat_writer_memory_deinit(&context->memory.writer);
    free(context->memory.forms);
    leat_regex_context_free(context->memory.regex);
    free(context);
    return NULL;
}

/* Measures a result that may be too long before it is made. */
static int run_step(const struct leat_normalize_step *step,
                    struct leat_normalize_step_memory *memory, struct leat_text_view *text,
                    struct leat_error *err) {
    uint64_t n_most = ((uint64_t)text->n_bytes + 1) * step->growth;
    int r = 0;

    memory->writer.n_measured = 0;
    if (n_most > LEAT_TEXT_BYTES_MAX) {
        memory->writer.measures = true;
        r = step->kind->run(step, memory, text, err);
        memory->writer.measures = false;
    }
    return r < 0 ? r : step->kind->run(step, memory, text, err);
}

int leat_normalizer_run(const struct leat_normalizer *normalizer,
                        struct leat_normalizer_context *context,
                        const struct leat_text_view *source, struct leat_text_view *ret_text,
                        struct leat_error *err) {
    int r = 0;

    *ret_text = *source;
    context->memory.writer.start =
        source->origins && source->n_bytes > 0 ? source->origins[0].start : 0;
    for (size_t i = 0; i < normalizer->n_steps && r == 0; i++)
        r = run_step(normalizer->steps[i], &context->memory, ret_text, err);
    return r;
}

const char *leat_normalizer_describe(const struct leat_normalizer *normalizer) {
    return normalizer->description;
}

size_t leat_normalizer_n_bytes(const struct leat_normalizer *normalizer) {
    size_t n_bytes = sizeof(*normalizer);

    for (size_t i = 0; i < normalizer->n_steps; i++)
        n_bytes += normalizer->steps[i]->n_bytes;
    return n_bytes;
}
