/* shared_world_check.c: what must hold in a world, and what must come to pass. See shared_world.h.
 */
#include <string.h>

#include "daemon/stream/broadcast_internal.h"
#include "tests/daemon/shared_world.h"

#define ALONE_MAX 400

/* ---- what must hold ---- */

static const char *check_held(const struct world *world, const struct world_trainer *trainer) {
    for (uint32_t i = 0; i < trainer->n_held; i++) {
        const struct world_held *held = &trainer->held[i];
        struct leat_broadcast_place there = world->runs[held->run].memory[held->slot];

        if (there.epoch != held->epoch || there.step != held->step)
            return "a slot was filled again while it was read";
    }
    return NULL;
}

static bool holds(const struct world_trainer *trainer, const struct world_held *held) {
    for (uint32_t i = 0; i < trainer->n_held; i++)
        if (trainer->held[i].generation == held->generation &&
            trainer->held[i].slot == held->slot && trainer->held[i].epoch == held->epoch &&
            trainer->held[i].step == held->step)
            return true;
    return false;
}

/* Whatever a trainer says it releases: only what it holds is. */
static const char *check_lies(struct world_trainer *trainer, const struct world_held *held) {
    struct world_held lies[] = {*held, *held, *held, *held, *held};

    if (!trainer->reader.broadcast || held->generation == 0)
        return NULL;
    lies[1].generation++;
    lies[2].slot++;
    lies[3].step++;
    lies[4].epoch++;
    for (uint32_t i = 0; i < 5; i++)
        if (!holds(trainer, &lies[i]) &&
            leat_broadcast_release(&trainer->reader, lies[i].generation, lies[i].slot,
                                   lies[i].epoch, lies[i].step))
            return "released what it does not hold";
    return NULL;
}

static const char *check_trainer(struct world *world, struct world_trainer *trainer) {
    const struct leat_broadcast_reader *reader = &trainer->reader;
    const char *wrong = check_held(world, trainer);

    for (uint32_t i = 0; !wrong && i < world->it->n_trainers; i++) {
        struct world_trainer *other = &world->trainers[i];

        wrong = check_lies(trainer, &other->released);
        for (uint32_t k = 0; !wrong && k < other->n_held; k++)
            wrong = check_lies(trainer, &other->held[k]);
        for (uint32_t k = 0; !wrong && k < other->reader.n_holds; k++) {
            const struct leat_broadcast_hold *hold = &other->reader.holds[k];
            struct world_held quiet = {.slot = hold->slot,
                                       .generation = hold->generation,
                                       .epoch = hold->epoch,
                                       .step = hold->step};

            wrong = check_lies(trainer, &quiet);
        }
    }
    if (!wrong && reader->cursor && reader->cursor->n_wants == 0)
        return "its next batch is not wanted";
    if (!wrong && reader->has_left && reader->n_holds > reader->n_announced)
        return "what was not announced is held";
    if (!wrong && reader->is_hungry && reader->cursor)
        return "hungry before a batch";
    return wrong;
}

static const char *check_run(const struct world *world, const struct leat_broadcast_run *run) {
    uint32_t n_hungry = 0, n_readers = 0;
    struct leat_broadcast_place last = {0, 0};

    for (const struct leat_broadcast_reader *reader = run->readers; reader;
         reader = reader->next_reader) {
        n_hungry += reader->is_hungry;
        n_readers++;
        if (reader->cursor != leat_broadcast_find_wanted(reader, run->first))
            return "a cursor is not at the first batch that is wanted";
    }
    if (n_hungry != run->n_hungry || n_readers != run->n_readers)
        return "readers of a run are miscounted";
    world_counts.n_shared += n_readers > 1;
    for (const struct leat_broadcast_item *item = run->first; item; item = item->next) {
        struct leat_broadcast_place at = leat_broadcast_place_of(item);
        const struct world_run *of = (const struct world_run *)run;
        uint32_t n_wants = 0, n_holds = 0;

        for (uint32_t i = 0; i < world->it->n_trainers; i++) {
            const struct leat_broadcast_reader *reader = &world->trainers[i].reader;
            const struct leat_broadcast_run *on = reader->run;

            if (on &&
                (on == run || (on->successor == run && leat_broadcast_compare(at, on->until) >= 0)))
                n_wants += leat_broadcast_wants(reader, item);
            for (uint32_t k = 0; k < reader->n_holds; k++)
                n_holds += reader->holds[k].item == item;
        }
        if (n_wants == 0 && n_holds == 0 && (item->is_end || run->n_ranks == 1))
            return "an item is left that nobody wants";
        world_counts.n_kept += n_wants == 0 && n_holds == 0;
        if (item->n_wants != n_wants || item->n_holds != n_holds)
            return "wants or holds are miscounted";
        if (leat_broadcast_compare(at, last) < 0 || item->run != run)
            return "items are out of order";
        if (!item->is_end && leat_broadcast_compare(of->memory[item->slot], at) != 0)
            return "a slot was filled again while it was wanted";
        last = leat_broadcast_place_behind(item);
    }
    return NULL;
}

const char *world_check(struct world *world) {
    const char *wrong = NULL;

    for (uint32_t i = 0; !wrong && i < world->it->n_trainers; i++)
        wrong = check_trainer(world, &world->trainers[i]);
    for (struct leat_broadcast_run *run = world->broadcast.runs; !wrong && run; run = run->next)
        wrong = check_run(world, run);
    return wrong;
}

/* ---- what must come to pass ---- */

static bool is_of(const struct world_event *event, uint32_t trainer) {
    return event->kind == WORLD_MAKE || event->kind == WORLD_PUMP ||
           (event->of == trainer && event->kind != WORLD_LOSE && event->kind != WORLD_DIE &&
            event->kind != WORLD_CRASH);
}

const char *world_check_alone(struct world *world, uint32_t trainer) {
    struct world_event events[WORLD_MAX_EVENTS];
    struct world_trainer *self = &world->trainers[trainer];
    const char *wrong = NULL;
    bool is_void;

    world->n_refusals = UINT32_MAX;
    for (uint32_t turn = 0; turn < ALONE_MAX && !wrong; turn++) {
        uint32_t n = world_events(world, events), n_mine = 0;

        if (self->state != WORLD_ABSENT && self->state != WORLD_JOINED)
            return NULL;
        for (uint32_t i = 0; i < n; i++)
            if (is_of(&events[i], trainer))
                events[n_mine++] = events[i];
        if (n_mine == 0)
            return "a trainer waits for one that is stopped";
        wrong = world_step(world, &events[turn % n_mine], &is_void);
        if (!wrong)
            wrong = check_held(world, self);
    }
    return wrong ? wrong : "a trainer does not come to its end";
}

static bool is_inside(const struct world_event *event) {
    return event->kind == WORLD_MAKE || event->kind == WORLD_PUMP || event->kind == WORLD_TAKE ||
           event->kind == WORLD_TELL || event->kind == WORLD_RETRY;
}

/* It has credit, and stands where it stood. */
static bool is_waiting(const struct world *world, const struct world *before, uint32_t i) {
    const struct world_trainer *now = &world->trainers[i], *then = &before->trainers[i];

    return now->state == WORLD_JOINED && !now->reader.is_finished &&
           then->reader.n_holds < then->reader.window && now->epoch == then->epoch &&
           now->step == then->step;
}

static bool is_anybody_waiting(const struct world *world, const struct world *before) {
    for (uint32_t i = 0; i < world->it->n_trainers; i++)
        if (is_waiting(world, before, i))
            return true;
    return false;
}

const char *world_check_waiting(struct world *world) {
    static struct world before;
    struct world_event events[WORLD_MAX_EVENTS];
    const char *wrong = NULL;
    bool is_void;

    before = *world;
    world->n_refusals = UINT32_MAX;
    for (uint32_t turn = 0; turn < ALONE_MAX && !wrong; turn++) {
        uint32_t n = world_events(world, events), n_inside = 0;

        if (!is_anybody_waiting(world, &before))
            return NULL;
        for (uint32_t i = 0; i < n; i++)
            if (is_inside(&events[i]))
                events[n_inside++] = events[i];
        if (n_inside == 0)
            return "a trainer waits, and nothing will happen any more";
        wrong = world_step(world, &events[turn % n_inside], &is_void);
    }
    return wrong ? wrong : "a trainer waits for ever";
}

const char *world_check_end(struct world *world) {
    const char *wrong = NULL;

    for (uint32_t i = 0; !wrong && i < world->it->n_trainers; i++) {
        struct world_trainer *trainer = &world->trainers[i];

        if (trainer->state == WORLD_JOINED)
            leat_broadcast_leave(&trainer->reader);
        leat_broadcast_release_all(&trainer->reader);
        wrong = world_act(world);
    }
    for (uint32_t i = 0; !wrong && i < WORLD_MAX_ITEMS; i++)
        if (world->items[i].is_used)
            wrong = "a batch is left in a slot";
    for (uint32_t i = 0; !wrong && i < WORLD_MAX_RUNS; i++) {
        const struct world_run *run = &world->runs[i];

        if (run->is_used && !run->is_lost && !run->is_closed)
            wrong = "a run is left that nobody reads";
        for (uint32_t k = 0; run->is_used && !run->is_lost && k < world->it->n_slots; k++)
            if (run->is_taken[k])
                wrong = "a slot is left taken";
    }
    return wrong;
}

/* ---- states ---- */

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t mix_place(uint64_t hash, struct leat_broadcast_place place) {
    return mix(mix(hash, place.epoch), place.step);
}

static uint64_t hash_trainer(const struct world *world, const struct world_trainer *trainer,
                             uint64_t hash) {
    const struct leat_broadcast_reader *reader = &trainer->reader;

    hash = mix(hash, (uint64_t)trainer->state << 8 | (uint64_t)trainer->may_take << 7 |
                         (uint64_t)reader->is_hungry << 6 | (uint64_t)reader->is_finished << 5 |
                         (uint64_t)reader->is_waiting << 4 | (uint64_t)(reader->n_moves > 0));
    hash = mix_place(mix(hash, trainer->n_left), reader->next);
    hash = mix(hash, reader->run ? world_run_index(world, reader->run) : 99);
    hash = mix(hash, (uint64_t)reader->n_holds << 16 | (uint64_t)reader->n_announced << 8 |
                         trainer->n_held);
    for (uint32_t i = 0; i < reader->n_holds; i++)
        hash = mix(hash, reader->holds[i].item
                             ? (uint64_t)world_run_index(world, reader->holds[i].item->run) << 8 |
                                   reader->holds[i].slot
                             : 77);
    for (uint32_t i = 0; i < trainer->n_held; i++)
        hash = mix(mix(hash, (uint64_t)trainer->held[i].run << 8 | trainer->held[i].slot),
                   trainer->held[i].epoch << 32 | trainer->held[i].step);
    return hash;
}

static uint64_t hash_run(const struct world *world, const struct world_run *of, uint64_t hash) {
    const struct leat_broadcast_run *run = &of->run;
    uint64_t retry = run->retry_at > run->n_outputs ? run->retry_at - run->n_outputs : 0;

    hash = mix(hash, (uint64_t)of->is_closed << 5 | (uint64_t)of->is_lost << 4 |
                         (uint64_t)of->has_ended << 3 | (uint64_t)run->has_ended << 2 |
                         (uint64_t)run->has_failed << 1 | (uint64_t)run->is_starved);
    for (uint32_t i = 0; i < world->it->n_slots; i++)
        hash = mix(mix_place(hash, of->memory[i]), of->is_taken[i]);
    if (of->is_lost)
        return hash;
    hash = mix(mix(mix_place(mix_place(hash, run->head), run->tail), retry), run->backoff);
    hash = mix(hash, run->successor ? world_run_index(world, run->successor) : 99);
    hash = mix(mix(mix_place(hash, run->until), of->epoch << 32 | of->step), of->n_batches);
    hash = mix(mix(hash, of->end_epoch), of->n_wanted);
    for (const struct leat_broadcast_item *item = run->first; item; item = item->next)
        hash = mix(mix_place(hash, leat_broadcast_place_of(item)),
                   (uint64_t)item->n_wants << 16 | item->n_holds << 8 | item->slot);
    return hash;
}

uint64_t world_hash(const struct world *world) {
    uint64_t hash = mix(world->n_losses, (uint64_t)world->n_crashes << 8 | world->n_refusals);

    for (uint32_t i = 0; i < world->it->n_trainers; i++)
        hash = hash_trainer(world, &world->trainers[i], hash);
    for (uint32_t i = 0; i < WORLD_MAX_RUNS; i++)
        if (world->runs[i].is_used)
            hash = hash_run(world, &world->runs[i], mix(hash, i));
    for (const struct leat_broadcast_run *run = world->broadcast.runs; run; run = run->next)
        hash = mix(hash, world_run_index(world, run));
    return hash;
}
