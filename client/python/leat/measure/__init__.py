"""Measures how fast a training runs and how much memory it takes, and shows what hardware the machine has.

monitor, counting  the speed of a loop, and what it waits for
calls              the time of a function, with compilation and computation measured separately
memory             the use of memory over time
sizing             the memory of a model, the batch size that fits, the hardware
proc, nvml         measurements of the kernel and of NVIDIA's driver
table, chart       tables and charts as text
"""
