#include "pipeline/plan/description.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/data_text.h"
#include "pipeline/plan/spec_text.h"

#define HEAD      "leat description 1 "
#define TAIL      "checksum "
#define TAIL_SIZE (sizeof(TAIL) - 1 + LEAT_DIGEST_HEX_SIZE) /* with the end of line */
#define FILE_MAX  (LEAT_SPEC_TEXT_MAX + 4096)
#define NAME_SIZE (8 + 2 * LEAT_POSITION_DIGEST_BYTES)

/* ---- the file ---- */

static void add_checksum(struct leat_text *text) {
    char hex[LEAT_DIGEST_HEX_SIZE];
    uint8_t digest[LEAT_DIGEST_BYTES];

    leat_blake2b(text->data, text->n_bytes, digest);
    leat_digest_hex(digest, hex);
    leat_text_add(text, TAIL "%s\n", hex);
}

char *leat_description_pack(const char *kind, const char *text) {
    struct leat_text file = {.data = NULL};

    leat_text_add(&file, HEAD "%s\n%s", kind, text);
    if (!file.failed)
        add_checksum(&file);
    if (!file.failed)
        return file.data;
    free(file.data);
    return NULL;
}

const char *leat_description_unpack(const char *kind, char *file, size_t n_bytes) {
    size_t n_kind = strlen(kind), n_head = sizeof(HEAD) - 1 + n_kind + 1;
    struct leat_text again = {.data = NULL};
    bool is_whole;

    if (n_bytes < n_head + TAIL_SIZE || memchr(file, '\0', n_bytes) ||
        strncmp(file, HEAD, sizeof(HEAD) - 1) != 0 ||
        strncmp(file + sizeof(HEAD) - 1, kind, n_kind) != 0 || file[n_head - 1] != '\n')
        return NULL;
    leat_text_add_bytes(&again, file, n_bytes - TAIL_SIZE);
    if (!again.failed)
        add_checksum(&again);
    is_whole = !again.failed &&
               memcmp(again.data + n_bytes - TAIL_SIZE, file + n_bytes - TAIL_SIZE, TAIL_SIZE) == 0;
    free(again.data);
    file[n_bytes - TAIL_SIZE] = '\0';
    return is_whole ? file + n_head : NULL;
}

/* ---- the folder ---- */

void leat_descriptions_init(struct leat_descriptions *descriptions, const char *state_directory) {
    leat_state_folder_init(&descriptions->folder, state_directory, "positions", ".txt",
                           LEAT_DESCRIPTION_FILES, LEAT_DESCRIPTION_BYTES);
}

/* The name has as much of the digest as a position has. */
static void name_of(const char *kind, const uint8_t *digest, char ret_name[NAME_SIZE]) {
    size_t n = (size_t)snprintf(ret_name, NAME_SIZE, "%s-", kind);

    leat_hex(digest, LEAT_POSITION_DIGEST_BYTES, ret_name + n);
}

static int keep_text(const struct leat_descriptions *descriptions, const char *kind,
                     const uint8_t *digest, const char *text, struct leat_error *err) {
    char name[NAME_SIZE], *file;
    int r;

    name_of(kind, digest, name);
    file = text ? leat_description_pack(kind, text) : NULL;
    if (!file)
        return leat_error_oom(err);
    r = strlen(file) > FILE_MAX
            ? 0
            : leat_state_folder_write(&descriptions->folder, name, file, strlen(file), err);
    free(file);
    return r;
}

static bool is_kept(const struct leat_descriptions *descriptions, const char *kind,
                    const uint8_t *digest) {
    char name[NAME_SIZE];

    name_of(kind, digest, name);
    return leat_state_folder_touch(&descriptions->folder, name);
}

int leat_descriptions_keep(const struct leat_descriptions *descriptions,
                           const struct leat_plan *plan, struct leat_error *err) {
    char *text;
    int r = 0;

    if (!descriptions->folder.path[0])
        return 0;
    if (!is_kept(descriptions, "spec", plan->spec_digest))
        r = keep_text(descriptions, "spec", plan->spec_digest, plan->spec_text, err);
    if (r < 0 || !plan->data || is_kept(descriptions, "data", plan->data_digest))
        return r;
    text = leat_data_text(&plan->source->files, plan->data);
    r = keep_text(descriptions, "data", plan->data_digest, text, err);
    free(text);
    return r;
}

/* ---- what differs ---- */

static void add_digests(struct leat_text *text, const uint8_t *old, const uint8_t *new) {
    char hex[LEAT_DIGEST_HEX_SIZE];

    for (int i = 0; i < 2; i++) {
        uint8_t digest[LEAT_DIGEST_BYTES] = {0};

        memcpy(digest, i ? new : old, LEAT_POSITION_DIGEST_BYTES);
        leat_digest_hex(digest, hex);
        leat_text_add(text, "%s%.*s", i ? ", is " : " was ", 2 * LEAT_POSITION_DIGEST_BYTES, hex);
    }
}

/* Compares the text that is kept of the old digest with `new`. */
static void add_difference(const struct leat_descriptions *descriptions, const char *kind,
                           const uint8_t *old_digest, const uint8_t *new_digest, const char *new,
                           void (*compare)(const char *, const char *, struct leat_text *),
                           struct leat_text *text) {
    struct leat_error unused = LEAT_ERROR_INIT;
    char name[NAME_SIZE], *file = NULL;
    const char *old = NULL;
    size_t n_bytes, n_before = text->n_bytes;

    name_of(kind, old_digest, name);
    if (leat_state_folder_read(&descriptions->folder, name, FILE_MAX, &file, &n_bytes, &unused) ==
        0)
        old = leat_description_unpack(kind, file, n_bytes);
    if (old && new)
        compare(old, new, text);
    if (text->n_bytes == n_before) {
        leat_text_add(text, "the digest of the %s", kind);
        add_digests(text, old_digest, new_digest);
        leat_text_add(text, "%s",
                      old ? "" : " (leat has no earlier description, so no details are known)");
    }
    free(file);
}

static bool is_different(bool has, const uint8_t *claimed, const uint8_t *digest) {
    return has && memcmp(claimed, digest, LEAT_POSITION_DIGEST_BYTES) != 0;
}

int leat_descriptions_check(const struct leat_descriptions *descriptions,
                            const struct leat_plan *plan, const struct leat_claim *claim,
                            struct leat_error *err) {
    bool is_spec = is_different(claim->has_spec, claim->spec, plan->spec_digest);
    bool is_data = is_different(claim->has_data, claim->data, plan->data_digest);
    struct leat_text text = {.data = NULL};
    char *new;

    if (!is_spec && !is_data)
        return 0;
    if (is_spec)
        add_difference(descriptions, "spec", claim->spec, plan->spec_digest, plan->spec_text,
                       leat_spec_text_compare, &text);
    if (is_spec && is_data)
        leat_text_add(&text, "; ");
    if (is_data) {
        new = plan->data ? leat_data_text(&plan->source->files, plan->data) : NULL;
        add_difference(descriptions, "data", claim->data, plan->data_digest, new,
                       leat_data_text_compare, &text);
        free(new);
    }
    if (text.failed)
        leat_error_oom(err);
    else
        leat_error_set(err, -ESTALE, "has changed since the position was saved: %s", text.data);
    free(text.data);
    leat_error_prefix(err, "streams.%s", plan->spec->name);
    return err->code;
}
