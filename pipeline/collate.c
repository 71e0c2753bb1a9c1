/* collate.c: the COLLATE job: the rows of a batch straight into its slot, padded as they go. The
 * one copy from token to trainer.
 *
 * Any thread. The blocks are only read; the slot is this job's alone.
 */
#include <string.h>

#include "pipeline/job.h"
#include "pipeline/scalar.h"

/* The field whose lengths give the shape: of a mask, the list that it masks. */
static const struct leat_field *
shaping(const struct leat_plan *plan, const struct leat_plan_tensor *tensor, uint32_t *ret_column) {
    const struct leat_field *field = &plan->fields[tensor->column];

    *ret_column = field->mask_of >= 0 ? (uint32_t)field->mask_of : tensor->column;
    return &plan->fields[*ret_column];
}

static uint64_t longest(const struct leat_batch_refs *batch, uint32_t column) {
    uint32_t length = 0;

    for (uint32_t i = 0; i < batch->n_refs; i++) {
        uint32_t n = batch->refs[i].block->columns[column].lengths[batch->refs[i].row];

        length = n > length ? n : length;
    }
    return length;
}

/* Elements of every row of the tensor. */
static uint64_t row_length(const struct leat_plan *plan, const struct leat_plan_tensor *tensor,
                           const struct leat_batch_refs *batch) {
    uint32_t column;
    const struct leat_field *field = shaping(plan, tensor, &column);
    uint64_t length;

    if (!field->is_list)
        return 1;
    if (field->is_padded && field->pad_length > 0)
        return field->pad_length;
    if (!field->is_padded && field->width > 0)
        return field->width;
    length = longest(batch, column);
    if (field->is_padded && field->pad_multiple > 1)
        length = (length + field->pad_multiple - 1) / field->pad_multiple * field->pad_multiple;
    return length;
}

uint64_t leat_collate_need(const struct leat_plan *plan, const struct leat_batch_refs *batch) {
    uint64_t total = leat_slot_head_bytes(plan->n_tensors);

    if (plan->is_bounded)
        return plan->slot_bytes;
    for (size_t i = 0; i < plan->n_tensors; i++)
        total += leat_slot_align(row_length(plan, &plan->tensors[i], batch) * batch->n_refs *
                                 leat_dtype_size(plan->tensors[i].dtype));
    return total;
}

static void copy_scalars(uint8_t *target, const struct leat_batch_refs *batch, uint32_t column,
                         size_t size) {
    for (uint32_t i = 0; i < batch->n_refs; i++) {
        const uint8_t *values = batch->refs[i].block->columns[column].values;

        memcpy(target + i * size, values + batch->refs[i].row * size, size);
    }
}

/* Repeats one element; the sizes are 1, 2, 4 and 8. */
static void fill(uint8_t *target, size_t n_elements, const uint8_t *element, size_t size) {
    uint32_t word;
    uint64_t pattern;

    if (size == 1) {
        memset(target, element[0], n_elements);
    } else if (size == 4) {
        memcpy(&word, element, sizeof(word));
        for (size_t i = 0; i < n_elements; i++)
            memcpy(target + i * 4, &word, sizeof(word));
    } else {
        pattern = 0;
        memcpy(&pattern, element, size);
        for (size_t i = 0; i < n_elements; i++)
            memcpy(target + i * size, &pattern, size);
    }
}

static uint64_t copy_rows(uint8_t *target, const struct leat_batch_refs *batch, uint32_t column,
                          size_t size, size_t length, const struct leat_field *field) {
    uint64_t n_elements = 0;
    uint8_t padding[8] = {0};

    (void)leat_scalar_store_double(padding, field->dtype, 0, field->pad_value);
    for (uint32_t i = 0; i < batch->n_refs; i++) {
        const struct leat_column *values = &batch->refs[i].block->columns[column];
        uint32_t row = batch->refs[i].row;
        size_t n = values->lengths[row], n_fill = length - n;
        uint8_t *at = target + (field->pad_left ? n_fill * size : 0);

        memcpy(at, (const uint8_t *)values->values + values->starts[row] * size, n * size);
        fill(field->pad_left ? target : target + n * size, n_fill, padding, size);
        target += length * size;
        n_elements += n;
    }
    return n_elements;
}

static void write_mask(int32_t *target, const struct leat_batch_refs *batch, uint32_t column,
                       size_t length, bool is_left) {
    for (uint32_t i = 0; i < batch->n_refs; i++, target += length) {
        size_t n = batch->refs[i].block->columns[column].lengths[batch->refs[i].row];
        size_t first = is_left ? length - n : 0;

        for (size_t k = 0; k < length; k++)
            target[k] = k - first < n;
    }
}

static void describe(struct leat_slot_tensor *descriptor, const struct leat_plan *plan,
                     const struct leat_plan_tensor *tensor, uint64_t n_rows, uint64_t length,
                     uint64_t offset) {
    uint32_t column;
    const struct leat_field *field = shaping(plan, tensor, &column);

    memset(descriptor, 0, sizeof(*descriptor));
    memcpy(descriptor->name, tensor->name, sizeof(descriptor->name));
    descriptor->dtype = (uint32_t)tensor->dtype;
    if (plan->is_batched)
        descriptor->shape[descriptor->ndim++] = n_rows;
    if (field->is_list)
        descriptor->shape[descriptor->ndim++] = length;
    descriptor->offset = offset;
    descriptor->size_bytes = n_rows * length * leat_dtype_size(tensor->dtype);
}

/* Writes one tensor at `target`; returns the elements of its rows, padding and masks not counted.
 */
static uint64_t write_tensor(uint8_t *target, const struct leat_plan *plan,
                             const struct leat_plan_tensor *tensor,
                             const struct leat_batch_refs *batch, size_t length) {
    uint32_t column;
    const struct leat_field *field = shaping(plan, tensor, &column);

    if (column != tensor->column)
        write_mask((int32_t *)(void *)target, batch, column, length, field->pad_left);
    else if (field->is_list)
        return copy_rows(target, batch, column, leat_dtype_size(tensor->dtype), length, field);
    else
        copy_scalars(target, batch, column, leat_dtype_size(tensor->dtype));
    return 0;
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

        describe(&descriptors[i], plan, tensor, batch->n_refs, length, offset);
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
}

void leat_collate_execute(struct leat_collate_job *job) {
    for (size_t i = 0; i < job->n_items; i++)
        collate(job->plan, &job->items[i]);
}
