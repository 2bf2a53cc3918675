# SPDX-License-Identifier: MIT
"""unittest in which a case or a subtest fails that asserts nothing and is not skipped."""
import contextlib
import functools
import sys
import unittest

assertions = 0


def asserted():
    """Counts a check that is made without a method of unittest."""
    global assertions   # pylint: disable=global-statement
    assertions += 1


def counted(method):
    @functools.wraps(method)
    def wrapper(*arguments, **options):
        asserted()
        return method(*arguments, **options)
    return wrapper


@contextlib.contextmanager
def must_assert(what):
    before = assertions
    try:
        yield
    except unittest.SkipTest:   # so that the case around a skipped part is not empty
        asserted()
        raise
    if assertions == before:
        raise AssertionError(f"the {what} made no assertion and was not skipped")


def watch(case):
    """Makes a class of test cases, and those derived from it, count their assertions."""
    for name in dir(case):
        if name.startswith("assert"):
            setattr(case, name, counted(getattr(case, name)))
    call, part = case._callTestMethod, case.subTest   # pylint: disable=protected-access

    @functools.wraps(call)
    def call_test_method(self, method):   # without setUp(), whose assertions are not the case's
        with must_assert("case"):
            call(self, method)

    @functools.wraps(part)
    @contextlib.contextmanager
    def sub_test(self, *arguments, **options):
        with part(self, *arguments, **options), must_assert("subtest"):
            yield

    case._callTestMethod, case.subTest = call_test_method, sub_test


watch(unittest.TestCase)


def main(**options):
    """Runs the cases of the calling file and ends the program."""
    result = unittest.main(exit=False, **options).result
    for case, reason in result.skipped:
        print(f"skipped case: {case.id()}: {reason}")   # .ci/count_tests.py reads it
    if result.testsRun == 0:
        print("FAILED: no case ran", file=sys.stderr)
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
