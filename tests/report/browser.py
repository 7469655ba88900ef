"""A page in a real browser, and what a script of the test saw there.

Debian's Chromium, if there is one. It opens the file as a reader would, from
file://, with the script added.
"""

import html
import json
import re
import shutil
import subprocess

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None
)
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
    "--virtual-time-budget=3000", "--dump-dom",
)
PROBE = """
<script>
const seen = {};
const table = document.querySelector("table.sortable");
if (table) {
  const head = [...table.tHead.rows[0].cells].findIndex(
      cell => cell.textContent.startsWith("req/s/chip"));
  const column = () => [...table.tBodies[0].rows].map(
      row => Number(row.cells[head].dataset.value));
  table.tHead.rows[0].cells[head].click();
  seen.up = column();
  table.tHead.rows[0].cells[head].click();
  seen.down = column();
}
seen.figures = [...document.querySelectorAll("figure.chart")].map(
    figure => [figure.dataset.name,
               [...figure.querySelectorAll(".panel:not([hidden]) > svg")].map(
                   svg => Math.round(svg.getBoundingClientRect().width))]);
seen.overflow = document.documentElement.scrollWidth > innerWidth;
seen.tabs = document.querySelectorAll(".panel[hidden]").length;
addEventListener("load", () => {
  seen.requests = performance.getEntriesByType("resource").map(r => r.name);
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify(seen);
  document.body.append(told);
});
</script>
"""


def opened(page, tmp_path, width=1280):
  """(what the probe saw, what the console said)."""
  probed = tmp_path / f"probed{width}.html"
  probed.write_text(page.read_text().replace("</body>", PROBE + "</body>"))
  done = subprocess.run(
      [CHROMIUM, *OPTIONS, f"--window-size={width},900",
       f"--user-data-dir={tmp_path / 'profile'}", probed.as_uri()],
      capture_output=True, text=True, timeout=300, check=False,
  )
  found = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
  assert found, done.stderr[-2000:]
  console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
  return json.loads(html.unescape(found[1])), console
