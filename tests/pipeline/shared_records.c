/* shared_records.c: see shared_records.h. */
#include "tests/pipeline/shared_records.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t random_state = 1;

uint64_t draw(uint64_t n) {
    struct leat_rng rng = {.state = random_state};
    uint64_t drawn = leat_rng_below(&rng, n);

    random_state = rng.state;
    return drawn;
}

static void add_name(struct leat_text *text, int64_t id) {
    static const char *const names[] = {
        "plain", "\"quoted, with comma\"", "\"two\nlines\"", "\"a \"\"word\"\" doubled\"",
        "",      "\xc3\xa9t\xc3\xa9",      "\"\"",
    };

    if (id % 97 == 13) { /* now and then a long one */
        leat_text_add(text, "\"");
        for (int i = 0; i < 700; i++)
            leat_text_add(text, "%c", i % 50 == 49 ? '\n' : 'a' + (int)(id + i) % 26);
        leat_text_add(text, "\"");
        return;
    }
    leat_text_add(text, "%s", names[(size_t)(id * 7 % 11) % 7]);
}

void write_data(const char *file, int64_t first, int64_t n, int64_t bad_every) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id,name,age\n");
    for (int64_t id = first; id < first + n; id++) {
        bool is_bad = bad_every > 0 && id % bad_every == bad_every - 1;

        leat_text_add(&text, "%lld,", (long long)id);
        add_name(&text, id);
        if (is_bad)
            leat_text_add(&text, id / bad_every % 2 ? ",12,more\n" : ",abc\n");
        else if (id % 10 == 3)
            leat_text_add(&text, ",\n");
        else
            leat_text_add(&text, ",%lld.%lld\n", (long long)(id % 80), (long long)(id % 4));
    }
    folder_write(file, text.data, text.n_bytes);
    free(text.data);
}

struct drive random_drive(void) {
    struct drive how = {
        .n_jobs = (unsigned)draw(16) + 1,
        .random = draw(1 << 30) + 1,
        .n_slots = (unsigned)draw(8) + 1,
        .options = {.max_map_jobs = (uint32_t)draw(16) + 1},
    };

    how.n_held = (unsigned)draw(how.n_slots);
    how.grows = draw(3) == 0;
    return how;
}

const char *block_option(void) {
    static const int sizes[] = {4096, 4097, 10000, 65536, 262144, 4194304};
    static char text[64];

    (void)snprintf(text, sizeof(text), "block_bytes: %d", sizes[draw(6)]);
    return text;
}
