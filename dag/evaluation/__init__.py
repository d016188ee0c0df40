"""What happens to one request: the answers of the rules, read as Envoy reads them.

Pure, as all of `dag`: from the answers of an engine to a trace of what was looked at, and the
outcome. It reads only answers that are kept already, so it makes no change more expensive.
`tests/agreement/evaluation` sends the evaluated requests through a real Envoy, and compares.
"""
