"""What every process of ours shows of itself: log lines, metrics and an exit code.

For the control plane, the instance on one machine, and the operator. It depends on no package of
ours.
"""
