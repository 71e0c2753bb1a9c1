"""Measures how fast a training runs and how much memory it takes, and shows what hardware the machine has.

monitor, counting  the speed of a loop, and what it waits for
calls              the time of a function: compiling apart from computing
memory             memory over time
sizing             the memory of a model, rows that fit beside it, this machine
proc, nvml         what the kernel and NVIDIA's driver tell
table, chart       tables and charts of text
"""
