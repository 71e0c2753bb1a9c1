/* doctor.h: the findings of `leatctl doctor`. Owner: the one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/leat.pb-c.h"

#define LEAT_DOCTOR_FINDINGS_MAX 64
#define LEAT_DOCTOR_TEXT_MAX     640

enum leat_doctor_state {
    LEAT_DOCTOR_OK,
    LEAT_DOCTOR_WARN,   /* it works, but not well or not for long */
    LEAT_DOCTOR_FAIL,   /* it does not work */
    LEAT_DOCTOR_UNSEEN, /* this process cannot see it: no daemon, no right, no such thing */
};

struct leat_doctor_finding {
    enum leat_doctor_state state;
    const char *area; /* static: "kernel", "sockets", ... */
    char name[64];
    char text[LEAT_DOCTOR_TEXT_MAX];
    char mend[LEAT_DOCTOR_TEXT_MAX]; /* how to mend it; "": not at all */
};

struct leat_doctor {
    const char *file;                /* the configuration; NULL: not known */
    char path[4096];                 /* its absolute path, after leat_doctor_configuration() */
    bool is_the_daemons;             /* the daemon reads that file */
    Leat__ControlReply *reply;       /* of the verb status; NULL: no daemon answers */
    const Leat__StatusReply *status; /* in the reply */
    size_t n_findings;
    bool was_dropped; /* the last finding that was added */
    struct leat_doctor_finding findings[LEAT_DOCTOR_FINDINGS_MAX];
};

/* Adds a finding; those above the limit are dropped. */
__attribute__((format(printf, 5, 6))) void leat_doctor_add(struct leat_doctor *doctor,
                                                           enum leat_doctor_state state,
                                                           const char *area, const char *name,
                                                           const char *format, ...);
/* Says how to mend the last finding. Does nothing if that is LEAT_DOCTOR_OK. */
__attribute__((format(printf, 2, 3))) void leat_doctor_mend(struct leat_doctor *doctor,
                                                            const char *format, ...);

/* The number behind the key at the beginning of a line; the file is of /proc. */
#define LEAT_DOCTOR_NO_NUMBER UINT64_MAX
uint64_t leat_doctor_read_number(const char *path, const char *key);

/* A unit's properties as systemd prints them. */
struct leat_doctor_unit {
    char load[32], active[32], result[32], restarts[32], reload[32];
};

/* False: systemd does not run here or does not answer, or it is no name of a unit. */
bool leat_doctor_read_unit(const char *name, struct leat_doctor_unit *ret_unit);

/* True for a stunnel.conf, by its name. */
bool leat_doctor_is_tunnel(const char *path);
/* Examines that tunnel alone. */
void leat_doctor_tunnel(struct leat_doctor *doctor, const char *path);

size_t leat_doctor_count(const struct leat_doctor *doctor, enum leat_doctor_state state);

/* The examinations, in this order; each adds its findings. */
void leat_doctor_sockets(struct leat_doctor *doctor); /* finds the daemon */
void leat_doctor_kernel(struct leat_doctor *doctor);
void leat_doctor_limits(struct leat_doctor *doctor);
void leat_doctor_groups(struct leat_doctor *doctor);
void leat_doctor_daemon(struct leat_doctor *doctor);
void leat_doctor_unit(struct leat_doctor *doctor);
void leat_doctor_tunnels(struct leat_doctor *doctor);
void leat_doctor_configuration(struct leat_doctor *doctor);
void leat_doctor_folders(struct leat_doctor *doctor);
