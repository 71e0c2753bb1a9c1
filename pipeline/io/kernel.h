/* kernel.h: what leat needs of the kernel. Each need is tried in this process rather than looked
 * up, because a filter of system calls (of a container, of a unit) may deny what the kernel can. */
#pragma once

#define LEAT_KERNEL_NEEDS_MAX 16

struct leat_kernel_need {
    const char *name;    /* "pidfd"; NULL behind the last one */
    const char *what;    /* the call, and what leat does with it */
    const char *since;   /* the first Linux that has it */
    const char *instead; /* what leat does without it; NULL: leat does not work without it */
    int (*try)(void);    /* 0, or a positive errno */
};

extern const struct leat_kernel_need leat_kernel_needs[LEAT_KERNEL_NEEDS_MAX];
