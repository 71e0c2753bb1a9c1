/* users.c: `leatctl streams --users`: what each user has taken of the daemon, a row for each. */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/grid.h"
#include "client/cli/base/members.h"
#include "client/cli/base/units.h"
#include "client/cli/streams/streams.h"

/* Columns of the table; what a charge is called comes from the daemon. */
#define N_FIXED 5 /* user, weight, worker time, memory in use, refused */

static const char *heading_of(const char *name) {
    return strcmp(name, "ring_bytes") == 0 ? "batches"
           : strcmp(name, "controls") == 0 ? "control"
                                           : name;
}

static bool is_of_bytes(const char *name) {
    return strcmp(name, "ring_bytes") == 0 || strcmp(name, "memory") == 0;
}

static void add_amount(char *text, size_t size, const char *name, uint64_t amount) {
    char buffer[LEAT_CLI_UNIT_MAX];

    (void)snprintf(text, size, "%s",
                   is_of_bytes(name) ? leat_cli_bytes(amount, buffer)
                                     : leat_cli_count(amount, buffer));
}

static void add_charge(struct leat_cli_grid *grid, const Leat__Charge *charge) {
    char used[LEAT_CLI_UNIT_MAX], limit[LEAT_CLI_UNIT_MAX], cell[LEAT_CLI_GRID_CELL_MAX];

    add_amount(used, sizeof(used), charge->name, charge->used);
    add_amount(limit, sizeof(limit), charge->name, charge->limit);
    (void)snprintf(cell, sizeof(cell), charge->limit == UINT64_MAX ? "%s" : "%s of %s", used,
                   limit);
    leat_cli_grid_add(grid, cell);
}

static const char *user_name(uint32_t uid, char buffer[LEAT_CLI_UNIT_MAX]) {
    const struct passwd *found = getpwuid(uid);

    (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%" PRIu32, uid);
    if (found && strlen(found->pw_name) + 16 < LEAT_CLI_UNIT_MAX)
        (void)snprintf(buffer, LEAT_CLI_UNIT_MAX, "%s (%" PRIu32 ")", found->pw_name, uid);
    return buffer;
}

static void add_user(struct leat_cli_grid *grid, const Leat__UserQuota *user, size_t n_charges) {
    char buffer[LEAT_CLI_UNIT_MAX];

    leat_cli_grid_add(grid, user_name(user->uid, buffer));
    leat_cli_grid_add(grid, leat_cli_count(user->weight, buffer));
    leat_cli_grid_add(grid, leat_cli_duration(user->worker_ns, buffer));
    for (size_t i = 0; i < n_charges; i++)
        if (i < user->n_charges)
            add_charge(grid, user->charges[i]);
        else
            leat_cli_grid_add(grid, "");
    leat_cli_grid_add(grid, leat_cli_bytes(user->memory_in_use, buffer));
    leat_cli_grid_add(grid, leat_cli_count(user->n_refused, buffer));
}

static void add_text(struct leat_text *text, const Leat__QuotaReply *quota) {
    size_t n_charges = quota->n_totals < LEAT_CLI_GRID_COLUMNS_MAX - N_FIXED
                           ? quota->n_totals
                           : LEAT_CLI_GRID_COLUMNS_MAX - N_FIXED;
    struct leat_cli_grid grid;
    char buffer[LEAT_CLI_UNIT_MAX];

    leat_cli_grid_init(&grid, N_FIXED + n_charges);
    leat_cli_grid_add(&grid, "user");
    leat_cli_grid_add(&grid, "weight");
    leat_cli_grid_add(&grid, "worker time");
    for (size_t i = 0; i < n_charges; i++)
        leat_cli_grid_add(&grid, heading_of(quota->totals[i]->name));
    leat_cli_grid_add(&grid, "in use");
    leat_cli_grid_add(&grid, "refused");
    for (size_t i = 0; i < quota->n_users; i++)
        add_user(&grid, quota->users[i], n_charges);
    leat_cli_grid_add(&grid, "all");
    leat_cli_grid_add(&grid, "");
    leat_cli_grid_add(&grid, "");
    for (size_t i = 0; i < n_charges; i++)
        add_charge(&grid, quota->totals[i]);
    leat_cli_grid_add(&grid, leat_cli_bytes(quota->memory_in_use, buffer));
    leat_cli_grid_add(&grid, "");
    leat_cli_grid_print(&grid, text);
}

/* {"sessions": {"used": 1, "limit": 256}, ...} */
static void add_charges_json(struct leat_text *text, Leat__Charge *const *charges, size_t n) {
    leat_text_add(text, "{");
    for (size_t i = 0; i < n; i++) {
        leat_text_add(text, i ? ", " : "");
        leat_text_add_json(text, charges[i]->name, strlen(charges[i]->name));
        leat_text_add(text, ": {\"used\": %" PRIu64 ", \"limit\": %" PRIu64 "}", charges[i]->used,
                      charges[i]->limit);
    }
    leat_text_add(text, "}");
}

static void add_json(struct leat_text *text, const Leat__QuotaReply *quota) {
    leat_text_add(text, "{\"totals\": ");
    add_charges_json(text, quota->totals, quota->n_totals);
    leat_text_add(text, ", \"memory_in_use\": %" PRIu64 ", \"users\": [", quota->memory_in_use);
    for (size_t i = 0; i < quota->n_users; i++) {
        const Leat__UserQuota *user = quota->users[i];

        leat_text_add(text,
                      "%s{\"uid\": %" PRIu32 ", \"weight\": %" PRIu32 ", \"worker_ns\": %" PRIu64
                      ", \"n_refused\": %" PRIu64 ", \"memory_in_use\": %" PRIu64 ", \"charges\": ",
                      i ? ", " : "", user->uid, user->weight, user->worker_ns, user->n_refused,
                      user->memory_in_use);
        add_charges_json(text, user->charges, user->n_charges);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]}\n");
}

int leat_cli_streams_users(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_QUOTA;
    request.quota = &empty;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_QUOTA,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    if (arguments->json)
        add_json(&text, reply->quota);
    else
        add_text(&text, reply->quota);
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}
