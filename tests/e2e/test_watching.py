"""`contour status --watch` of a real `contour run`."""

from pathlib import Path

from tests.e2e import standalone
from tests.testbed import processes
from tests.testbed.processes import wait

HOST = "watched.example.com"


def site(code: object) -> str:
    return f"""
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {{name: site}}
spec:
  virtualhost: {{fqdn: {HOST}}}
  routes:
  - directResponsePolicy: {{statusCode: {code}}}
"""


def test_each_change_of_a_status_is_a_line(tmp_path: Path) -> None:
    with standalone.standalone(tmp_path, {"site.yaml": site(200)}) as instance:
        given = ("status", "--watch", "--state-dir", str(instance.state))
        watching = processes.contour("watch", tmp_path, *given)
        try:
            wait(lambda: "default/site" in watching.log.read_text(), "the table")
            assert " -> " not in watching.log.read_text()
            instance.write("site.yaml", site("none"))
            wait(
                lambda: "HTTPProxy default/site: valid -> " in watching.log.read_text(), "a change"
            )
            instance.remove("site.yaml")
            wait(lambda: "HTTPProxy default/site: gone" in watching.log.read_text(), "its end")
        finally:
            watching.stop()
