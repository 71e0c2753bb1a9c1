/* listing.c: see listing.h. expat tells elements; a document type, from which entities would come,
 * ends parsing. */
#include "daemon/fetch/listing.h"

#include <errno.h>
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

#define DEPTH_MAX   8
#define ELEMENT_MAX 32

struct walk {
    XML_Parser parser;
    void *result;
    /* An element has ended; path[0..depth-1] are the names around it and its own. */
    const char *(*take)(void *result, struct walk *walk);
    void (*begin)(void *result, struct walk *walk);
    char path[DEPTH_MAX][ELEMENT_MAX];
    size_t depth;
    char text[LEAT_LISTING_TEXT_MAX + 1];
    size_t n_text;
    const char *why; /* NULL: fine */
};

static void stop(struct walk *walk, const char *why) {
    if (!walk->why)
        walk->why = why;
    (void)XML_StopParser(walk->parser, XML_FALSE);
}

/* Without the prefix of a name space. */
static void on_start(void *data, const XML_Char *name, const XML_Char **attributes) {
    struct walk *walk = data;
    const char *colon = strrchr(name, ':');

    (void)attributes;
    if (walk->depth == DEPTH_MAX) {
        stop(walk, "its elements are nested too deep");
        return;
    }
    (void)snprintf(walk->path[walk->depth++], ELEMENT_MAX, "%s", colon ? colon + 1 : name);
    walk->n_text = 0;
    if (walk->begin)
        walk->begin(walk->result, walk);
}

static void on_end(void *data, const XML_Char *name) {
    struct walk *walk = data;
    const char *why;

    (void)name;
    walk->text[walk->n_text] = '\0';
    why = walk->take(walk->result, walk);
    if (why)
        stop(walk, why);
    walk->n_text = 0;
    if (walk->depth > 0)
        walk->depth--;
}

static void on_text(void *data, const XML_Char *text, int n) {
    struct walk *walk = data;

    if ((size_t)n > LEAT_LISTING_TEXT_MAX - walk->n_text) {
        stop(walk, "one of its texts is too long");
        return;
    }
    memcpy(walk->text + walk->n_text, text, (size_t)n);
    walk->n_text += (size_t)n;
}

static void on_doctype(void *data, const XML_Char *name, const XML_Char *system,
                       const XML_Char *public, int has_internal) {
    (void)name;
    (void)system;
    (void)public;
    (void)has_internal;
    stop(data, "it has a document type");
}

/* NULL, or why it is not well. */
static const char *parse(struct walk *walk, const char *xml, size_t n_bytes) {
    if (n_bytes > LEAT_LISTING_BYTES_MAX)
        return "it is too long";
    walk->parser = XML_ParserCreate(NULL);
    if (!walk->parser)
        return "no memory is left";
    XML_SetUserData(walk->parser, walk);
    XML_SetElementHandler(walk->parser, on_start, on_end);
    XML_SetCharacterDataHandler(walk->parser, on_text);
    XML_SetStartDoctypeDeclHandler(walk->parser, on_doctype);
    if (XML_Parse(walk->parser, xml, (int)n_bytes, 1) != XML_STATUS_OK && !walk->why)
        walk->why = XML_ErrorString(XML_GetErrorCode(walk->parser));
    XML_ParserFree(walk->parser);
    return walk->why;
}

static bool is_at(const struct walk *walk, size_t depth, const char *name) {
    return walk->depth == depth && strcmp(walk->path[depth - 1], name) == 0;
}

/* ---- pages ---- */

static void begin_item(void *result, struct walk *walk) {
    struct leat_listing *listing = result;

    if (walk->depth == 1 && strcmp(walk->path[0], "ListBucketResult") != 0) {
        stop(walk, "it is not a ListBucketResult");
        return;
    }
    if (!is_at(walk, 2, "Contents"))
        return;
    if (!leat_array_reserve(&listing->items, listing->n_items + 1, &listing->capacity)) {
        stop(walk, "no memory is left");
        return;
    }
    listing->items[listing->n_items++] = (struct leat_listing_item){.n_bytes = UINT64_MAX};
}

static const char *keep(char **member, const struct walk *walk) {
    if (*member)
        return "an object has an element twice";
    if (strlen(walk->text) != walk->n_text || walk->n_text == 0)
        return "an object has an empty element";
    *member = strdup(walk->text);
    return *member ? NULL : "no memory is left";
}

static const char *take_size(struct leat_listing_item *item, const struct walk *walk) {
    if (walk->n_text == 0 || walk->n_text > 18 ||
        strspn(walk->text, "0123456789") != walk->n_text || item->n_bytes != UINT64_MAX)
        return "a size is not a number";
    item->n_bytes = strtoull(walk->text, NULL, 10);
    return NULL;
}

static const char *take_of_page(void *result, struct walk *walk) {
    struct leat_listing *listing = result;
    struct leat_listing_item *item =
        listing->n_items > 0 ? &listing->items[listing->n_items - 1] : NULL;

    if (is_at(walk, 2, "IsTruncated"))
        listing->is_truncated = strcmp(walk->text, "true") == 0;
    if (is_at(walk, 2, "NextContinuationToken"))
        memcpy(listing->token, walk->text, walk->n_text + 1);
    if (item && is_at(walk, 2, "Contents") &&
        (!item->key || !item->etag || item->n_bytes == UINT64_MAX))
        return "an object lacks Key, ETag or Size";
    if (!item || walk->depth != 3 || strcmp(walk->path[1], "Contents") != 0)
        return NULL;
    if (is_at(walk, 3, "Key"))
        return keep(&item->key, walk);
    if (is_at(walk, 3, "ETag"))
        return keep(&item->etag, walk);
    return is_at(walk, 3, "Size") ? take_size(item, walk) : NULL;
}

int leat_listing_parse(const char *xml, size_t n_bytes, struct leat_listing *ret_listing,
                       struct leat_error *err) {
    struct walk walk = {.result = ret_listing, .take = take_of_page, .begin = begin_item};
    const char *why;

    *ret_listing = (struct leat_listing){.items = NULL};
    why = parse(&walk, xml, n_bytes);
    if (!why && ret_listing->is_truncated && !ret_listing->token[0])
        why = "it is incomplete, but does not say where it continues";
    if (why)
        return leat_error_set(err, -EBADMSG, "the store's list of objects is damaged: %s", why);
    return 0;
}

void leat_listing_deinit(struct leat_listing *listing) {
    for (size_t i = 0; i < listing->n_items; i++) {
        free(listing->items[i].key);
        free(listing->items[i].etag);
    }
    free(listing->items);
    listing->items = NULL;
    listing->n_items = 0;
}

/* ---- uploads ---- */

static const char *take_of_begun(void *result, struct walk *walk) {
    if (is_at(walk, 2, "UploadId"))
        memcpy(result, walk->text, walk->n_text + 1);
    return NULL;
}

int leat_upload_begun_parse(const char *xml, size_t n_bytes,
                            char ret_upload[LEAT_LISTING_TEXT_MAX + 1], struct leat_error *err) {
    struct walk walk = {.result = ret_upload, .take = take_of_begun};

    ret_upload[0] = '\0';
    if (parse(&walk, xml, n_bytes) || !ret_upload[0])
        return leat_error_set(err, -EBADMSG, "the store's answer contains no upload id");
    return 0;
}

static const char *take_of_ended(void *result, struct walk *walk) {
    if (strcmp(walk->path[0], "CompleteMultipartUploadResult") == 0)
        *(bool *)result = true;
    return NULL;
}

/* White space comes first while the store works, and an error comes as a success does. */
int leat_upload_ended_parse(const char *xml, size_t n_bytes, struct leat_error *err) {
    bool has_ended = false;
    struct walk walk = {.result = &has_ended, .take = take_of_ended};
    struct leat_store_error cause;

    while (n_bytes > 0 && strchr(" \t\r\n", xml[0])) {
        xml++;
        n_bytes--;
    }
    if (!parse(&walk, xml, n_bytes) && has_ended)
        return 0;
    leat_store_error_parse(xml, n_bytes, &cause);
    return leat_error_set(err, -EBADMSG, "the store did not join the uploaded parts: %s: %s",
                          cause.code[0] ? cause.code : "it does not say why", cause.message);
}

/* ---- errors ---- */

static const char *take_of_error(void *result, struct walk *walk) {
    struct leat_store_error *error = result;

    if (walk->depth != 2 || strcmp(walk->path[0], "Error") != 0)
        return NULL;
    if (is_at(walk, 2, "Code"))
        (void)snprintf(error->code, sizeof(error->code), "%.120s", walk->text);
    if (is_at(walk, 2, "Message"))
        (void)snprintf(error->message, sizeof(error->message), "%.250s", walk->text);
    return NULL;
}

void leat_store_error_parse(const char *xml, size_t n_bytes, struct leat_store_error *ret_error) {
    struct walk walk = {.result = ret_error, .take = take_of_error};

    *ret_error = (struct leat_store_error){.code = ""};
    (void)parse(&walk, xml, n_bytes);
}
