import msgspec

from codemode_executor.jail import JailReport, LayerReport, ProbeResult, ThreadStatus


def test_reports_survive_the_wire() -> None:
    report = JailReport("used", (LayerReport("seccomp", "on", "x"), LayerReport("a", "failed", "y")))
    probe = ProbeResult("fork", True, "EPERM")
    status = ThreadStatus(1, "n", "S", (1, 2, 3, 4), (5, 6, 7, 8), (9,), 2, True, 0, 0)
    for value in (report, probe, status):
        encoded = msgspec.msgpack.encode(value)
        assert msgspec.msgpack.decode(encoded, type=type(value)) == value


def test_state_of_a_layer() -> None:
    report = JailReport("used", (LayerReport("seccomp", "failed", "x"),))
    assert report.state_of("seccomp") == "failed"
    assert report.state_of("landlock") == "off"
