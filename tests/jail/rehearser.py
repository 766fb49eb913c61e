"""Run as a script, `python -I rehearser.py REQUEST`: rehearses every case with each of some layers removed.

The request is JSON: `paths` for sys.path, `hardening`, `nobody` (become an ordinary user first), `removed` (a list of
layers; one after the other is left out). Standard output gets one JSON object: for the name of each, "" for none, the
list of what came of the cases.
"""

import ctypes
import json
import os
import sys

PR_SET_DUMPABLE = 4

REQUEST = json.loads(sys.argv[1])
sys.path[:0] = REQUEST["paths"]

from codemode_executor.jail import JailPolicy  # noqa: E402
from codemode_executor.jail.rehearsal import rehearse  # noqa: E402

if REQUEST["nobody"]:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)

POLICY = JailPolicy(hardening=REQUEST["hardening"], data_bytes=1 << 30)
RESULTS = {
    name: [{field: getattr(case, field) for field in case.__struct_fields__} for case in cases]
    for name in REQUEST["removed"]
    for cases in [rehearse(POLICY, [name] if name else [])]
}
print(json.dumps(RESULTS))
