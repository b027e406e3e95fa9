#!/usr/bin/env python3
"""PyPI implicit on the matrix of the benchmark `als`: seconds of each iteration. Needs implicit, numpy, scipy."""

import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as implicit advises

import numpy as np
from implicit.cpu.als import AlternatingLeastSquares
from scipy.sparse import csr_matrix

USERS, ITEMS, PAIRS, ITERATIONS = 500_000, 100_000, 10_000_000, 3


def fractions(numbers):
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) / 2.0**53


pairs = np.arange(PAIRS, dtype=np.uint64) * np.uint64(2)
users = (fractions(pairs) * USERS).astype(np.int32)
skewed = fractions(pairs + np.uint64(1))
items = (skewed * skewed * skewed * ITEMS).astype(np.int32)
counts = csr_matrix((np.ones(PAIRS, np.float32), (users, items)), (USERS, ITEMS))
counts.sum_duplicates()
print(f"matrix of {counts.nnz} counts", flush=True)

# implicit's confidence is alpha * count, ours 1 + alpha * count
model = AlternatingLeastSquares(factors=100, regularization=0.01, alpha=11.0, iterations=ITERATIONS, use_cg=True)
before = time.process_time()


def report(number, seconds, *_):
    global before
    now = time.process_time()
    print(f"iteration {number + 1}: {seconds:.2f} s, {now - before:.2f} s of processors", flush=True)
    before = now


model.fit(counts, show_progress=False, callback=report)
