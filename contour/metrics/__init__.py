"""What the process measures of itself, for Prometheus.

Other modules keep plain numbers, which are read here when metrics are scraped, so metrics cost
nothing at other times. Names are those of upstream Contour where it has the same metric. No label
has an unbounded number of values: metrics by host or by Secret are capped. Each module reads one
area; `observability.exposition` makes a page of them. Elsewhere: serving it (`contour.pages`).
"""
