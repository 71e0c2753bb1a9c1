/* tokenizer_bench: a Hugging Face tokenizer on a corpus, ids only. Prints one line of JSON.
 *
 *     tokenizer_bench --tokenizer FILE|DIR --corpus FILE [--threads N] [--seconds S] [--special]
 *
 * A corpus is documents with a NUL between them; a file without NULs is cut into documents of about
 * 4 KiB at ends of lines. Cold: one pass with a new context (median of three). Warm: passes over
 * the same text for --seconds, the best of them. With threads each has a context of its own and
 * takes every N-th document; MB/s are of the whole corpus over the wall time of the slowest.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pipeline/tokenizer/tokenizer.h"

#define DOCUMENT_BYTES 4096
#define THREADS_MAX    256

struct document {
    const char *text;
    size_t n_bytes;
};

struct corpus {
    char *bytes;
    size_t n_bytes;
    struct document *documents;
    size_t n_documents;
};

struct thread {
    pthread_t id;
    const struct leat_tokenizer *tokenizer;
    const struct corpus *corpus;
    struct leat_tokenizer_context *context;
    size_t index, n_threads, n_tokens;
    bool adds_special_tokens;
};

static double now(void) {
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void die(const char *what, const char *why) {
    fprintf(stderr, "tokenizer_bench: %s: %s\n", what, why);
    exit(1);
}

static void *check(void *memory) {
    if (!memory)
        die("memory", "out of memory");
    return memory;
}

static void read_file(struct corpus *corpus, const char *path) {
    FILE *file = fopen(path, "rb");
    size_t capacity = 1 << 20, n;

    if (!file)
        die(path, "cannot be opened");
    corpus->bytes = check(malloc(capacity));
    while ((n = fread(corpus->bytes + corpus->n_bytes, 1, capacity - corpus->n_bytes, file)) > 0) {
        corpus->n_bytes += n;
        if (corpus->n_bytes == capacity)
            corpus->bytes = check(realloc(corpus->bytes, capacity *= 2));
    }
    fclose(file);
    if (corpus->n_bytes == 0)
        die(path, "is empty");
}

static size_t document_end(const struct corpus *corpus, size_t start, bool has_nuls) {
    size_t n_left = corpus->n_bytes - start;
    const char *text = corpus->bytes + start, *end;

    if (has_nuls) {
        end = memchr(text, '\0', n_left);
        return end ? start + (size_t)(end - text) : corpus->n_bytes;
    }
    if (n_left <= DOCUMENT_BYTES)
        return corpus->n_bytes;
    end = memchr(text + DOCUMENT_BYTES, '\n', n_left - DOCUMENT_BYTES);
    return end ? start + (size_t)(end - text) + 1 : corpus->n_bytes;
}

static void split(struct corpus *corpus) {
    bool has_nuls = memchr(corpus->bytes, '\0', corpus->n_bytes) != NULL;
    size_t capacity = 0;

    for (size_t start = 0; start < corpus->n_bytes;) {
        size_t end = document_end(corpus, start, has_nuls);

        if (corpus->n_documents == capacity) {
            capacity = capacity * 2 + 64;
            corpus->documents =
                check(realloc(corpus->documents, capacity * sizeof(*corpus->documents)));
        }
        corpus->documents[corpus->n_documents++] =
            (struct document){.text = corpus->bytes + start, .n_bytes = end - start};
        start = end + has_nuls;
    }
}

static void *encode_share(void *userdata) {
    struct thread *thread = userdata;
    const struct corpus *corpus = thread->corpus;
    const struct leat_truncation whole = {.is_on = false};
    const struct leat_padding bare = {.is_on = false};
    const struct leat_encode_options options = {
        .adds_special_tokens = thread->adds_special_tokens, .truncation = &whole, .padding = &bare};
    struct leat_error err = LEAT_ERROR_INIT;

    thread->n_tokens = 0;
    for (size_t i = thread->index; i < corpus->n_documents; i += thread->n_threads) {
        const struct leat_encoding *encodings;
        size_t n;

        if (leat_tokenizer_encode(thread->tokenizer, thread->context, corpus->documents[i].text,
                                  corpus->documents[i].n_bytes, NULL, 0, &options, &encodings, &n,
                                  &err) < 0)
            die("encode", err.message);
        thread->n_tokens += encodings[0].n;
    }
    return NULL;
}

static void renew_context(struct thread *thread) {
    leat_tokenizer_context_free(thread->context);
    if (leat_tokenizer_context_new(thread->tokenizer, &thread->context) < 0)
        die("memory", "out of memory");
}

/* Seconds of one pass over the corpus. */
static double pass(struct thread *threads, size_t n_threads, bool is_cold) {
    double start;

    if (is_cold)
        for (size_t i = 0; i < n_threads; i++)
            renew_context(&threads[i]);
    start = now();
    for (size_t i = 1; i < n_threads; i++)
        if (pthread_create(&threads[i].id, NULL, encode_share, &threads[i]) != 0)
            die("thread", "cannot be started");
    encode_share(&threads[0]);
    for (size_t i = 1; i < n_threads; i++)
        pthread_join(threads[i].id, NULL);
    return now() - start;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure_cold(struct thread *threads, size_t n_threads) {
    double times[3];

    for (size_t i = 0; i < 3; i++)
        times[i] = pass(threads, n_threads, true);
    qsort(times, 3, sizeof(*times), compare);
    return times[1];
}

static double measure_warm(struct thread *threads, size_t n_threads, double seconds) {
    double best = pass(threads, n_threads, false), end = now() + seconds;

    while (now() < end) {
        double time = pass(threads, n_threads, false);

        best = time < best ? time : best;
    }
    return best;
}

static size_t file_bytes(const char *path) {
    FILE *file = fopen(path, "rb");
    long n = 0;

    if (file && fseek(file, 0, SEEK_END) == 0)
        n = ftell(file);
    if (file)
        fclose(file);
    return n > 0 ? (size_t)n : 0;
}

static void usage(void) {
    fputs("usage: tokenizer_bench --tokenizer FILE|DIR --corpus FILE [--threads N] [--seconds S] "
          "[--special]\n",
          stderr);
    exit(2);
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"tokenizer", required_argument, NULL, 't'}, {"corpus", required_argument, NULL, 'c'},
        {"threads", required_argument, NULL, 'n'},   {"seconds", required_argument, NULL, 's'},
        {"special", no_argument, NULL, 'p'},         {NULL, 0, NULL, 0}};
    const char *path = NULL, *corpus_path = NULL;
    static struct thread threads[THREADS_MAX];
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_tokenizer *tokenizer;
    struct corpus corpus = {.bytes = NULL};
    size_t n_threads = 1, n_tokens = 0;
    double seconds = 1, start, load, cold, warm;
    bool adds_special_tokens = false;

    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 't')
            path = optarg;
        else if (c == 'c')
            corpus_path = optarg;
        else if (c == 'n')
            n_threads = strtoul(optarg, NULL, 10);
        else if (c == 's')
            seconds = strtod(optarg, NULL);
        else if (c == 'p')
            adds_special_tokens = true;
        else
            usage();
    }
    if (!path || !corpus_path || n_threads < 1 || n_threads > THREADS_MAX)
        usage();
    read_file(&corpus, corpus_path);
    split(&corpus);
    start = now();
    if (leat_tokenizer_open(path, NULL, &tokenizer, &err) < 0) {
        char text[LEAT_ERROR_PRINT_MAX];

        leat_error_print(&err, text, sizeof(text));
        die("load", text);
    }
    load = now() - start;
    for (size_t i = 0; i < n_threads; i++) {
        threads[i] = (struct thread){.tokenizer = tokenizer,
                                     .corpus = &corpus,
                                     .index = i,
                                     .n_threads = n_threads,
                                     .adds_special_tokens = adds_special_tokens};
    }
    cold = measure_cold(threads, n_threads);
    warm = measure_warm(threads, n_threads, seconds);
    for (size_t i = 0; i < n_threads; i++) {
        n_tokens += threads[i].n_tokens;
        leat_tokenizer_context_free(threads[i].context);
    }
    printf("{\"tokenizer\": \"%s\", \"corpus\": \"%s\", \"documents\": %zu, \"bytes\": %zu, "
           "\"tokens\": %zu, \"threads\": %zu, \"cold_mb_s\": %.1f, \"warm_mb_s\": %.1f, "
           "\"load_ms\": %.1f, \"plan_bytes\": %zu, \"file_bytes\": %zu}\n",
           path, corpus_path, corpus.n_documents, corpus.n_bytes, n_tokens, n_threads,
           (double)corpus.n_bytes / 1e6 / cold, (double)corpus.n_bytes / 1e6 / warm, load * 1e3,
           leat_tokenizer_n_bytes(tokenizer), file_bytes(path));
    leat_tokenizer_free(tokenizer);
    free(corpus.documents);
    free(corpus.bytes);
    return 0;
}
