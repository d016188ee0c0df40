"""What happens to one request: the answers of the rules, read as Envoy reads them.

Pure, as all of `dag`: from the answers that are there to a trace of what was looked at, and to the
outcome. It asks for no answer that is not kept already, so it costs a change nothing. Its judge is
Envoy: `tests/agreement/evaluation` sends the requests that it evaluates, and compares.
"""
