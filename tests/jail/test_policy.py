import pytest

from codemode_executor.jail import JailPolicy


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
        ({"oom_score_adj": 1001}, "oom_score_adj must be between -1000 and 1000, not 1001"),
    ],
)
def test_numbers_out_of_range_are_refused(options: dict[str, int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        JailPolicy(**options)  # pyright: ignore[reportArgumentType]
