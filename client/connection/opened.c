#include "client/connection/opened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/dtype.h"
#include "proto/slot.h"

static int check_message(const Leat__Opened *message, struct leat_error *err) {
    if (message->window == 0 || message->window > LEAT_MAX_WINDOW)
        return leat_error_set(err, -EPROTO,
                              "the daemon allows a window of %u batches, which is outside 1..%d: "
                              "check that leatd and libleat have the same version",
                              message->window, LEAT_MAX_WINDOW);
    if (message->n_tensors > LEAT_SLOT_MAX_TENSORS ||
        message->spec_digest.len != LEAT_DIGEST_BYTES ||
        (message->data_digest.len > 0 && message->data_digest.len != LEAT_DIGEST_BYTES))
        return leat_error_set(
            err, -EPROTO,
            "the daemon's description of the stream is not valid (%zu tensors, digests of %zu and "
            "%zu bytes): check that leatd and libleat have the same version",
            message->n_tensors, message->spec_digest.len, message->data_digest.len);
    return 0;
}

/* All but names and tensors. 0 or -ENOMEM. */
static int take_figures(struct leat_opened *opened, const Leat__Opened *message,
                        struct leat_error *err) {
    char *reason = strdup(message->has_n_steps ? "" : message->steps_reason);
    char *files = strdup(message->files);

    if (!reason || !files) {
        free(reason);
        free(files);
        return leat_error_oom(err);
    }
    free(opened->steps_reason);
    free(opened->files);
    opened->steps_reason = reason;
    opened->files = files;
    opened->order_version = message->order_version;
    opened->window = message->window;
    opened->batch_size = message->batch_size;
    opened->seed = message->seed;
    opened->has_epoch_steps = message->has_n_steps;
    opened->epoch_steps = message->n_steps;
    opened->has_constant_steps = message->has_constant_steps;
    memcpy(opened->digest, message->spec_digest.data, sizeof(opened->digest));
    memset(opened->data_digest, 0, sizeof(opened->data_digest));
    if (message->data_digest.len == sizeof(opened->data_digest))
        memcpy(opened->data_digest, message->data_digest.data, sizeof(opened->data_digest));
    return 0;
}

/* ---- the first description ---- */

static int take_tensor(struct leat_tensor_info *info, const Leat__Tensor *message,
                       struct leat_error *err) {
    enum leat_dtype dtype = leat_dtype_parse(message->dtype);

    if (!message->name[0] || !leat_dtype_is_element(dtype) || message->n_shape > LEAT_MAX_NDIM)
        return leat_error_set(err, -EPROTO,
                              "libleat does not support a tensor of dtype \"%.32s\" with %zu "
                              "dimensions: check that leatd and libleat have the same version",
                              message->dtype, message->n_shape);
    *info = (struct leat_tensor_info){
        .name = strdup(message->name),
        .dtype_name = leat_dtype_name(dtype),
        .dtype = (uint32_t)dtype,
        .ndim = (uint32_t)message->n_shape,
    };
    for (size_t d = 0; d < message->n_shape; d++)
        info->shape[d] = message->shape[d];
    return info->name ? 0 : leat_error_oom(err);
}

static int take_first(struct leat_opened *opened, const Leat__Opened *message,
                      struct leat_error *err) {
    int r = take_figures(opened, message, err);

    if (r < 0)
        return r;
    opened->left_out = strdup(message->left_out);
    opened->name = strdup(message->stream);
    opened->tensors = calloc(message->n_tensors + 1, sizeof(*opened->tensors));
    if (!opened->name || !opened->left_out || !opened->tensors)
        return leat_error_oom(err);
    for (size_t i = 0; i < message->n_tensors; i++) {
        r = take_tensor(&opened->tensors[i], message->tensors[i], err);
        if (r < 0)
            return r;
        opened->n_tensors = i + 1;
    }
    return 0;
}

/* ---- of the same stream ---- */

static bool has_same_type(const struct leat_tensor_info *info, const Leat__Tensor *message) {
    return strcmp(info->name, message->name) == 0 &&
           strcmp(info->dtype_name, message->dtype) == 0 && info->ndim == message->n_shape;
}

static bool has_same_shape(const struct leat_tensor_info *info, const Leat__Tensor *message) {
    return info->ndim == 0 ||
           memcmp(info->shape, message->shape, info->ndim * sizeof(info->shape[0])) == 0;
}

static int compare_message(const struct leat_opened *opened, const Leat__Opened *message,
                           struct leat_error *err) {
    if (message->n_tensors != opened->n_tensors || message->batch_size != opened->batch_size)
        return leat_error_set(err, -ESTALE,
                              "the stream %.64s has changed: it had %zu tensors and batches of "
                              "%llu rows, and now has %zu and %llu: open the stream again",
                              opened->name, opened->n_tensors,
                              (unsigned long long)opened->batch_size, message->n_tensors,
                              (unsigned long long)message->batch_size);
    for (size_t i = 0; i < opened->n_tensors; i++)
        if (!has_same_type(&opened->tensors[i], message->tensors[i]) ||
            !has_same_shape(&opened->tensors[i], message->tensors[i]))
            return leat_error_set(err, -ESTALE,
                                  "the stream %.64s has changed: its tensor %.64s now has another "
                                  "name, type or shape: open the stream again",
                                  opened->name, opened->tensors[i].name);
    if (message->window < opened->window)
        return leat_error_set(err, -ESTALE,
                              "the daemon now allows a window of %u batches, but allowed %u "
                              "before: open the stream again",
                              message->window, opened->window);
    return 0;
}

/* ---- of a stream that an operator has changed ---- */

static int check_types(const struct leat_opened *opened, const Leat__Opened *message,
                       struct leat_error *err) {
    if (message->n_tensors != opened->n_tensors)
        return leat_error_set(err, -ESTALE,
                              "a reload of the daemon's settings changed the stream %.64s: it had "
                              "%zu tensors, and now has %zu: open the stream again",
                              opened->name, opened->n_tensors, message->n_tensors);
    for (size_t i = 0; i < opened->n_tensors; i++) {
        const struct leat_tensor_info *info = &opened->tensors[i];
        const Leat__Tensor *tensor = message->tensors[i];

        if (!has_same_type(info, tensor))
            return leat_error_set(
                err, -ESTALE,
                "a reload of the daemon's settings changed the stream %.64s: its tensor %.64s (%s, "
                "%u dimensions) is now the tensor %.64s (%.16s, %zu dimensions): open the stream "
                "again",
                opened->name, info->name, info->dtype_name, info->ndim, tensor->name, tensor->dtype,
                tensor->n_shape);
    }
    return 0;
}

static int take_changed(struct leat_opened *opened, const Leat__Opened *message,
                        struct leat_error *err) {
    int r = check_types(opened, message, err);

    if (r == 0)
        r = take_figures(opened, message, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < opened->n_tensors; i++)
        for (size_t d = 0; d < opened->tensors[i].ndim; d++)
            opened->tensors[i].shape[d] = message->tensors[i]->shape[d];
    return 0;
}

/* ---- all of it ---- */

/* A position has only the beginning of a digest, which the daemon checks. */
static int check_digest(const struct leat_opened *opened, const ProtobufCBinaryData *found,
                        const ProtobufCBinaryData *wanted, struct leat_error *err) {
    char has[LEAT_DIGEST_HEX_SIZE], want[LEAT_DIGEST_HEX_SIZE];

    if (wanted->len != LEAT_DIGEST_BYTES ||
        memcmp(wanted->data, found->data, LEAT_DIGEST_BYTES) == 0)
        return 0;
    leat_digest_hex(found->data, has);
    leat_digest_hex(wanted->data, want);
    return leat_error_set(err, -ESTALE,
                          "the stream %.64s has changed: its spec now has the digest %.16s..., but "
                          "this program expects %.16s...",
                          opened->name, has, want);
}

int leat_opened_take(struct leat_opened *opened, const Leat__Opened *message,
                     const ProtobufCBinaryData *wanted, struct leat_error *err) {
    int r = check_message(message, err);

    if (r < 0)
        return r;
    if (!opened->name) {
        r = take_first(opened, message, err);
        if (r < 0)
            leat_opened_deinit(opened);
    } else if (opened->may_change)
        r = take_changed(opened, message, err);
    else
        r = compare_message(opened, message, err);
    return r < 0 ? r : check_digest(opened, &message->spec_digest, wanted, err);
}

void leat_opened_accept(struct leat_opened *opened) {
    opened->may_change = false;
    opened->version++;
}

void leat_opened_allow_change(struct leat_opened *opened) {
    opened->may_change = true;
}

void leat_opened_set_steps(struct leat_opened *opened, uint64_t n_steps) {
    opened->has_epoch_steps = true;
    opened->epoch_steps = n_steps;
    opened->steps_reason[0] = '\0';
}

void leat_opened_deinit(struct leat_opened *opened) {
    for (size_t i = 0; i < opened->n_tensors; i++)
        free((char *)(uintptr_t)opened->tensors[i].name);
    free(opened->tensors);
    free(opened->name);
    free(opened->steps_reason);
    free(opened->left_out);
    free(opened->files);
    *opened = (struct leat_opened){.version = 0};
}
