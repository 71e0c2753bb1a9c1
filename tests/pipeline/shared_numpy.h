/* shared_numpy.h: stages against data/numbers.jsonl, which data/make_numbers.py has from NumPy. */
#pragma once

/* Runs all cases of that stage, of which there is at least one: the tensor "x" of the batches must
 * have the dtype, shape and numbers of the case. Within a group with folder_open and folder_close.
 */
void check_numpy(const char *test);
