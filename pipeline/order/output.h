/* output.h: what comes out of a run: batches in slots, and ends of epochs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory for one batch. The run writes header, descriptors and tensors from `memory` on. */
struct leat_slot {
    void *memory;
    size_t size_bytes;
    uint32_t index;      /* the driver's; comes back in the output */
    uint64_t generation; /* the driver's */
};

enum leat_output_kind {
    LEAT_OUTPUT_BATCH,
    LEAT_OUTPUT_EPOCH_END,
};

struct leat_output {
    enum leat_output_kind kind;
    struct leat_slot slot; /* BATCH */
    uint64_t epoch, step;  /* EPOCH_END: step is the number of steps of the epoch, over all ranks */
    uint32_t n_rows;
    uint64_t used_bytes;
    bool is_last; /* EPOCH_END: nothing follows */
};
