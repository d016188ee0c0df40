"""Complete extension servers, to be read, run and copied."""
