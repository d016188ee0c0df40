"""What the process measures of itself, for Prometheus.

Modules that work keep plain numbers; here they are read when somebody asks, so a change pays for
no metric. Names are upstream's where the same thing exists, and no label holds what a tenant can
make without bound: what is counted by host or by Secret is capped. Each module reads one thing;
`showing.exposition` makes a page of what they read. Where it is served: `contour.pages`.
"""
