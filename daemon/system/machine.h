/* machine.h: how many processors this process may use, and how much of them is used by anybody.
 * Reads small files of /proc and /sys, which do not block. Any thread. */
#pragma once

#include <stdint.h>

#define LEAT_MACHINE_UNKNOWN UINT64_MAX

/* Processors that it may run on, or fewer if its control groups allow less time than that. */
double leat_machine_n_cpus(void);

/* Time that those were busy, of all together, since the machine began, in steps of 10 ms; time that
 * a hypervisor gave to others counts. LEAT_MACHINE_UNKNOWN: it cannot be told. */
uint64_t leat_machine_busy_ns(void);
