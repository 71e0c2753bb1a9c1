/* collate.c: the COLLATE job: copies the rows of a batch straight into its slot, and pads them.
 * This is the one copy from token to trainer.
 *
 * A row is one reference, or a bundle of several that follow each other (pack). Any thread: blocks
 * are only read, and the slot is the job's alone.
 */
#include <string.h>

#include "pipeline/cache/block.h"
#include "pipeline/work/collate.h"
#include "proto/base/scalar.h"
#include "proto/base/simd.h"

#define FEW_ONES     128         /* of a mask, which a loop writes */
#define JOB_BYTES    (256 << 10) /* of the batches of one job, about */
#define STRETCH_MIN  64          /* rows that follow each other and are copied at once, at least */
#define PAST_BYTES   (8U << 20)  /* of a tensor that no cache holds until it is read */
#define WIDENED_ONCE 256         /* packed values of a dtype below int64 */
#define FILL_BYTES   2048        /* that are copied at once, and stay in the nearest cache */

/* The references of a row: itself, or those of its bundle. */
static const struct leat_ref *documents(const struct leat_ref *row, uint32_t *ret_n) {
    *ret_n = row->row == LEAT_REF_BUNDLE ? row->bundle->n_refs : 1;
    return row->row == LEAT_REF_BUNDLE ? row->bundle->refs : row;
}

static uint64_t longest(const struct leat_plan *plan, const struct leat_batch_refs *batch,
                        uint32_t column) {
    uint32_t length = 0;

    for (uint32_t i = 0; i < batch->n_refs; i++) {
        uint32_t n = leat_ref_elements(batch->refs[i], plan->fields, column);

        length = n > length ? n : length;
    }
    return length;
}

/* Number of elements of each row of the tensor. */
static uint64_t row_length(const struct leat_plan *plan, const struct leat_plan_tensor *tensor,
                           const struct leat_batch_refs *batch) {
    const struct leat_field *field = leat_plan_shaping(plan, &plan->fields[tensor->column]);

    if (!field->is_list)
        return 1;
    if (field->is_padded && field->pad_length > 0)
        return field->pad_length;
    if (!field->is_padded && field->width > 0)
        return field->width;
    return leat_field_padded(field, longest(plan, batch, (uint32_t)(field - plan->fields)));
}

/* Number of documents of a row; padding counts as one more. */
static uint64_t n_segments(const struct leat_ref *row, uint64_t length) {
    return row->bundle->n_refs + (row->bundle->n_elements < length);
}

static uint64_t n_elements(const struct leat_plan *plan, const struct leat_plan_tensor *tensor,
                           const struct leat_batch_refs *batch, uint64_t length) {
    uint64_t n = 1;

    if (plan->fields[tensor->column].made != LEAT_MADE_AS_CU_SEQLENS)
        return length * batch->n_refs;
    for (uint32_t i = 0; i < batch->n_refs; i++)
        n += n_segments(&batch->refs[i], length);
    return n;
}

uint64_t leat_collate_need(const struct leat_plan *plan, const struct leat_batch_refs *batch) {
    uint64_t total = leat_slot_head_bytes(plan->n_tensors);

    if (plan->is_bounded)
        return plan->slot_bytes;
    for (size_t i = 0; i < plan->n_tensors; i++) {
        const struct leat_plan_tensor *tensor = &plan->tensors[i];
        uint64_t length = row_length(plan, tensor, batch);

        total += leat_slot_align(n_elements(plan, tensor, batch, length) *
                                 leat_dtype_size(tensor->dtype));
    }
    return total;
}

/* ---- values ---- */

/* Rows of a batch that follow each other in a block. */
static uint32_t stretch_of(const struct leat_ref *refs, uint32_t n_refs) {
    uint32_t n = 1;

    while (n < n_refs && refs[n].block == refs->block && refs[n].row == refs->row + n)
        n++;
    return n;
}

#define GATHER(name, type)                                                                         \
    static void name(void *target, const struct leat_ref *refs, uint32_t n_refs,                   \
                     uint32_t column) {                                                            \
        type *values = target;                                                                     \
                                                                                                   \
        for (uint32_t i = 0; i < n_refs; i++)                                                      \
            values[i] = ((const type *)refs[i].block->columns[column].values)[refs[i].row];        \
    }

GATHER(gather_8, uint8_t)
GATHER(gather_16, uint16_t)
GATHER(gather_32, uint32_t)
GATHER(gather_64, uint64_t)

static void gather(void *target, const struct leat_ref *refs, uint32_t n_refs, uint32_t column,
                   size_t size) {
    switch (size) {
    case 1:
        gather_8(target, refs, n_refs, column);
        break;
    case 2:
        gather_16(target, refs, n_refs, column);
        break;
    case 4:
        gather_32(target, refs, n_refs, column);
        break;
    default:
        gather_64(target, refs, n_refs, column);
        break;
    }
}

/* Rows that are as they lie in blocks are copied by stretches, shuffled ones one by one. */
static void copy_scalars(uint8_t *target, const struct leat_batch_refs *batch, uint32_t column,
                         size_t size) {
    for (uint32_t i = 0, n; i < batch->n_refs; i += n) {
        const struct leat_ref *refs = &batch->refs[i];

        n = stretch_of(refs, batch->n_refs - i);
        if (n < STRETCH_MIN) {
            n = batch->n_refs - i < STRETCH_MIN ? batch->n_refs - i : STRETCH_MIN;
            gather(target + i * size, refs, n, column, size);
        } else {
            memcpy(target + i * size,
                   (const uint8_t *)refs->block->columns[column].values + refs->row * size,
                   n * size);
        }
    }
}

/* Repeats one element. The part that is filled is copied behind itself, doubling while it stays in
 * the nearest cache, as memcpy and memset store as fast as the machine can. */
static void fill(uint8_t *target, size_t n_elements, const uint8_t *element, size_t size) {
    size_t n_bytes = n_elements * size, n_done = size;

    if (n_elements == 0)
        return;
    if (size == 1 || memcmp(element, element + 1, size - 1) == 0) {
        memset(target, element[0], n_bytes);
        return;
    }
    memcpy(target, element, size);
    while (n_done < n_bytes) {
        size_t n = n_done < FILL_BYTES ? n_done : FILL_BYTES;

        n = n < n_bytes - n_done ? n : n_bytes - n_done;
        memcpy(target + n_done, target, n);
        n_done += n;
    }
}

/* The elements of a row in a list. */
struct elements {
    const struct leat_column *column;
    size_t start, n;
};

/* Of a part only its range. */
static struct elements elements_of(const struct leat_ref *ref, const struct leat_field *field,
                                   uint32_t column) {
    bool is_part = field->made != LEAT_MADE_OF_RECORDS;
    const struct leat_column *values = &ref->block->columns[is_part ? field->of : column];
    struct elements elements = {values, values->starts[ref->row], values->lengths[ref->row]};

    if (is_part && ref->length != LEAT_REF_WHOLE) {
        elements.start += ref->start;
        elements.n = ref->length;
    }
    return elements;
}

/* is_past: packed values go past the cache, since the tensor is larger than it. */
static void copy_elements(uint8_t *target, const struct elements *from, enum leat_dtype dtype,
                          bool is_past) {
    const struct leat_column *column = from->column;

    if (is_past && column->width)
        leat_cache_unpack_past(target,
                               (const uint8_t *)column->values + from->start * column->width,
                               from->n, dtype, column->width, column->base);
    else
        leat_cache_copy(column, dtype, from->start, from->n, target);
}

static uint64_t copy_rows(uint8_t *target, const struct leat_batch_refs *batch,
                          const struct leat_field *field, uint32_t column, size_t size,
                          size_t length) {
    bool is_past = batch->n_refs * length * size >= PAST_BYTES;
    uint64_t n_copied = 0;
    uint8_t padding[8] = {0};

    (void)leat_scalar_store_double(padding, field->dtype, 0, field->pad_value);
    for (uint32_t i = 0; i < batch->n_refs; i++, target += length * size) {
        struct elements from = elements_of(&batch->refs[i], field, column);
        size_t n_fill = length - from.n;

        copy_elements(target + (field->pad_left ? n_fill * size : 0), &from, field->dtype, is_past);
        fill(field->pad_left ? target : target + from.n * size, n_fill, padding, size);
        n_copied += from.n;
    }
    return n_copied;
}

#define WIDEN(name, type)                                                                          \
    static void name(int64_t *restrict target, const type *restrict from, size_t n) {              \
        for (size_t i = 0; i < n; i++)                                                             \
            target[i] = from[i];                                                                   \
    }

WIDEN(widen_uint8, uint8_t)
WIDEN(widen_uint16, uint16_t)
WIDEN(widen_int8, int8_t)
WIDEN(widen_int16, int16_t)
WIDEN(widen_int32, int32_t)

static void widen(int64_t *target, const void *from, enum leat_dtype from_dtype, size_t n) {
    switch (from_dtype) {
    case LEAT_DTYPE_BOOL:
    case LEAT_DTYPE_UINT8:
        widen_uint8(target, from, n);
        break;
    case LEAT_DTYPE_UINT16:
        widen_uint16(target, from, n);
        break;
    case LEAT_DTYPE_INT8:
        widen_int8(target, from, n);
        break;
    case LEAT_DTYPE_INT16:
        widen_int16(target, from, n);
        break;
    default:
        widen_int32(target, from, n);
        break;
    }
}

/* Copies integers to int64, which is the dtype of labels. */
static void copy_widened(int64_t *target, const struct elements *from, enum leat_dtype dtype) {
    size_t size = leat_dtype_size(dtype);
    int32_t some[WIDENED_ONCE];

    if (!from->column->width) {
        widen(target, (const uint8_t *)from->column->values + from->start * size, dtype, from->n);
        return;
    }
    for (size_t i = 0, n; i < from->n; i += n) {
        n = from->n - i < WIDENED_ONCE ? from->n - i : WIDENED_ONCE;
        leat_cache_copy(from->column, dtype, from->start + i, n, some);
        widen(target + i, some, dtype, n);
    }
}

/* Rows of several documents, end to end, padded on the right. */
static uint64_t copy_documents(uint8_t *target, const struct leat_plan *plan,
                               const struct leat_batch_refs *batch, const struct leat_field *field,
                               uint32_t column, size_t size, size_t length) {
    enum leat_dtype dtype =
        plan->fields[field->made == LEAT_MADE_OF_RECORDS ? column : field->of].dtype;
    bool is_past = batch->n_refs * length * size >= PAST_BYTES;
    uint64_t n_copied = 0;
    uint8_t padding[8] = {0};

    (void)leat_scalar_store_double(padding, field->dtype, 0, field->pad_value);
    for (uint32_t i = 0; i < batch->n_refs; i++, target += length * size) {
        uint32_t n_documents;
        const struct leat_ref *refs = documents(&batch->refs[i], &n_documents);
        size_t at = 0;

        for (uint32_t k = 0; k < n_documents; k++) {
            struct elements from = elements_of(&refs[k], field, column);
            uint8_t *to = target + at * size;

            if (dtype == field->dtype)
                copy_elements(to, &from, dtype, is_past);
            else
                copy_widened((int64_t *)(void *)to, &from, dtype);
            if (field->made == LEAT_MADE_AS_LABELS)
                memcpy(to, padding, size);
            at += from.n;
        }
        fill(target + at * size, length - at, padding, size);
        n_copied += at;
    }
    return n_copied;
}

/* ---- tensors that are made with the batch ---- */

/* A loop is quicker than calls for the few tokens that most rows have. */
static void fill_ones(int32_t *target, size_t n) {
    const int32_t one = 1;

    if (n > FEW_ONES)
        fill((uint8_t *)target, n, (const uint8_t *)&one, sizeof(one));
    for (size_t i = 0; n <= FEW_ONES && i < n; i++)
        target[i] = one;
}

static void write_mask(int32_t *target, const struct leat_plan *plan,
                       const struct leat_batch_refs *batch, uint32_t column, size_t length) {
    bool is_left = plan->fields[column].pad_left;

    for (uint32_t i = 0; i < batch->n_refs; i++, target += length) {
        size_t n = leat_ref_elements(batch->refs[i], plan->fields, column);
        size_t first = is_left ? length - n : 0, behind = is_left ? 0 : n;

        fill_ones(target + first, n);
        memset(target + behind, 0, (length - n) * sizeof(*target));
    }
}

static void write_starts(int32_t *target, const struct leat_batch_refs *batch) {
    for (uint32_t i = 0; i < batch->n_refs; i++)
        target[i] = (int32_t)batch->refs[i].start;
}

static void write_positions(int32_t *target, const struct leat_batch_refs *batch, size_t length) {
    for (uint32_t i = 0; i < batch->n_refs; i++, target += length) {
        const struct leat_bundle *bundle = batch->refs[i].bundle;
        size_t at = 0;

        for (uint32_t k = 0; k < bundle->n_refs; k++) {
            uint32_t n = bundle->refs[k].length;

            for (uint32_t position = 0; position < n; position++)
                target[at++] = (int32_t)position;
        }
        memset(target + at, 0, (length - at) * sizeof(*target));
    }
}

static void write_segments(int32_t *target, const struct leat_batch_refs *batch, size_t length) {
    for (uint32_t i = 0; i < batch->n_refs; i++, target += length) {
        const struct leat_bundle *bundle = batch->refs[i].bundle;
        size_t at = 0;

        for (uint32_t k = 0; k < bundle->n_refs; k++)
            for (uint32_t n = bundle->refs[k].length; n > 0; n--)
                target[at++] = (int32_t)k + 1;
        memset(target + at, 0, (length - at) * sizeof(*target));
    }
}

static void write_cu_seqlens(int32_t *target, const struct leat_batch_refs *batch, size_t length) {
    size_t at = 0;

    *target++ = 0;
    for (uint32_t i = 0; i < batch->n_refs; i++) {
        const struct leat_bundle *bundle = batch->refs[i].bundle;

        for (uint32_t k = 0; k < bundle->n_refs; k++) {
            at += bundle->refs[k].length;
            *target++ = (int32_t)at;
        }
        if (bundle->n_elements < length)
            *target++ = (int32_t)((i + 1) * length);
        at = (i + 1) * length;
    }
}

static void write_made(int32_t *target, const struct leat_plan *plan,
                       const struct leat_field *field, const struct leat_batch_refs *batch,
                       size_t length) {
    if (field->made == LEAT_MADE_AS_MASK)
        write_mask(target, plan, batch, field->of, length);
    else if (field->made == LEAT_MADE_AS_START)
        write_starts(target, batch);
    else if (field->made == LEAT_MADE_AS_POSITIONS)
        write_positions(target, batch, length);
    else if (field->made == LEAT_MADE_AS_SEGMENTS)
        write_segments(target, batch, length);
    else
        write_cu_seqlens(target, batch, length);
}

/* ---- tensors ---- */

static void describe(struct leat_slot_tensor *descriptor, const struct leat_plan *plan,
                     const struct leat_plan_tensor *tensor, const struct leat_batch_refs *batch,
                     uint64_t length, uint64_t offset) {
    const struct leat_field *field = &plan->fields[tensor->column];
    uint64_t n = n_elements(plan, tensor, batch, length);

    memset(descriptor, 0, sizeof(*descriptor));
    memcpy(descriptor->name, tensor->name, sizeof(descriptor->name));
    descriptor->dtype = (uint32_t)tensor->dtype;
    if (field->made == LEAT_MADE_AS_CU_SEQLENS) {
        descriptor->shape[descriptor->ndim++] = n;
    } else {
        if (plan->is_batched)
            descriptor->shape[descriptor->ndim++] = batch->n_refs;
        if (leat_plan_shaping(plan, field)->is_list)
            descriptor->shape[descriptor->ndim++] = length;
    }
    descriptor->offset = offset;
    descriptor->size_bytes = n * leat_dtype_size(tensor->dtype);
}

/* Writes one tensor at `target`. Returns the number of its tokens: without padding, labels,
 * annotations, and tensors that are made with the batch. */
static uint64_t write_tensor(uint8_t *target, const struct leat_plan *plan,
                             const struct leat_plan_tensor *tensor,
                             const struct leat_batch_refs *batch, size_t length) {
    const struct leat_field *field = &plan->fields[tensor->column];
    size_t size = leat_dtype_size(tensor->dtype);
    uint64_t n = 0;

    switch (field->made) {
    case LEAT_MADE_OF_RECORDS:
    case LEAT_MADE_OF_PARTS:
    case LEAT_MADE_AS_LABELS:
        if (!field->is_list)
            copy_scalars(target, batch, tensor->column, size);
        else if (batch->refs[0].row == LEAT_REF_BUNDLE)
            n = copy_documents(target, plan, batch, field, tensor->column, size, length);
        else
            n = copy_rows(target, batch, field, tensor->column, size, length);
        break;
    default:
        write_made((int32_t *)(void *)target, plan, field, batch, length);
        break;
    }
    return field->is_annotation ? 0 : n;
}

static void collate(const struct leat_plan *plan, struct leat_collate_item *item) {
    const struct leat_batch_refs *batch = item->batch;
    uint8_t *memory = item->slot.memory;
    struct leat_slot_header *header = item->slot.memory;
    struct leat_slot_tensor *descriptors = (struct leat_slot_tensor *)(header + 1);
    uint64_t offset = leat_slot_head_bytes(plan->n_tensors);

    for (size_t i = 0; i < plan->n_tensors; i++) {
        const struct leat_plan_tensor *tensor = &plan->tensors[i];
        uint64_t length = row_length(plan, tensor, batch);
        uint64_t end;

        describe(&descriptors[i], plan, tensor, batch, length, offset);
        item->n_elements += write_tensor(memory + offset, plan, tensor, batch, length);
        end = offset + descriptors[i].size_bytes;
        offset = leat_slot_align(end);
        memset(memory + end, 0, offset - end);
    }
    *header = (struct leat_slot_header){
        .magic = LEAT_SLOT_MAGIC,
        .version = LEAT_SLOT_VERSION,
        .n_tensors = (uint16_t)plan->n_tensors,
        .used_bytes = offset,
        .epoch = batch->epoch,
        .step = batch->step,
        .n_rows = batch->n_refs,
    };
    item->used_bytes = offset;
    leat_simd_fence();
}

size_t leat_collate_max(const struct leat_plan *plan) {
    size_t n = JOB_BYTES / (plan->slot_bytes ? plan->slot_bytes : 1);

    if (plan->options.collate_batches > 0)
        return (size_t)plan->options.collate_batches;
    return n < 1 ? 1 : n > LEAT_KNOB_COLLATED_MAX ? LEAT_KNOB_COLLATED_MAX : n;
}

void leat_collate_execute(struct leat_collate_job *job) {
    for (size_t i = 0; i < job->n_items; i++)
        collate(job->plan, &job->items[i]);
}
