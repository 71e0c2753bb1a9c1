/* shared_world.c: see shared_world.h. */
#include "tests/daemon/shared_world.h"

#include <string.h>

#include "daemon/stream/broadcast_internal.h"

struct world_counts world_counts;

uint32_t world_run_index(const struct world *world, const struct leat_broadcast_run *run) {
    return (uint32_t)((const struct world_run *)run - world->runs);
}

static bool make_room(void *user, struct leat_broadcast_run *run, uint32_t n_slots) {
    struct world *world = user;

    (void)run;
    world->has_refused |= world->refuses_room;
    return !world->refuses_room &&
           (n_slots <= world->it->n_slots || n_slots <= world->it->n_promised);
}

static const struct leat_broadcast_ops broadcast_ops = {.make_room = make_room};

void world_init(struct world *world, const struct world_case *it) {
    memset(world, 0, sizeof(*world));
    world->it = it;
    leat_broadcast_init(&world->broadcast, it->world_size, &broadcast_ops, world);
    for (uint32_t i = 0; i < it->n_trainers; i++) {
        struct world_trainer *trainer = &world->trainers[i];

        trainer->epoch = it->trainers[i].epoch;
        trainer->step = it->trainers[i].step;
        trainer->n_left = it->trainers[i].n_left ? it->trainers[i].n_left : LEAT_BROADCAST_NO_LIMIT;
    }
}

/* ---- trainers ---- */

static bool has_fault(const struct world *world) {
    return world->it->fail_epoch > 0 || world->it->fail_step > 0;
}

static uint32_t n_of_this_daemon(const struct world *world, const struct world_trainer *trainer) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < trainer->n_held; i++)
        n += !world->runs[trainer->held[i].run].is_lost;
    return n;
}

/* What it was told of is what must come, and is there. */
static const char *receive(struct world *world, struct world_trainer *trainer,
                           const struct leat_broadcast_hold *hold) {
    uint32_t run = 0;

    while (run < WORLD_MAX_RUNS &&
           (!world->runs[run].is_used || world->runs[run].generation != hold->generation))
        run++;
    if (run == WORLD_MAX_RUNS)
        return "told of a ring that is none";
    if (trainer->step >= world->it->n_steps)
        return "told of a batch, and the epoch is over";
    if (hold->epoch != trainer->epoch || hold->step != trainer->step)
        return "a batch is lost, doubled or out of order";
    if (n_of_this_daemon(world, trainer) == world->it->trainers[trainer - world->trainers].window ||
        trainer->n_held == WORLD_MAX_HELD)
        return "told of more than its window";
    trainer->held[trainer->n_held++] = (struct world_held){.run = run,
                                                           .slot = hold->slot,
                                                           .generation = hold->generation,
                                                           .epoch = hold->epoch,
                                                           .step = hold->step};
    trainer->step += world->it->world_size;
    if (trainer->n_left != LEAT_BROADCAST_NO_LIMIT)
        trainer->n_left--;
    return NULL;
}

static const char *tell(struct world *world, struct world_trainer *trainer) {
    struct leat_broadcast_reader *reader = &trainer->reader;
    uint32_t n = reader->n_holds - reader->n_announced;

    for (uint32_t i = reader->n_announced; i < reader->n_holds; i++) {
        const char *wrong = receive(world, trainer, &reader->holds[i]);

        if (wrong)
            return wrong;
    }
    leat_broadcast_announce(reader, n, true);
    return NULL;
}

static const char *receive_end(struct world *world, struct world_trainer *trainer,
                               const struct leat_broadcast_taken *taken) {
    const struct world_case *it = world->it;
    uint32_t i = (uint32_t)(trainer - world->trainers);
    bool by_steps = trainer->n_left == 0;
    bool is_last =
        by_steps || (it->trainers[i].n_epochs > 0 &&
                     trainer->epoch + 1 >= it->trainers[i].epoch + it->trainers[i].n_epochs);

    if (taken->epoch != trainer->epoch || (!by_steps && trainer->step < it->n_steps))
        return "an epoch ends too early";
    if (!by_steps && taken->step != it->n_steps)
        return "an epoch has another number of steps";
    if (by_steps && taken->step != trainer->step - it->world_size + 1)
        return "a stream ends with another number of steps";
    if (taken->is_last != is_last)
        return "the last end is not the last";
    trainer->epoch++;
    trainer->step = it->trainers[i].rank;
    if (is_last)
        trainer->state = WORLD_DONE;
    return NULL;
}

static const char *fail_trainer(struct world *world, struct world_trainer *trainer) {
    const struct world_case *it = world->it;

    if (!has_fault(world) || trainer->epoch != it->fail_epoch || trainer->step < it->fail_step ||
        trainer->step >= it->fail_step + it->world_size)
        return "a stream failed where it should not";
    trainer->state = WORLD_DONE;
    leat_broadcast_leave(&trainer->reader);
    world_counts.n_failed++;
    return NULL;
}

static const char *take(struct world *world, struct world_trainer *trainer, bool is_told) {
    struct leat_broadcast_taken taken;
    const char *wrong = NULL;

    switch (leat_broadcast_take(&trainer->reader, &taken)) {
    case LEAT_BROADCAST_BATCH:
        wrong = is_told ? tell(world, trainer) : NULL;
        break;
    case LEAT_BROADCAST_END:
        wrong = tell(world, trainer);
        if (!wrong)
            wrong = receive_end(world, trainer, &taken);
        break;
    case LEAT_BROADCAST_FAILED:
        wrong = tell(world, trainer);
        if (!wrong)
            wrong = fail_trainer(world, trainer);
        break;
    case LEAT_BROADCAST_NOTHING:
        trainer->may_take = false;
        leat_broadcast_wait(&trainer->reader);
        break;
    }
    return wrong;
}

static void join(struct world *world, struct world_trainer *trainer) {
    const struct world_case *it = world->it;
    uint32_t i = (uint32_t)(trainer - world->trainers);

    trainer->reader = (struct leat_broadcast_reader){
        .rank = it->trainers[i].rank,
        .first_rank = it->n_local > 1 ? 0 : it->trainers[i].rank,
        .n_ranks = it->n_local,
        .next = {trainer->epoch, trainer->step},
        .n_epochs = it->trainers[i].n_epochs > 0
                        ? it->trainers[i].n_epochs + it->trainers[i].epoch - trainer->epoch
                        : 0,
        .n_left = trainer->n_left,
        .window = it->trainers[i].window,
        .holds = trainer->holds};
    if (trainer->step >= it->n_steps) /* a trainer names the round, not a step that is not there */
        trainer->reader.next.step = it->n_steps;
    leat_broadcast_join(&world->broadcast, &trainer->reader);
    trainer->state = WORLD_JOINED;
    trainer->may_take = true;
}

/* What came from a daemon that is gone is given back to nobody. */
static const char *release(const struct world *world, struct world_trainer *trainer,
                           uint32_t which) {
    struct world_held held = trainer->held[which];

    trainer->n_held--;
    memmove(&trainer->held[which], &trainer->held[which + 1],
            (trainer->n_held - which) * sizeof(held));
    trainer->released = held;
    if (trainer->reader.broadcast && !world->runs[held.run].is_lost &&
        !leat_broadcast_release(&trainer->reader, held.generation, held.slot, held.epoch,
                                held.step))
        return "a release was refused";
    if (trainer->state == WORLD_JOINED && !trainer->reader.is_hungry)
        trainer->may_take = true;
    return NULL;
}

static void lose(struct world *world, struct world_trainer *trainer) {
    if (trainer->state == WORLD_JOINED)
        leat_broadcast_leave(&trainer->reader);
    world_counts.n_quarantined += trainer->n_held > 0;
    trainer->state = WORLD_LOST;
    world->n_losses++;
}

static void die(struct world_trainer *trainer) {
    leat_broadcast_release_all(&trainer->reader);
    trainer->n_held = 0;
    trainer->state = WORLD_DEAD;
}

/* ---- runs ---- */

static struct leat_broadcast_item *new_item(struct world *world) {
    for (uint32_t i = 0; i < WORLD_MAX_ITEMS; i++)
        if (!world->items[i].is_used) {
            world->items[i].is_used = true;
            memset(&world->items[i].item, 0, sizeof(world->items[i].item));
            return &world->items[i].item;
        }
    return NULL;
}

static uint32_t free_slot(const struct world *world, const struct world_run *run) {
    uint32_t i = 0;

    while (i < world->it->n_slots && run->is_taken[i])
        i++;
    return i;
}

static bool ends_here(const struct world *world, const struct world_run *run) {
    return run->step >= world->it->n_steps || run->n_batches >= run->n_wanted;
}

static bool is_mine(const struct world *world, const struct world_run *run) {
    uint64_t rank = run->step % world->it->world_size;

    return rank >= run->run.first_rank && rank < run->run.first_rank + run->run.n_ranks;
}

static void pass_others(const struct world *world, struct world_run *run) {
    while (!ends_here(world, run) && !is_mine(world, run))
        run->step++;
}

static const char *make(struct world *world, struct world_run *run) {
    const struct world_case *it = world->it;
    struct leat_broadcast_item *item;
    uint32_t slot = free_slot(world, run);

    if (has_fault(world) && run->epoch == it->fail_epoch && run->step >= it->fail_step) {
        run->has_ended = true;
        leat_broadcast_fail(&run->run);
        return NULL;
    }
    item = new_item(world);
    if (!item)
        return "no items left: the world is too small";
    item->epoch = run->epoch;
    item->step = run->step;
    item->generation = run->generation;
    item->is_end = ends_here(world, run);
    if (item->is_end) {
        item->is_last = run->epoch + 1 >= run->end_epoch || run->n_batches >= run->n_wanted;
        run->has_ended = item->is_last;
        run->epoch++;
        run->step = 0;
    } else {
        run->is_taken[slot] = true;
        run->memory[slot] = (struct leat_broadcast_place){item->epoch, item->step};
        item->slot = slot;
        run->step++;
        run->n_batches++;
    }
    leat_broadcast_output(&run->run, item);
    pass_others(world, run);
    return NULL;
}

static bool is_starved(const struct world *world, const struct world_run *run) {
    return !run->has_ended && !ends_here(world, run) && free_slot(world, run) == world->it->n_slots;
}

static bool can_make(const struct world *world, const struct world_run *run) {
    return run->is_used && !run->is_closed && !run->is_lost && !run->run.has_ended &&
           !run->has_ended && (ends_here(world, run) || free_slot(world, run) < world->it->n_slots);
}

/* ---- what the broadcast wants ---- */

static bool is_read(const struct world *world, uint32_t run) {
    for (uint32_t i = 0; i < world->it->n_trainers; i++)
        for (uint32_t k = 0; k < world->trainers[i].n_held; k++)
            if (world->trainers[i].held[k].run == run)
                return true;
    return false;
}

static bool has_items(const struct world *world, const struct world_run *run) {
    for (uint32_t i = 0; i < WORLD_MAX_ITEMS; i++)
        if (world->items[i].is_used && world->items[i].item.run == &run->run)
            return true;
    return false;
}

static struct world_run *new_run(struct world *world) {
    for (uint32_t i = 0; i < WORLD_MAX_RUNS; i++) {
        struct world_run *run = &world->runs[i];

        if (run->is_used && !((run->is_closed || run->is_lost) && !is_read(world, i) &&
                              (run->is_lost || !has_items(world, run))))
            continue;
        memset(run, 0, sizeof(*run));
        run->is_used = true;
        run->generation = ++world->next_generation;
        return run;
    }
    return NULL;
}

static const char *start(struct world *world, const struct leat_broadcast_action *action) {
    struct world_run *run;

    world->has_refused |= world->refuses_start;
    if (world->refuses_start) {
        leat_broadcast_not_started(action->reader);
        return NULL;
    }
    run = new_run(world);
    if (!run)
        return "no runs left: the world is too small";
    run->epoch = action->place.epoch;
    run->step = action->place.step;
    run->end_epoch =
        action->n_epochs > 0 ? action->place.epoch + action->n_epochs : LEAT_BROADCAST_NO_LIMIT;
    run->n_wanted = action->n_batches;
    leat_broadcast_started(action->reader, &run->run, action->first_rank, action->n_ranks);
    pass_others(world, run);
    world_counts.n_starts++;
    return NULL;
}

static void free_item(struct world *world, struct leat_broadcast_item *item) {
    uint32_t i = (uint32_t)((struct leat_broadcast_item *)item - &world->items[0].item);

    i = (uint32_t)(((char *)item - (char *)world->items) / (long)sizeof(world->items[0]));
    if (!item->is_end) {
        world->runs[world_run_index(world, item->run)].is_taken[item->slot] = false;
        leat_broadcast_set_starved(item->run, false);
    }
    world->items[i].is_used = false;
}

const char *world_act(struct world *world) {
    struct leat_broadcast_action action;
    const char *wrong = NULL;

    while (!wrong && leat_broadcast_next_action(&world->broadcast, &action))
        switch (action.kind) {
        case LEAT_BROADCAST_FREE:
            free_item(world, action.item);
            break;
        case LEAT_BROADCAST_WAKE:
            ((struct world_trainer *)action.reader)->may_take = true;
            break;
        case LEAT_BROADCAST_START:
            wrong = start(world, &action);
            break;
        case LEAT_BROADCAST_EXTEND:
            world->runs[world_run_index(world, action.run)].end_epoch = action.run->end_epoch;
            world->runs[world_run_index(world, action.run)].n_wanted = action.run->n_wanted;
            break;
        case LEAT_BROADCAST_CLOSE:
            world->runs[world_run_index(world, action.run)].is_closed = true;
            break;
        }
    return wrong;
}

/* ---- events ---- */

static void crash(struct world *world) {
    for (uint32_t i = 0; i < world->it->n_trainers; i++) {
        struct world_trainer *trainer = &world->trainers[i];

        trainer->reader = (struct leat_broadcast_reader){.rank = 0};
        if (trainer->state == WORLD_JOINED)
            trainer->state = WORLD_ABSENT;
        trainer->may_take = false;
    }
    for (uint32_t i = 0; i < WORLD_MAX_RUNS; i++)
        world->runs[i].is_lost = true;
    memset(world->items, 0, sizeof(world->items));
    leat_broadcast_init(&world->broadcast, world->it->world_size, &broadcast_ops, world);
    world->n_crashes++;
}

static void add(struct world_event *events, uint32_t *n, enum world_event_kind kind, uint32_t of,
                uint32_t which) {
    if (*n < WORLD_MAX_EVENTS)
        events[(*n)++] = (struct world_event){.kind = kind, .of = of, .which = which};
}

static void add_trainer(const struct world *world, uint32_t i, struct world_event *events,
                        uint32_t *n) {
    const struct world_trainer *trainer = &world->trainers[i];
    const struct leat_broadcast_reader *reader = &trainer->reader;
    bool is_joined = trainer->state == WORLD_JOINED;

    if (trainer->state == WORLD_ABSENT)
        add(events, n, WORLD_JOIN, i, 0);
    if (is_joined && trainer->may_take) {
        add(events, n, WORLD_TAKE, i, 0);
        if (world->it->is_slow)
            add(events, n, WORLD_QUIETLY, i, 0);
    }
    if (is_joined && reader->n_announced < reader->n_holds)
        add(events, n, WORLD_TELL, i, 0);
    for (uint32_t k = 0; k < trainer->n_held && trainer->state != WORLD_LOST; k++)
        add(events, n, WORLD_RELEASE, i, k);
    if (is_joined && reader->is_waiting)
        add(events, n, WORLD_RETRY, i, 0);
    if (is_joined && world->n_losses < world->it->n_losses)
        add(events, n, WORLD_LOSE, i, 0);
    if (trainer->state == WORLD_LOST)
        add(events, n, WORLD_DIE, i, 0);
}

static bool needs_pump(const struct world *world, const struct world_run *run) {
    return run->is_used && !run->is_closed && !run->is_lost && !run->run.has_ended &&
           run->run.is_starved != is_starved(world, run);
}

uint32_t world_events(const struct world *world, struct world_event *ret_events) {
    uint32_t n = 0, n_certain;

    for (uint32_t i = 0; i < world->it->n_trainers; i++)
        add_trainer(world, i, ret_events, &n);
    for (uint32_t i = 0; i < WORLD_MAX_RUNS; i++) {
        if (can_make(world, &world->runs[i]))
            add(ret_events, &n, WORLD_MAKE, i, 0);
        if (needs_pump(world, &world->runs[i]))
            add(ret_events, &n, WORLD_PUMP, i, 0);
    }
    if (world->n_crashes < world->it->n_crashes)
        add(ret_events, &n, WORLD_CRASH, 0, 0);
    n_certain = world->n_refusals < world->it->n_refusals ? n : 0;
    for (uint32_t i = 0; i < n_certain; i++) {
        add(ret_events, &n, ret_events[i].kind, ret_events[i].of, ret_events[i].which);
        ret_events[n - 1].refuses_start = true;
        add(ret_events, &n, ret_events[i].kind, ret_events[i].of, ret_events[i].which);
        ret_events[n - 1].refuses_room = true;
    }
    return n;
}

static const char *happen(struct world *world, const struct world_event *event) {
    struct world_trainer *trainer = &world->trainers[event->of % WORLD_MAX_TRAINERS];
    struct world_run *run = &world->runs[event->of];

    switch (event->kind) {
    case WORLD_JOIN:
        join(world, trainer);
        return NULL;
    case WORLD_MAKE:
        return make(world, run);
    case WORLD_PUMP:
        leat_broadcast_set_starved(&run->run, is_starved(world, run));
        return NULL;
    case WORLD_TAKE:
        return take(world, trainer, true);
    case WORLD_QUIETLY:
        return take(world, trainer, false);
    case WORLD_TELL:
        return tell(world, trainer);
    case WORLD_RELEASE:
        return release(world, trainer, event->which);
    case WORLD_RETRY:
        leat_broadcast_retry(&trainer->reader);
        return NULL;
    case WORLD_LOSE:
        lose(world, trainer);
        return NULL;
    case WORLD_DIE:
        die(trainer);
        return NULL;
    default:
        crash(world);
        return NULL;
    }
}

const char *world_step(struct world *world, const struct world_event *event, bool *ret_is_void) {
    bool refuses = event->refuses_start || event->refuses_room;
    uint64_t n_moves = world->broadcast.n_moves, n_detached = world->broadcast.n_detached;
    const char *wrong;

    world->refuses_start = event->refuses_start;
    world->refuses_room = event->refuses_room;
    world->has_refused = false;
    wrong = happen(world, event);
    if (!wrong)
        wrong = world_act(world);
    if (!wrong && world->broadcast.n_parted > 0 && world->it->n_promised == 0)
        wrong = "a ring has no room for all windows";
    *ret_is_void = refuses && !world->has_refused;
    world->n_refusals += refuses;
    world->refuses_start = world->refuses_room = false;
    if (world->broadcast.n_moves > n_moves)
        world_counts.n_moves++;
    if (world->broadcast.n_detached > n_detached)
        world_counts.n_detached++;
    return wrong;
}
