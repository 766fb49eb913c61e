import msgspec

from codemode_executor.jail import JailReport, LayerReport, ProbeResult, ProcessStatus, ThreadStatus


def test_reports_survive_the_wire() -> None:
    report = JailReport("used", (LayerReport("seccomp", "on", "x"), LayerReport("a", "failed", "y", "required")))
    probe = ProbeResult("fork", True, "EPERM", 1)
    status = ThreadStatus(1, "n", "S", (1, 2, 3, 4), (5, 6, 7, 8), (9,), 2, True, 0, 0)
    process = ProcessStatus(True, False, None, False)
    for value in (report, probe, status, process):
        encoded = msgspec.msgpack.encode(value)
        assert msgspec.msgpack.decode(encoded, type=type(value)) == value


def test_state_of_a_layer() -> None:
    report = JailReport("used", (LayerReport("seccomp", "failed", "x"),))
    assert report.state_of("seccomp") == "failed"
    assert report.state_of("landlock") == "off"


def test_what_was_asked_of_a_layer() -> None:
    report = JailReport("required", (LayerReport("landlock", "failed", "x", "used"),))
    assert report.wanted_of("landlock") == "used"
    assert report.wanted_of("seccomp") == "required"
