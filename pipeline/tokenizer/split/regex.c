/* regex.c: see regex.h. The parts: a parser (regex_parse.c), the characters that the regex tells
 * apart (regex_alphabet.c), the pattern over these (regex_emit.c), and PCRE2. A backreference
 * compares characters, so a regex with one is written with code points and sees the UTF-8. */
#include "pipeline/tokenizer/split/regex.h"

#include <errno.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "pipeline/tokenizer/split/regex_emit.h"

/* Steps of backtracking in one match; Oniguruma's own limit. */
#define MATCH_STEPS_MAX   10000000
#define MATCH_HEAP_KIB    (64 * 1024)
#define JIT_STACK_BYTES   (32 * 1024)
#define JIT_STACK_MAX     (4 * 1024 * 1024)
#define LETTERS_MIN_BYTES 4096

struct leat_regex {
    struct leat_regex_alphabet alphabet;
    pcre2_code *code;
    bool is_jit;
    bool is_utf; /* it is matched with the text itself, not with letters */
};

/* Owner: the job. */
struct leat_regex_context {
    pcre2_match_data *data;
    pcre2_match_context *match;
    pcre2_jit_stack *stack;
    uint8_t *letters; /* of the text that is searched */
    uint32_t capacity;
};

static int compile(struct leat_regex *regex, const char *pattern, size_t n_bytes,
                   struct leat_error *err) {
    char message[160] = "";
    PCRE2_SIZE place;
    int code;

    regex->code =
        pcre2_compile((PCRE2_SPTR)pattern, n_bytes,
                      PCRE2_DOTALL | PCRE2_NEVER_UCP |
                          (regex->is_utf ? PCRE2_UTF : PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_UTF),
                      &code, &place, NULL);
    if (!regex->code) {
        if (code == PCRE2_ERROR_HEAP_FAILED)
            return leat_error_oom(err);
        (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof(message));
        return leat_error_set(err, -EINVAL, "the regex is not supported: %s", message);
    }
    /* Where memory must not be both writable and executable there is no JIT. */
    regex->is_jit = pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE) == 0;
    return 0;
}

static int build(struct leat_regex *regex, const struct leat_regex_tree *tree,
                 struct leat_error *err) {
    char *pattern = NULL;
    size_t n_bytes = 0;
    int r = 0;

    regex->is_utf = tree->has_references;
    if (!regex->is_utf)
        r = leat_regex_alphabet_init(&regex->alphabet, tree, err);
    if (r == 0)
        r = leat_regex_emit(tree, regex->is_utf ? NULL : &regex->alphabet, &pattern, &n_bytes, err);
    if (r == 0)
        r = compile(regex, pattern, n_bytes, err);
    free(pattern);
    return r;
}

int leat_regex_new(const char *pattern, size_t n_bytes, struct leat_regex **ret_regex,
                   struct leat_error *err) {
    struct leat_regex_tree tree = {0};
    struct leat_regex *regex;
    int r;

    *ret_regex = NULL;
    if (n_bytes > LEAT_REGEX_BYTES_MAX)
        return leat_error_set(err, -EINVAL, "the regex has %zu bytes; at most %d are possible",
                              n_bytes, LEAT_REGEX_BYTES_MAX);
    regex = calloc(1, sizeof(*regex));
    if (!regex)
        return leat_error_oom(err);
    r = leat_regex_parse(pattern, n_bytes, &tree, err);
    if (r == 0)
        r = build(regex, &tree, err);
    leat_regex_tree_deinit(&tree);
    if (r < 0)
        regex = leat_regex_free(regex);
    *ret_regex = regex;
    return r;
}

struct leat_regex *leat_regex_free(struct leat_regex *regex) {
    if (!regex)
        return NULL;
    leat_regex_alphabet_deinit(&regex->alphabet);
    pcre2_code_free(regex->code);
    free(regex);
    return NULL;
}

int leat_regex_context_new(struct leat_regex_context **ret_context) {
    struct leat_regex_context *context = calloc(1, sizeof(*context));

    *ret_context = context;
    if (!context)
        return -ENOMEM;
    context->data = pcre2_match_data_create(1, NULL);
    context->match = pcre2_match_context_create(NULL);
    context->stack = pcre2_jit_stack_create(JIT_STACK_BYTES, JIT_STACK_MAX, NULL);
    if (!context->data || !context->match) {
        *ret_context = leat_regex_context_free(context);
        return -ENOMEM;
    }
    pcre2_set_match_limit(context->match, MATCH_STEPS_MAX);
    pcre2_set_heap_limit(context->match, MATCH_HEAP_KIB);
    if (context->stack)
        pcre2_jit_stack_assign(context->match, NULL, context->stack);
    return 0;
}

struct leat_regex_context *leat_regex_context_free(struct leat_regex_context *context) {
    if (!context)
        return NULL;
    pcre2_match_data_free(context->data);
    pcre2_match_context_free(context->match);
    pcre2_jit_stack_free(context->stack);
    free(context->letters);
    free(context);
    return NULL;
}

static int begin(const struct leat_regex *regex, struct leat_regex_context *context,
                 struct leat_regex_search *search) {
    if (regex->is_utf) {
        search->n_letters = search->n_bytes;
        search->has_begun = true;
        return 0;
    }
    if (search->n_bytes > context->capacity || !context->letters) {
        size_t capacity = (size_t)search->n_bytes + search->n_bytes / 2 + LETTERS_MIN_BYTES;
        free(context->letters);
        context->letters = malloc(capacity);
        context->capacity = context->letters ? (uint32_t)capacity : 0;
        if (!context->letters)
            return -ENOMEM;
    }
    search->n_letters = leat_regex_alphabet_spell(&regex->alphabet, search->text, search->n_bytes,
                                                  context->letters);
    search->has_begun = true;
    return 0;
}

/* Moves the place forward to that letter. */
static void move_to(struct leat_regex_search *search, uint32_t letter) {
    const uint8_t *text = search->text;

    if (search->n_letters == search->n_bytes) {
        search->at = search->letter = letter;
        return;
    }
    for (; search->letter < letter; search->letter++) {
        uint8_t first = text[search->at];
        search->at += first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    }
}

static int match(const struct leat_regex *regex, struct leat_regex_context *context,
                 const struct leat_regex_search *search, uint32_t start) {
    const uint8_t *text = search->n_bytes ? search->text : (const uint8_t *)"";
    const uint8_t *letters = regex->is_utf ? text : context->letters;

    if (regex->is_jit)
        return pcre2_jit_match(regex->code, letters, search->n_letters, start, 0, context->data,
                               context->match);
    return pcre2_match(regex->code, letters, search->n_letters, start, PCRE2_NO_UTF_CHECK,
                       context->data, context->match);
}

/* The last byte of the character at `at`, if letters are bytes. */
static uint32_t end_of_character(const struct leat_regex *regex,
                                 const struct leat_regex_search *search, uint32_t at) {
    while (regex->is_utf && at + 1 < search->n_letters && (search->text[at + 1] & 0xc0) == 0x80)
        at++;
    return at;
}

static int fail(int code, uint32_t at, struct leat_error *err) {
    char message[160] = "";

    if (code == PCRE2_ERROR_NOMEMORY)
        return leat_error_oom(err);
    (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof(message));
    return leat_error_set(err, -EINVAL, "a regex failed after byte %u of a text: %s", (unsigned)at,
                          message);
}

/* A match that is empty and stands at the end of the one before does not count: the search goes on
 * one character further, as onig's find_iter does for Hugging Face `tokenizers`. */
int leat_regex_next(const struct leat_regex *regex, struct leat_regex_context *context,
                    struct leat_regex_search *search, struct leat_range *ret_match,
                    struct leat_error *err) {
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(context->data);

    if (!search->has_begun && begin(regex, context, search) < 0)
        return leat_error_oom(err);
    for (uint32_t start = search->next_letter; start <= search->n_letters; start++) {
        int r = match(regex, context, search, start);
        if (r == PCRE2_ERROR_NOMATCH)
            break;
        if (r < 0)
            return fail(r, search->at, err);
        if (found[0] == found[1] && search->has_match && search->last_letter == found[1]) {
            start = end_of_character(regex, search, (uint32_t)found[1]);
            continue;
        }
        search->next_letter = search->last_letter = (uint32_t)found[1];
        search->has_match = true;
        move_to(search, (uint32_t)found[0]);
        ret_match->start = search->at;
        move_to(search, (uint32_t)found[1]);
        ret_match->end = search->at;
        return 1;
    }
    search->next_letter = search->n_letters + 1;
    return 0;
}

size_t leat_regex_n_bytes(const struct leat_regex *regex) {
    size_t n_code = 0, n_jit = 0;

    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_SIZE, &n_code);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_JITSIZE, &n_jit);
    return sizeof(*regex) + n_code + n_jit +
           regex->alphabet.blocks_capacity * sizeof(*regex->alphabet.blocks);
}
