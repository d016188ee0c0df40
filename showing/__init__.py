"""What every process of ours shows of itself, whatever its work: lines of a log, a page of metrics.

For the control plane, the instance on one machine, and the operator. Nothing of ours is known here.
"""
