/* history.c: see history.h.
 *
 * A packed message is its packed fields, one after the other, in any order. So a sample is packed
 * without its streams, and its streams follow. A reply joins packed samples without parsing them,
 * as fields that protobuf-c does not know; see the encoding guide of Protocol Buffers. */
#include "daemon/metrics/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS    UINT64_C(1000000000)
#define SLACK        20 /* a sample may be a twentieth of a period early */
#define SECONDS_PART 4  /* the samples of seconds have a quarter of all bytes */
#define PREFIX_MAX   10 /* bytes of a tag and a length */

#define TAG_STREAM    0x62 /* Sample.streams, with a length */
#define TAG_NAME      0x0a /* StreamSample.name, with a length: it is packed first */
#define NUMBER_SAMPLE 1    /* HistoryReply.samples */

int leat_history_init(struct leat_history *history, uint64_t max_bytes) {
    *history = (struct leat_history){
        .parts = {[LEAT_HISTORY_SECONDS] = {.period_ns = SECOND_NS,
                                            .max_samples = 600,
                                            .max_bytes = max_bytes / SECONDS_PART},
                  [LEAT_HISTORY_TENS] = {.period_ns = 10 * SECOND_NS,
                                         .max_samples = 2160,
                                         .max_bytes = max_bytes - max_bytes / SECONDS_PART}}};
    for (int i = 0; i < LEAT_N_HISTORY_TIERS; i++) {
        struct leat_history_part *part = &history->parts[i];

        part->samples = calloc(part->max_samples, sizeof(struct leat_history_sample *));
        if (!part->samples) {
            leat_history_deinit(history);
            return -ENOMEM;
        }
    }
    return 0;
}

static void drop_oldest(struct leat_history_part *part) {
    struct leat_history_sample *oldest = part->samples[part->first];

    part->n_bytes -= sizeof(*oldest) + oldest->n_bytes;
    free(oldest);
    part->first = (part->first + 1) % part->max_samples;
    part->n_samples--;
}

void leat_history_deinit(struct leat_history *history) {
    for (int i = 0; i < LEAT_N_HISTORY_TIERS; i++) {
        struct leat_history_part *part = &history->parts[i];

        while (part->n_samples > 0)
            drop_oldest(part);
        free(part->samples);
        free(part->before);
        *part = (struct leat_history_part){.samples = NULL};
    }
}

/* ---- making a sample ---- */

/* Writes a varint of protobuf: seven bits a byte, the lowest first. */
static size_t put_number(uint8_t *bytes, uint64_t number) {
    size_t n = 0;

    for (; number >= 0x80; number >>= 7)
        bytes[n++] = (uint8_t)(number | 0x80);
    bytes[n++] = (uint8_t)number;
    return n;
}

static uint64_t take_number(const uint8_t **bytes) {
    uint64_t number = 0;

    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*bytes)++;

        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return number;
    }
}

struct stream_change {
    Leat__StreamSample message;
    struct leat_figure_list others;
    Leat__StageSample stages[LEAT_READING_MAX_STAGES];
    Leat__StageSample *pointers[LEAT_READING_MAX_STAGES];
};

static void describe_stages(struct stream_change *change, const struct leat_stream_reading *now,
                            const struct leat_stream_reading *before) {
    change->message.stages = change->pointers;
    for (size_t i = 0; i < now->n_stages; i++) {
        const struct leat_stage_reading *stage = &now->stages[i];
        const struct leat_stage_reading *old =
            before ? leat_stream_reading_find(before, stage->name) : NULL;
        Leat__StageSample *message = &change->stages[change->message.n_stages];
        struct leat_stage_figures figures;

        leat__stage_sample__init(message);
        message->name = (char *)(uintptr_t)stage->name;
        message->role = (char *)(uintptr_t)leat_role_name(stage->role);
        leat_figures_subtract(leat_stage_figure_table, &stage->figures, old ? &old->figures : NULL,
                              &figures);
        leat_figures_to_message(leat_stage_figure_table, &figures, &message->base, NULL);
        if (message->busy_ns > 0 || message->n_records > 0)
            change->pointers[change->message.n_stages++] = message;
    }
}

/* False if nothing happened to the stage, so that the sample leaves it out. */
static bool describe_stream(struct stream_change *change, const struct leat_stream_reading *now,
                            const struct leat_stream_reading *before) {
    Leat__StreamSample *message = &change->message;
    struct leat_stream_figures figures;

    leat__stream_sample__init(message);
    message->name = (char *)(uintptr_t)now->name;
    message->is_own = now->owner == LEAT_OWNER_TRAINER;
    message->is_other = now->owner == LEAT_OWNER_OTHER;
    leat_figures_subtract(leat_stream_figure_table, &now->counts.figures,
                          before ? &before->counts.figures : NULL, &figures);
    for (const struct leat_figure *figure = leat_stream_figure_table; figure->member; figure++)
        if (!figure->key)
            *leat_figure_at(figure, &figures) = 0;
    change->others.n = 0;
    leat_figures_to_message(leat_stream_figure_table, &figures, &message->base, &change->others);
    describe_stages(change, now, before);
    return message->n_stages > 0 || message->n_batches > 0 || figures.n_sessions > 0 ||
           figures.n_slots > 0;
}

static void describe_daemon(Leat__Sample *message, const struct leat_reading *now,
                            const struct leat_reading *before) {
    struct leat_daemon_figures figures;

    leat__sample__init(message);
    message->at_ns = now->at_ns;
    message->duration_ns = now->at_ns - before->at_ns;
    message->unix_ns = now->unix_ns;
    leat_figures_subtract(leat_daemon_figure_table, &now->figures, &before->figures, &figures);
    leat_figures_to_message(leat_daemon_figure_table, &figures, &message->base, NULL);
}

/* Makes room for n_more bytes. */
static struct leat_history_sample *widen(struct leat_history_sample *sample, size_t n_more) {
    struct leat_history_sample *wider =
        realloc(sample, sizeof(*sample) + (sample ? sample->n_bytes : 0) + n_more);

    if (!wider)
        free(sample);
    return wider;
}

static struct leat_history_sample *add_stream(struct leat_history_sample *sample,
                                              const struct stream_change *change) {
    size_t n = leat__stream_sample__get_packed_size(&change->message);
    uint8_t *to;

    sample = widen(sample, PREFIX_MAX + n);
    if (!sample)
        return NULL;
    to = sample->bytes + sample->n_bytes;
    *to++ = TAG_STREAM;
    to += put_number(to, n);
    to += leat__stream_sample__pack(&change->message, to);
    sample->n_bytes = (uint32_t)(to - sample->bytes);
    return sample;
}

static struct leat_history_sample *make_sample(const struct leat_reading *now,
                                               const struct leat_reading *before) {
    struct leat_history_sample *sample;
    Leat__Sample message;
    size_t n_bytes;

    describe_daemon(&message, now, before);
    n_bytes = leat__sample__get_packed_size(&message);
    sample = widen(NULL, n_bytes);
    if (!sample)
        return NULL;
    *sample = (struct leat_history_sample){.at_ns = now->at_ns,
                                           .duration_ns = message.duration_ns,
                                           .n_head = (uint32_t)n_bytes,
                                           .n_bytes = (uint32_t)n_bytes};
    (void)leat__sample__pack(&message, sample->bytes);
    for (size_t i = 0; i < now->n_streams && sample; i++) {
        struct stream_change change;

        if (describe_stream(&change, &now->streams[i], leat_reading_find(before, &now->streams[i])))
            sample = add_stream(sample, &change);
    }
    return sample ? widen(sample, 0) : NULL; /* without unused room */
}

static bool part_add(struct leat_history_part *part, const struct leat_reading *reading) {
    struct leat_history_sample *sample;
    struct leat_reading *copy;

    if (part->before &&
        reading->at_ns < part->before->at_ns + part->period_ns - part->period_ns / SLACK)
        return false;
    copy = leat_reading_copy(reading);
    sample = copy && part->before ? make_sample(reading, part->before) : NULL;
    if (copy) {
        free(part->before);
        part->before = copy;
    }
    if (!sample)
        return false;
    part->n_bytes += sizeof(*sample) + sample->n_bytes;
    while (part->n_samples > 0 &&
           (part->n_samples == part->max_samples || part->n_bytes > part->max_bytes))
        drop_oldest(part);
    part->samples[(part->first + part->n_samples++) % part->max_samples] = sample;
    return true;
}

unsigned leat_history_add(struct leat_history *history, const struct leat_reading *reading) {
    unsigned tiers = 0;

    for (unsigned i = 0; i < LEAT_N_HISTORY_TIERS; i++)
        if (part_add(&history->parts[i], reading))
            tiers |= 1U << i;
    return tiers;
}

/* ---- looking back ---- */

const struct leat_history_sample *leat_history_get(const struct leat_history *history,
                                                   enum leat_history_tier tier, size_t i) {
    const struct leat_history_part *part = &history->parts[tier];

    return i < part->n_samples ? part->samples[(part->first + i) % part->max_samples] : NULL;
}

size_t leat_history_skip(const struct leat_history *history, enum leat_history_tier tier,
                         uint64_t after_ns) {
    size_t low = 0, high = history->parts[tier].n_samples;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (leat_history_get(history, tier, middle)->at_ns <= after_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_name(const uint8_t *stream, const char *name) {
    size_t n;

    if (*stream++ != TAG_NAME)
        return false;
    n = (size_t)take_number(&stream);
    return n == strlen(name) && memcmp(stream, name, n) == 0;
}

/* Appends the sample to `to` unless that is NULL, with that stream only unless it is NULL. Returns
 * its size. */
static size_t put_sample(uint8_t *to, const struct leat_history_sample *sample,
                         const char *stream) {
    const uint8_t *at = sample->bytes + sample->n_head, *end = sample->bytes + sample->n_bytes;
    size_t n = sample->n_head;

    if (to)
        memcpy(to, sample->bytes, sample->n_head);
    while (at < end) {
        const uint8_t *field = at++;
        size_t n_stream = (size_t)take_number(&at);

        at += n_stream;
        if (stream && !has_name(at - n_stream, stream))
            continue;
        if (to)
            memcpy(to + n, field, (size_t)(at - field));
        n += (size_t)(at - field);
    }
    return n;
}

bool leat_history_has(const struct leat_history *history, const char *stream) {
    const struct leat_history_sample *sample;

    for (int tier = 0; tier < LEAT_N_HISTORY_TIERS; tier++)
        for (size_t i = 0; (sample = leat_history_get(history, (enum leat_history_tier)tier, i));
             i++)
            if (put_sample(NULL, sample, stream) > sample->n_head)
                return true;
    return false;
}

struct collection {
    const char *stream;
    struct leat_arena *arena;
    Leat__HistoryReply *reply;
    size_t n_left; /* bytes */
};

/* Returns 1 if there is no room for the sample. */
static int collect_one(struct collection *to, const struct leat_history_sample *sample) {
    ProtobufCMessage *message = &to->reply->base;
    size_t n_bytes = put_sample(NULL, sample, to->stream), n_prefix;
    uint8_t *bytes;

    if (n_bytes + PREFIX_MAX > to->n_left)
        return 1;
    bytes = leat_arena_alloc(to->arena, n_bytes + PREFIX_MAX);
    if (!bytes)
        return -ENOMEM;
    n_prefix = put_number(bytes, n_bytes);
    (void)put_sample(bytes + n_prefix, sample, to->stream);
    message->unknown_fields[message->n_unknown_fields++] =
        (ProtobufCMessageUnknownField){.tag = NUMBER_SAMPLE,
                                       .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
                                       .len = n_prefix + n_bytes,
                                       .data = bytes};
    to->n_left -= n_bytes + PREFIX_MAX;
    return 0;
}

static int collect_tier(struct collection *to, const struct leat_history *history,
                        enum leat_history_tier tier, uint64_t after_ns, uint64_t until_ns) {
    const struct leat_history_sample *sample;
    int r = 0;

    for (size_t i = leat_history_skip(history, tier, after_ns);
         r == 0 && (sample = leat_history_get(history, tier, i)) && sample->at_ns <= until_ns; i++)
        r = collect_one(to, sample);
    return r;
}

int leat_history_collect(const struct leat_history *history, const char *stream, uint64_t after_ns,
                         size_t max_bytes, struct leat_arena *arena, Leat__HistoryReply *reply) {
    struct collection to = {.stream = stream, .arena = arena, .reply = reply, .n_left = max_bytes};
    const struct leat_history_sample *first = leat_history_get(history, LEAT_HISTORY_SECONDS, 0);
    uint64_t until_ns = first ? first->at_ns - first->duration_ns : 0;
    size_t n_max = 0;
    int r;

    for (int i = 0; i < LEAT_N_HISTORY_TIERS; i++)
        n_max += history->parts[i].n_samples;
    reply->base.unknown_fields =
        leat_arena_alloc(arena, n_max * sizeof(ProtobufCMessageUnknownField));
    if (!reply->base.unknown_fields)
        return -ENOMEM;
    r = collect_tier(&to, history, LEAT_HISTORY_TENS, after_ns, until_ns);
    if (r == 0)
        r = collect_tier(&to, history, LEAT_HISTORY_SECONDS, after_ns, UINT64_MAX);
    return r < 0 ? r : 0;
}
