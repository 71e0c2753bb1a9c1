/* shared_records.h: records with ids, some long, some bad, and random ways to run a plan on them;
 * for the tests of runs. */
#pragma once

#include "tests/pipeline/shared_stream.h"

#define CSV "csv: {paths: [data.csv]}"

#define CASTS                                                                                      \
    "- template: {output: text, parts: ['Name: {name}', 'Age: {age}']}\n"                          \
    "- cast: {input: id, dtype: int64}\n"                                                          \
    "- cast: {input: age, output: age, dtype: float32, default: -1}\n"
#define BAD_STAGES CASTS "- select: {fields: [id, age]}\n- batch: {batch_size: 10}"

/* The next of a fixed sequence, below n. */
uint64_t draw(uint64_t n);

/* id, name, age: every 10th age is empty. bad_every: each of these ids has an age that is no
 * number (or, in turn, a field too many); 0: none. */
void write_data(const char *file, int64_t first, int64_t n, int64_t bad_every);

struct drive random_drive(void);
/* "block_bytes: N"; valid until the next call. */
const char *block_option(void);
