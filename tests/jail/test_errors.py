import errno

from codemode_executor.jail import JailError


def test_the_text_names_layer_problem_errno_and_remedy() -> None:
    error = JailError("seccomp", "refused", errno=errno.EINVAL, remedy="use a newer kernel")
    assert str(error) == ('jail layer "seccomp" failed: refused (EINVAL). To fix it: use a newer kernel')
    assert (error.layer, error.problem, error.errno) == ("seccomp", "refused", errno.EINVAL)


def test_without_a_failed_call_there_is_no_errno() -> None:
    error = JailError("threads", "two", remedy="have one")
    assert str(error) == 'jail layer "threads" failed: two. To fix it: have one'
    assert error.errno is None
