/* shared_documents.h: records with lists of many lengths, whose elements say where they come from;
 * for the tests of stages that look at lengths or cut. */
#pragma once

#include "tests/pipeline/shared_stream.h"

#define DOCUMENTS "jsonl: {paths: [docs.jsonl]}"

/* Element k of document i is i * DOCUMENT_STRIDE + k. */
#define DOCUMENT_STRIDE 100000

/* docs.jsonl: n records {"id": i, "ids": [..], "also": [..]} with lengths 0..longest, most of them
 * short; `also` has as many elements as `ids`: 0 - ids. */
void write_documents(size_t n, uint32_t longest);
uint32_t document_length(size_t document, uint32_t longest);

/* That one sequence comes of any order of completion, number of jobs, slots and blocks, in threads,
 * over epochs and ranks, and from its middle on. */
void check_one_sequence(const char *source, const char *stages);
