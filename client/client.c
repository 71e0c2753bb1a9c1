/* client.c: see leat.h. A client is an address and the last failure. Each opening makes a
 * connection of its own, which belongs to the stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/builder.h"
#include "client/launcher.h"
#include "client/leat.h"
#include "client/stream/stream.h"
#include "proto/base/error.h"
#include "proto/leat.pb-c.h"

#define OPEN_TIMEOUT_MS 120000

struct leat_client {
    char *address; /* NULL: search */
    struct leat_error error;
};

int leat_client_new(const char *address, struct leat_client **ret_client) {
    struct leat_client *client;

    if (address && strlen(address) >= 4096)
        return -EINVAL;
    client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->address = address ? strdup(address) : NULL;
    if (address && !client->address) {
        free(client);
        return -ENOMEM;
    }
    *ret_client = client;
    return 0;
}

struct leat_client *leat_client_free(struct leat_client *client) {
    if (!client)
        return NULL;
    free(client->address);
    free(client);
    return NULL;
}

const struct leat_error *leat_client_error(const struct leat_client *client) {
    return &client->error;
}

/* Copies the caller's options into this library's struct, whichever version of it the caller was
 * compiled with: members that the caller lacks are 0; members that the library lacks must be 0. */
static int read_options(const struct leat_open_options *given, struct leat_open_options *ret,
                        struct leat_error *err) {
    size_t n_known = sizeof(*ret);

    leat_open_options_init(ret);
    if (!given)
        return 0;
    if (given->struct_size < sizeof(given->struct_size) || given->struct_size > 4096)
        return leat_error_set(err, -EINVAL,
                              "options: struct_size is %zu; set it with leat_open_options_init()",
                              given->struct_size);
    for (size_t i = n_known; i < given->struct_size; i++)
        if (((const uint8_t *)given)[i])
            return leat_error_set(err, -E2BIG,
                                  "options: this libleat " LEAT_VERSION
                                  " is too old for an option that you set; use a newer libleat");
    memcpy(ret, given, given->struct_size < n_known ? given->struct_size : n_known);
    return 0;
}

/* Reads the position, and puts its epoch and step where they are otherwise given as numbers. */
static int take_position(struct leat_open_options *options, struct leat_position *ret_position,
                         struct leat_error *err) {
    if (options->accept_changes && !options->position)
        return leat_error_set(err, -EINVAL,
                              "options: accept_changes works only together with a position: give a "
                              "position, or leave accept_changes out");
    if (!options->position)
        return 0;
    if (options->first_epoch || options->first_step)
        return leat_error_set(err, -EINVAL,
                              "options: give either a position, or first_epoch and first_step");
    if (leat_position_read(options->position, ret_position, err) < 0) {
        leat_error_prefix(err, "options.position");
        return err->code;
    }
    options->first_epoch = ret_position->epoch;
    options->first_step = ret_position->step;
    return 0;
}

static int check_options(struct leat_open_options *options, struct leat_error *err) {
    if (options->delivery != LEAT_DELIVERY_SHARED && options->delivery != LEAT_DELIVERY_COPY)
        return leat_error_set(
            err, -EINVAL,
            "options: delivery is %d; give LEAT_DELIVERY_SHARED or LEAT_DELIVERY_COPY",
            options->delivery);
    if (options->shuffle < LEAT_SHUFFLE_AS_DECLARED || options->shuffle > LEAT_SHUFFLE_OFF)
        return leat_error_set(err, -EINVAL,
                              "options: shuffle is %d; give LEAT_SHUFFLE_AS_DECLARED, _ON or _OFF",
                              options->shuffle);
    if (options->open_timeout_ms == 0)
        options->open_timeout_ms = OPEN_TIMEOUT_MS;
    return 0;
}

static int complete_ranks(const struct leat_open_options *options, struct leat_ranks *ret_ranks,
                          struct leat_error *err) {
    int r;

    *ret_ranks = (struct leat_ranks){
        .rank = options->rank,
        .world_size = options->world_size,
        .local_rank = options->local_rank,
        .local_world_size = options->local_world_size,
    };
    r = leat_launcher_complete(ret_ranks, err);
    if (r < 0)
        leat_error_prefix(err, "options");
    return r;
}

/* `position` is options->position as it was read. */
static void fill_start(Leat__Position *start, const struct leat_open_options *options,
                       struct leat_position *position) {
    leat__position__init(start);
    start->epoch = options->first_epoch;
    start->step = options->first_step;
    if (options->position) {
        start->spec_digest = (ProtobufCBinaryData){sizeof(position->spec), position->spec};
        start->data_digest = (ProtobufCBinaryData){sizeof(position->data), position->data};
        start->has_seed = true;
        start->seed = position->seed;
        start->world_size = position->world_size;
    }
    if (options->expect_digest) {
        start->spec_digest.data = (uint8_t *)(uintptr_t)options->expect_digest;
        start->spec_digest.len = LEAT_DIGEST_BYTES;
    }
}

static void fill_request(Leat__OpenRequest *message, Leat__Position *start,
                         const struct leat_open_options *options, const struct leat_ranks *ranks) {
    message->start = start;
    message->accept_changes = options->accept_changes;
    message->split = (char *)(uintptr_t)(options->split ? options->split : "");
    message->shuffle = (uint32_t)options->shuffle;
    message->n_epochs = options->n_epochs;
    message->rank = ranks->rank;
    message->world_size = ranks->world_size;
    message->local_rank = ranks->local_rank;
    message->local_world_size = ranks->local_world_size;
    message->rank_source = (char *)(uintptr_t)ranks->source;
    message->window = options->window;
    message->has_seed = options->has_seed;
    message->seed = options->seed;
    message->client_name =
        (char *)(uintptr_t)(options->client_name ? options->client_name
                                                 : program_invocation_short_name);
    message->has_n_steps = options->n_steps > 0;
    message->n_steps = options->n_steps;
}

static int open_request(struct leat_client *client, Leat__OpenRequest *message,
                        const struct leat_open_options *given, struct leat_stream **ret_stream) {
    struct leat_open_options options;
    struct leat_position position;
    struct leat_ranks ranks;
    Leat__Position start;
    int r;

    r = read_options(given, &options, &client->error);
    if (r == 0)
        r = take_position(&options, &position, &client->error);
    if (r == 0)
        r = check_options(&options, &client->error);
    if (r == 0)
        r = complete_ranks(&options, &ranks, &client->error);
    if (r < 0)
        return r;
    fill_start(&start, &options, &position);
    fill_request(message, &start, &options, &ranks);
    return leat_stream_open(client->address, message, &options, ret_stream, &client->error);
}

int leat_client_open(struct leat_client *client, const char *stream,
                     const struct leat_open_options *options, struct leat_stream **ret_stream) {
    Leat__OpenRequest message = LEAT__OPEN_REQUEST__INIT;

    *ret_stream = NULL;
    client->error = LEAT_ERROR_INIT;
    message.stream = (char *)(uintptr_t)stream;
    return open_request(client, &message, options, ret_stream);
}

int leat_client_open_built(struct leat_client *client, const struct leat_builder *builder,
                           const struct leat_open_options *options,
                           struct leat_stream **ret_stream) {
    Leat__OpenRequest message = LEAT__OPEN_REQUEST__INIT;
    const struct leat_spec *spec;
    int r;

    *ret_stream = NULL;
    client->error = LEAT_ERROR_INIT;
    r = leat_builder_spec(builder, &spec, &client->error);
    if (r < 0)
        return r;
    if (leat_spec_pack(spec, &message.spec) < 0)
        return leat_error_oom(&client->error);
    r = open_request(client, &message, options, ret_stream);
    leat_spec_message_free(message.spec);
    return r;
}

/* ---- errors ---- */

const char *leat_version(void) {
    return LEAT_VERSION;
}

int leat_error_code(const struct leat_error *error) {
    return error->code;
}

const char *leat_error_message(const struct leat_error *error) {
    return error->message;
}

const char *leat_error_file(const struct leat_error *error) {
    return error->file;
}

uint32_t leat_error_line(const struct leat_error *error) {
    return error->line;
}

uint32_t leat_error_column(const struct leat_error *error) {
    return error->column;
}

const char *leat_error_path(const struct leat_error *error) {
    return error->path;
}

struct leat_error *leat_error_copy(const struct leat_error *error) {
    struct leat_error *copy = malloc(sizeof(*copy));

    if (copy)
        *copy = *error;
    return copy;
}

struct leat_error *leat_error_free(struct leat_error *error) {
    free(error);
    return NULL;
}

const char *leat_error_text(const struct leat_error *error) {
    static _Thread_local char text[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(error, text, sizeof(text));
    return text;
}
