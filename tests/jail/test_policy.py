import pytest

from codemode_executor.jail import Hardening, JailPolicy
from codemode_executor.jail.layers import LAYERS
from codemode_executor.jail.policy import BASELINE, EXTRA, HYGIENE


def test_the_default_requires_everything() -> None:
    policy = JailPolicy()
    assert (policy.hardening, policy.seccomp_action) == ("required", "errno")
    assert (policy.data_bytes, policy.nice, policy.oom_score_adj) == (None, 0, None)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"data_bytes": 0}, "data_bytes must be positive, not 0"),
        ({"data_bytes": -1}, "data_bytes must be positive, not -1"),
        ({"nice": 20}, "nice must be between -20 and 19, not 20"),
        (
            {"layers": {"landlok": "off"}},
            "layers names 'landlok', which is no layer of the jail; there are capabilities",
        ),
        ({"layers": {"landlock": "on"}}, r"""layers\['landlock'\] must be "required", "used" or "off", not 'on'"""),
        ({"layers": {"descriptors": "off"}}, r"""layers\['descriptors'\] cannot be "off": a worker always has it"""),
        ({"oom_score_adj": 1001}, "oom_score_adj must be between -1000 and 1000, not 1001"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        JailPolicy(**options)  # pyright: ignore[reportArgumentType]


def test_every_layer_belongs_to_one_group() -> None:
    assert [*sorted(HYGIENE | BASELINE | EXTRA)] == sorted(layer.name for layer in LAYERS)
    assert len(HYGIENE) + len(BASELINE) + len(EXTRA) == len(LAYERS)


@pytest.mark.parametrize(
    ("hardening", "hygiene", "baseline", "extra"),
    [("required", "required", "required", "used"), ("used", "used", "used", "used"), ("off", "used", "off", "off")],
)
def test_what_holds_for_a_layer(hardening: Hardening, hygiene: str, baseline: str, extra: str) -> None:
    policy = JailPolicy(hardening=hardening)
    assert {policy.wanted(name) for name in HYGIENE} == {hygiene}
    assert {policy.wanted(name) for name in BASELINE} == {baseline}
    assert {policy.wanted(name) for name in EXTRA} == {extra}
    levels: tuple[Hardening, ...] = ("required", "used", "off")
    for level in levels:
        assert JailPolicy(hardening=hardening, layers={"landlock": level}).wanted("landlock") == level
