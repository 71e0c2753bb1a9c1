/* field.h: the facts about a column that are known at plan time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/dtype.h"
#include "proto/slot.h"

struct leat_config;

/* A column that is not read or computed but made with the batch has no values of its own. What it
 * is made of stands in the column `of`. */
enum leat_making {
    LEAT_MADE_OF_RECORDS, /* none of these: its values stand in the block */
    LEAT_MADE_AS_MASK,    /* int32: 1 for elements of `of`, 0 for padding */
    LEAT_MADE_OF_PARTS,   /* of the elements of `of` that the reference means (chunk, pack) */
    LEAT_MADE_AS_LABELS,  /* the same, of a wider dtype if need be; pad_value in place of the first
                             element of each document */
    LEAT_MADE_AS_START,   /* int32: where in the list `of` the part starts */
    /* these have the shape of `of`, a column of parts */
    LEAT_MADE_AS_POSITIONS, /* int32, of a row of `of`: 0, 1, .. in each document */
    LEAT_MADE_AS_SEGMENTS,  /* int32, of a row of `of`: 1 in its first document, 2, ..; padding 0 */
    LEAT_MADE_AS_CU_SEQLENS, /* int32, of a batch of `of`: where documents start, rows end to end */
};

/* The facts about a field at plan time. */
struct leat_field {
    char name[LEAT_NAME_MAX + 1];
    enum leat_dtype dtype;
    bool is_list;        /* text or a list: a view a row; else a scalar */
    uint64_t max_length; /* elements a row at most; 0: unknown */
    uint64_t width;      /* of a list: elements of every row; 0: they differ */
    bool has_pad_value;  /* the stage that made it knows what it is padded with (a tokenizer) */
    double pad_value;
    bool is_annotation; /* a list of labels or types, one for each token of another list */
    bool is_labels;     /* labels that a model is to predict; padding must not be predicted */
    /* For a text or token ids: the hidden column that says which parts count in the loss, see
     * stages/shared_loss.h; -1: none. */
    int32_t loss_column;
    /* For token ids: the config of the stage tokenize that made them, which knows the names of
     * tokens; NULL: none. */
    const struct leat_config *tokenizer;
    bool has_special_tokens; /* of a text: it already has the special tokens that it needs */
    const char *bos;         /* the one in front of them; NULL: none */
    /* set by `pad`, used by collation */
    bool is_padded;
    uint64_t pad_length;   /* exactly; 0: to the longest of the batch */
    uint64_t pad_multiple; /* of the longest; 0 or 1: none */
    bool pad_left;
    enum leat_making made;
    uint32_t of;
};

#define LEAT_FIELDS_MAX 4096

/* Elements that a row of n takes in a batch, if no other row is longer. */
static inline uint64_t leat_field_padded(const struct leat_field *field, uint64_t n) {
    uint64_t multiple = field->pad_multiple > 1 ? field->pad_multiple : 1;

    if (!field->is_padded)
        return n;
    return field->pad_length > 0 ? field->pad_length : (n + multiple - 1) / multiple * multiple;
}
