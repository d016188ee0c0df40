"""The engine: what a rule may see of the world, and the queries that are kept up to date."""
