/* tokenize_bench: the CharTrie alone, on one thread, by its processor time. Prints JSON.
 *
 *     tokenize_bench [--tokens N] [--rows N] [--seconds S] [--vocab FILE --text FILE]
 *
 * Without files it makes its own: rows in the shape of the reference pipeline's template, and a
 * vocabulary of the substrings of their words (with the blank before a word) that save the most
 * tokens, after the 255 single bytes but LF. For each mode: MB/s of text, tokens a second, bytes a
 * token, over as many passes as fit into --seconds; then one document of 10 MB with its memory.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pipeline/tokenizer/chartrie/chartrie.h"
#include "proto/base/rng.h"

#define SUBSTRING_MAX  16
#define COUNT_ROWS     20000
#define TABLE_SIZE     (1U << 22)
#define DOCUMENT_BYTES 10000000U
#define BLOCK_ROWS     1500
#define BLOCKS_MAX     64

struct text {
    char *bytes;
    size_t n_bytes, capacity;
    struct leat_encoder_row *rows;
    size_t n_rows, rows_capacity;
};

struct memory {
    void *blocks[BLOCKS_MAX];
    size_t sizes[BLOCKS_MAX], n_blocks, n_used, n_bytes;
    struct leat_chartrie_pieces *pieces; /* as a worker keeps them */
};

static double now(void) {
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *check(void *memory) {
    if (!memory) {
        fputs("tokenize_bench: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static void put(struct text *text, const char *bytes, size_t n) {
    if (text->n_bytes + n > text->capacity) {
        text->capacity = (text->capacity + n) * 2;
        text->bytes = check(realloc(text->bytes, text->capacity));
    }
    memcpy(text->bytes + text->n_bytes, bytes, n);
    text->n_bytes += n;
}

static void put_number(struct text *text, const char *label, uint64_t number) {
    char piece[64];
    int n = snprintf(piece, sizeof(piece), "%s%llu", label, (unsigned long long)number);

    put(text, piece, (size_t)n);
}

/* A name: always the same for one index. */
static void put_name(struct text *text, uint64_t kind, uint64_t index) {
    static const char *const parts[] = {
        "an",  "ber", "car", "den", "el",  "fan", "gar", "hol",  "in",           "jo", "kar",
        "lan", "mar", "nor", "ol",  "per", "qui", "ros", "sten", "tor",          "ul", "van",
        "wil", "yor", "zan", "bra", "und", "ow",  "har", "ris",  "str\xc3\xb6m", "ell"};
    struct leat_rng rng = {.state = leat_rng_fold(kind, index)};
    uint64_t n = 2 + leat_rng_below(&rng, 3);

    for (uint64_t i = 0; i < n; i++) {
        const char *part = parts[leat_rng_below(&rng, 32)];
        char first = i ? part[0] : (char)(part[0] - 'a' + 'A');

        put(text, &first, 1);
        put(text, part + 1, strlen(part + 1));
    }
}

static void put_row(struct text *text, struct leat_rng *rng) {
    bool is_male = leat_rng_below(rng, 2);

    put_number(text, "Passenger class: ", 1 + leat_rng_below(rng, 3));
    put(text, " Name: ", 7);
    put_name(text, 1, leat_rng_below(rng, 8000));
    put(text, is_male ? ", Mr. " : ", Mrs. ", is_male ? 6 : 7);
    put_name(text, 2, leat_rng_below(rng, 2500));
    put(text, " ", 1);
    put_name(text, 2, leat_rng_below(rng, 2500));
    put(text, is_male ? " Sex: male" : " Sex: female", is_male ? 10 : 12);
    if (leat_rng_below(rng, 5))
        put_number(text, " Age: ", leat_rng_below(rng, 80));
    put_number(text, " Siblings/spouses: ", leat_rng_below(rng, 6));
    put_number(text, " Parents/children: ", leat_rng_below(rng, 5));
    put_number(text, leat_rng_below(rng, 3) ? " Ticket: " : " Ticket: A/5 ",
               1000 + leat_rng_below(rng, 399000));
    put_number(text, " Fare: ", 4 + leat_rng_below(rng, 300));
    put_number(text, ".", leat_rng_below(rng, 10000));
    if (leat_rng_below(rng, 4) == 0)
        put_number(text, " Cabin: C", 1 + leat_rng_below(rng, 120));
    put(text, " Port: S", 8);
}

/* Rows of a text that has one a line. */
static void split(struct text *text) {
    for (size_t i = 0; i < text->n_bytes;) {
        const char *start = text->bytes + i, *end = memchr(start, '\n', text->n_bytes - i);
        size_t n = end ? (size_t)(end - start) : text->n_bytes - i;

        if (text->n_rows == text->rows_capacity) {
            text->rows_capacity = text->rows_capacity * 2 + 1024;
            text->rows =
                check(realloc(text->rows, text->rows_capacity * sizeof(struct leat_encoder_row)));
        }
        text->rows[text->n_rows] = (struct leat_encoder_row){
            .text = (const uint8_t *)start, .n_bytes = (uint32_t)n, .key = text->n_rows};
        text->n_rows++;
        i += n + 1;
    }
}

struct count {
    const char *bytes;
    uint32_t n_bytes;
    uint32_t n;
};

static void count(struct count *table, const char *bytes, uint32_t n) {
    uint64_t hash = 0;

    for (uint32_t i = 0; i < n; i++)
        hash = leat_rng_fold(hash, (uint8_t)bytes[i]);
    for (uint64_t i = hash % TABLE_SIZE;; i = (i + 1) % TABLE_SIZE) {
        struct count *entry = &table[i];

        if (entry->n == 0)
            *entry = (struct count){.bytes = bytes, .n_bytes = n};
        if (entry->n_bytes == n && memcmp(entry->bytes, bytes, n) == 0) {
            entry->n++;
            return;
        }
    }
}

static void count_word(struct count *table, const char *word, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 2; k <= SUBSTRING_MAX && i + k <= n; k++)
            count(table, word + i, (uint32_t)k);
}

static int compare(const void *a, const void *b) {
    const struct count *x = a, *y = b;
    uint64_t p = (uint64_t)x->n * (x->n_bytes - 1), q = (uint64_t)y->n * (y->n_bytes - 1);
    int r;

    if (x->n == 0 || y->n == 0)
        return (x->n == 0) - (y->n == 0);
    if (p != q)
        return p < q ? 1 : -1;
    r = memcmp(x->bytes, y->bytes, x->n_bytes < y->n_bytes ? x->n_bytes : y->n_bytes);
    return r ? r : (int)x->n_bytes - (int)y->n_bytes;
}

static struct text make_vocabulary(const struct text *text, size_t n_tokens) {
    struct count *table = check(calloc(TABLE_SIZE, sizeof(*table)));
    struct text vocabulary = {.n_bytes = 0};

    for (size_t row = 0; row < text->n_rows && row < COUNT_ROWS; row++) {
        const char *bytes = (const char *)text->rows[row].text;
        size_t n = text->rows[row].n_bytes, start = 0;

        for (size_t i = 1; i <= n; i++)
            if (i == n || bytes[i] == ' ') {
                count_word(table, bytes + start, i - start);
                start = i;
            }
    }
    qsort(table, TABLE_SIZE, sizeof(*table), compare);
    for (int c = 0; c < 256; c++)
        if (c != '\n')
            put(&vocabulary, (const char[]){(char)c, '\n'}, 2);
    for (size_t i = 0; i + 255 < n_tokens && i < TABLE_SIZE && table[i].n; i++) {
        put(&vocabulary, table[i].bytes, table[i].n_bytes);
        put(&vocabulary, "\n", 1);
    }
    free(table);
    return vocabulary;
}

static struct text read_text(const char *path) {
    struct text text = {.n_bytes = 0};
    FILE *file = fopen(path, "rb");
    char piece[65536];
    size_t n;

    if (!file) {
        perror(path);
        exit(1);
    }
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        put(&text, piece, n);
    fclose(file);
    return text;
}

/* Blocks are kept from one run to the next, as an arena does. */
static void *take(struct memory *memory, size_t n_bytes) {
    size_t i = memory->n_used++;

    if (i == BLOCKS_MAX)
        return NULL;
    if (i == memory->n_blocks || memory->sizes[i] < n_bytes) {
        if (i < memory->n_blocks) {
            free(memory->blocks[i]);
            memory->n_bytes -= memory->sizes[i];
        } else {
            memory->n_blocks++;
        }
        memory->blocks[i] = check(malloc(n_bytes));
        memory->sizes[i] = n_bytes;
        memory->n_bytes += n_bytes;
    }
    return memory->blocks[i];
}

static void *allocate(void *context, size_t n_bytes) {
    return take(context, n_bytes);
}

static void *reserve(void *context, size_t min_bytes, size_t *ret_size) {
    *ret_size = min_bytes;
    return take(context, min_bytes);
}

static struct memory memory_new(const struct leat_chartrie *trie) {
    struct memory memory = {.n_blocks = 0};

    if (leat_chartrie_keeps_pieces(trie) && leat_chartrie_pieces_new(&memory.pieces) < 0)
        check(NULL);
    return memory;
}

static void release(struct memory *memory) {
    leat_chartrie_pieces_free(memory->pieces);
    while (memory->n_blocks)
        free(memory->blocks[--memory->n_blocks]);
    *memory = (struct memory){.n_blocks = 0};
}

static size_t encode(const struct leat_chartrie *trie, struct memory *memory,
                     struct leat_encoder_row *rows, size_t n_rows) {
    struct leat_encoder encoder = {
        .memory = {.context = memory, .allocate = allocate, .reserve = reserve},
        .pieces = memory->pieces};
    struct leat_error err = LEAT_ERROR_INIT;

    memory->n_used = 0;
    if (leat_chartrie_encode(trie, &encoder, rows, n_rows, &err) < 0) {
        fprintf(stderr, "tokenize_bench: %s\n", err.message);
        exit(1);
    }
    return encoder.n_ids;
}

static void bench_rows(const struct leat_chartrie *trie, struct text *text, double seconds) {
    struct memory memory = memory_new(trie);
    size_t n_bytes = 0, n_tokens = 0;
    double start = now(), elapsed = 0;

    while (elapsed < seconds)
        for (size_t i = 0; i < text->n_rows && elapsed < seconds; elapsed = now() - start) {
            size_t n = text->n_rows - i < BLOCK_ROWS ? text->n_rows - i : BLOCK_ROWS;

            n_tokens += encode(trie, &memory, text->rows + i, n);
            for (size_t k = 0; k < n; k++)
                n_bytes += text->rows[i + k].n_bytes;
            i += n;
        }
    printf("\"mb_per_s\": %.1f, \"tokens_per_s\": %.0f, \"bytes_per_token\": %.2f, ",
           (double)n_bytes / elapsed / 1e6, (double)n_tokens / elapsed,
           (double)n_bytes / (double)n_tokens);
    release(&memory);
}

static void bench_document(const struct leat_chartrie *trie, const struct text *text) {
    char *bytes = check(malloc(DOCUMENT_BYTES));
    struct leat_encoder_row row = {.text = (uint8_t *)bytes, .n_bytes = DOCUMENT_BYTES, .key = 1};
    struct memory memory = memory_new(trie);
    size_t n_ids;
    double start;

    for (size_t i = 0; i < DOCUMENT_BYTES; i++)
        bytes[i] = text->bytes[i % text->n_bytes] == '\n' ? ' ' : text->bytes[i % text->n_bytes];
    start = now();
    n_ids = encode(trie, &memory, &row, 1);
    printf("\"document_mb_per_s\": %.1f, \"document_memory_mb\": %.1f, \"document_ids_mb\": %.1f",
           DOCUMENT_BYTES / (now() - start) / 1e6, (double)memory.n_bytes / 1e6,
           (double)n_ids * 4e-6);
    release(&memory);
    free(bytes);
}

static void bench_mode(const char *name, enum leat_chartrie_mode mode, struct leat_vocab *vocab,
                       struct text *text, double seconds) {
    struct leat_chartrie_options options = {
        .mode = mode, .unknown = LEAT_CHARTRIE_SKIP, .bos_id = -1, .eos_id = -1};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_chartrie *trie;
    double start = now();

    if (leat_chartrie_new(vocab, &options, &trie, &err) < 0) {
        fprintf(stderr, "tokenize_bench: %s\n", err.message);
        exit(1);
    }
    printf(",\n  \"%s\": {\"build_ms\": %.1f, ", name, (now() - start) * 1e3);
    bench_rows(trie, text, seconds);
    bench_document(trie, text);
    printf("}");
    leat_chartrie_free(trie);
}

static void bench(const struct text *vocabulary, struct text *text, double seconds) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_vocab *vocab;
    double start = now();

    if (leat_vocab_new(vocabulary->bytes, vocabulary->n_bytes, LEAT_TOKEN_ENCODING_RAW, "vocab",
                       &vocab, &err) < 0) {
        fprintf(stderr, "tokenize_bench: %s\n", err.message);
        exit(1);
    }
    printf("{\"tokens\": %zu, \"rows\": %zu, \"row_bytes\": %.1f, \"vocab_ms\": %.1f",
           vocab->n_tokens, text->n_rows,
           ((double)text->n_bytes - (double)text->n_rows) / (double)text->n_rows,
           (now() - start) * 1e3);
    bench_mode("shortest", LEAT_CHARTRIE_SHORTEST, vocab, text, seconds);
    bench_mode("greedy", LEAT_CHARTRIE_GREEDY, vocab, text, seconds);
    bench_mode("random", LEAT_CHARTRIE_RANDOM, vocab, text, seconds);
    for (size_t i = 0; i < vocab->n_tokens; i++) /* the more bytes, the cheaper, all different */
        vocab->tokens[i].cost = 8.0 + (double)i * 1e-4;
    vocab->has_costs = true;
    bench_mode("shortest_scores", LEAT_CHARTRIE_SHORTEST, vocab, text, seconds);
    printf("}\n");
    leat_vocab_free(vocab);
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"tokens", required_argument, NULL, 't'},  {"rows", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'}, {"vocab", required_argument, NULL, 'v'},
        {"text", required_argument, NULL, 'x'},    {NULL, 0, NULL, 0}};
    const char *vocab_path = NULL, *text_path = NULL;
    size_t n_tokens = 30000, n_rows = 50000;
    struct text text = {.n_bytes = 0}, vocabulary;
    struct leat_rng rng = {.state = 1};
    double seconds = 1;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 't')
            n_tokens = strtoul(optarg, NULL, 10);
        else if (c == 'r')
            n_rows = strtoul(optarg, NULL, 10);
        else if (c == 's')
            seconds = strtod(optarg, NULL);
        else if (c == 'v')
            vocab_path = optarg;
        else if (c == 'x')
            text_path = optarg;
        else
            return 2;
    }
    if (text_path)
        text = read_text(text_path);
    for (size_t i = 0; !text_path && i < n_rows; i++) {
        put_row(&text, &rng);
        put(&text, "\n", 1);
    }
    split(&text);
    if (text.n_rows == 0)
        return 2;
    vocabulary = vocab_path ? read_text(vocab_path) : make_vocabulary(&text, n_tokens);
    bench(&vocabulary, &text, seconds);
    free(text.bytes);
    free(text.rows);
    free(vocabulary.bytes);
    return 0;
}
