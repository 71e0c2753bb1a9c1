/* renew.c: a stream goes on as another one, as the daemon's configuration was loaded anew.
 *
 * That happens between two epochs only, and by the daemon's wish. The position stays, and so do
 * seed and window that the trainer gave; digests, the stream's own seed, the number of steps and
 * the size of batches become those of the new one. The trainer's code was written for certain
 * tensors: with other names, types or numbers of dimensions the stream fails, and says which.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/stream.h"
#include "proto/base/dtype.h"

int leat_stream_renew(struct leat_stream *stream) {
    struct leat_request *request = &stream->request;

    if (leat_request_is_done(request, stream->epoch, stream->n_taken))
        return LEAT_END;
    if (stream->step != stream->rank) {
        stream->error.code = -ESTALE;
        return -ESTALE;
    }
    leat_request_move(request, stream->epoch, leat_stream_round(stream), stream->n_taken);
    leat_request_loosen(request, true);
    stream->error = LEAT_ERROR_INIT;
    stream->is_renewed = true;
    leat_retired_end(&stream->retired);
    if (leat_stream_retire(stream) < 0)
        return stream->failure;
    leat_reconnect_leap(stream);
    return 0;
}

static int check_tensors(const struct leat_stream *stream, const Leat__Opened *message,
                         struct leat_error *err) {
    if (message->n_tensors != stream->n_tensors)
        return leat_error_set(err, -ESTALE,
                              "the stream %.64s has become another one by a reload of the daemon's "
                              "settings: it had %zu tensors, and has %zu",
                              stream->name, stream->n_tensors, message->n_tensors);
    for (size_t i = 0; i < stream->n_tensors; i++) {
        const struct leat_tensor_info *info = &stream->tensors[i];
        const Leat__Tensor *tensor = message->tensors[i];

        if (strcmp(info->name, tensor->name) != 0 || strcmp(info->dtype_name, tensor->dtype) != 0 ||
            info->ndim != tensor->n_shape)
            return leat_error_set(err, -ESTALE,
                                  "the stream %.64s has become another one by a reload of the "
                                  "daemon's settings: its tensor %.64s of %s with %u dimensions is "
                                  "%.64s of %.16s with %zu now",
                                  stream->name, info->name, info->dtype_name, info->ndim,
                                  tensor->name, tensor->dtype, tensor->n_shape);
    }
    return 0;
}

int leat_session_take_renewed(struct leat_stream *stream, const Leat__Opened *message,
                              struct leat_error *err) {
    char *reason;
    int r = check_tensors(stream, message, err);

    if (r < 0)
        return r;
    reason = strdup(message->has_n_steps ? "" : message->steps_reason);
    if (!reason)
        return leat_error_oom(err);
    free(stream->steps_reason);
    stream->steps_reason = reason;
    stream->window = message->window;
    stream->batch_size = message->batch_size;
    stream->seed = message->seed;
    stream->has_epoch_steps = message->has_n_steps;
    stream->epoch_steps = message->n_steps;
    stream->has_constant_steps = message->has_constant_steps;
    memcpy(stream->digest, message->spec_digest.data, sizeof(stream->digest));
    memset(stream->data_digest, 0, sizeof(stream->data_digest));
    if (message->data_digest.len == sizeof(stream->data_digest))
        memcpy(stream->data_digest, message->data_digest.data, sizeof(stream->data_digest));
    for (size_t i = 0; i < stream->n_tensors; i++)
        for (size_t d = 0; d < stream->tensors[i].ndim; d++)
            stream->tensors[i].shape[d] = message->tensors[i]->shape[d];
    return 0;
}
