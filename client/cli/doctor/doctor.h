/* doctor.h: what `leatctl doctor` looked at, and found. Owner: the one thread. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "proto/base/text.h"
#include "proto/leat.pb-c.h"

#define LEAT_DOCTOR_FINDINGS_MAX 64
#define LEAT_DOCTOR_TEXT_MAX     640

enum leat_doctor_state {
    LEAT_DOCTOR_OK,
    LEAT_DOCTOR_WARN,   /* works, but not well, or not for long */
    LEAT_DOCTOR_FAIL,   /* does not work */
    LEAT_DOCTOR_UNSEEN, /* cannot be seen from here: no daemon, no right, no such thing */
};

struct leat_doctor_finding {
    enum leat_doctor_state state;
    const char *area; /* static: "kernel", "sockets", ... */
    char name[64];
    char text[LEAT_DOCTOR_TEXT_MAX];
    char mend[LEAT_DOCTOR_TEXT_MAX]; /* "": nothing is to be done */
};

struct leat_doctor {
    const char *file;                /* the configuration; NULL: not known */
    char path[4096];                 /* of it, absolute, once that was looked at */
    bool is_the_daemons;             /* the file is what the daemon reads */
    Leat__ControlReply *reply;       /* of the verb status; NULL: no daemon answers */
    const Leat__StatusReply *status; /* in it */
    size_t n_findings;
    bool was_dropped; /* the last one that was added */
    struct leat_doctor_finding findings[LEAT_DOCTOR_FINDINGS_MAX];
};

/* One more, which leat_doctor_mend() may tell how to mend; those above the limit are dropped. */
__attribute__((format(printf, 5, 6))) void leat_doctor_add(struct leat_doctor *doctor,
                                                           enum leat_doctor_state state,
                                                           const char *area, const char *name,
                                                           const char *format, ...);
/* Of the last one. */
__attribute__((format(printf, 2, 3))) void leat_doctor_mend(struct leat_doctor *doctor,
                                                            const char *format, ...);

void leat_doctor_print(const struct leat_doctor *doctor, bool has_colour, struct leat_text *text);
void leat_doctor_print_json(const struct leat_doctor *doctor, struct leat_text *text);
size_t leat_doctor_count(const struct leat_doctor *doctor, enum leat_doctor_state state);

/* What there is to look at; each adds its findings. */
void leat_doctor_kernel(struct leat_doctor *doctor);
void leat_doctor_limits(struct leat_doctor *doctor);
void leat_doctor_sockets(struct leat_doctor *doctor); /* finds the daemon */
void leat_doctor_groups(struct leat_doctor *doctor);
void leat_doctor_daemon(struct leat_doctor *doctor);
void leat_doctor_unit(struct leat_doctor *doctor);
void leat_doctor_configuration(struct leat_doctor *doctor);
void leat_doctor_folders(struct leat_doctor *doctor);
