"""The words of test libraries -> what they claim. Tables only.

A rule is `op subject expected`: which argument is looked at, which it is held against; `-` is none. `cond` and
`not` read the argument as a condition, so that assertTrue(a == b) is the same claim as assert a == b.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    op: str
    subject: int = 0
    expected: int | None = None
    value: str = ""  # expected, when the word itself says it: assertIsNone


def _table(text: str) -> dict[str, Rule]:
    """Lines of `op subject expected: names` -> rules by name."""
    rules: dict[str, Rule] = {}
    for line in text.strip().splitlines():
        head, _, names = line.strip().partition(": ")
        op, subject, expected = head.rsplit(" ", 2)
        by_index = int(expected) if expected.isdigit() else None
        value = "" if expected == "-" or by_index is not None else expected
        rules |= {name: Rule(op, int(subject), by_index, value) for name in names.split()}
    return rules


PYTHON = _table("""
== 0 1: assertEqual assertEquals assertListEqual assertDictEqual assertSetEqual assertTupleEqual assertIs
== 0 1: assertSequenceEqual assertMultiLineEqual assertCountEqual assert_array_equal assert_equal
== 0 1: assert_frame_equal assert_series_equal assertContainsExactly
== 0 None: assertIsNone
!= 0 1: assertNotEqual assertNotEquals assertIsNot assert_not_equal
defined 0 -: assertIsNotNone
cond 0 -: assertTrue assert_ assertTruthy
not 0 -: assertFalse
in 0 1: assertIn
not in 0 1: assertNotIn
> 0 1: assertGreater
>= 0 1: assertGreaterEqual
< 0 1: assertLess
<= 0 1: assertLessEqual
isinstance 0 1: assertIsInstance
approx 0 1: assertAlmostEqual assertAlmostEquals assert_allclose assert_almost_equal assert_array_almost_equal
raises 0 1: assertRaisesRegex assertWarnsRegex
raises 0 -: assertRaises raises warns assertWarns assertLogs deprecated_call
match 0 1: assertRegex
not in 0 1: assertNotRegex
""")
SCRIPT = _table("""
== 0 1: equal strictEqual deepEqual deepStrictEqual is same strictSame eq eql equals sameMembers
!= 0 1: notEqual notStrictEqual notDeepEqual notDeepStrictEqual not isNot
cond 0 -: ok true isTrue isOk truthy assert
not 0 -: notOk false isFalse falsy
== 0 null: isNull
defined 0 -: isNotNull exists isDefined
match 0 1: match regex
raises 0 1: throws rejects throwsAsync
approx 0 1: closeTo approximately
in 1 0: include includes
""")
GO = _table("""
== 1 0: Equal EqualValues Exactly JSONEq YAMLEq ElementsMatch Same
!= 1 0: NotEqual NotSame
== 0 1: Len
== 0 nil: Nil NoError Empty Zero
defined 0 -: NotNil Error NotEmpty NotZero
cond 0 -: True
not 0 -: False
in 1 0: Contains Subset
not in 1 0: NotContains
in 0 1: ErrorContains
raises 1 0: ErrorIs ErrorAs EqualError PanicsWithValue PanicsWithError IsType
raises 0 -: Panics
approx 1 0: InDelta InEpsilon WithinDuration
> 0 1: Greater
>= 0 1: GreaterOrEqual
< 0 1: Less
<= 0 1: LessOrEqual
match 1 0: Regexp
""")
RUST = _table("""
cond 0 -: assert debug_assert
== 0 1: assert_eq debug_assert_eq
!= 0 1: assert_ne debug_assert_ne
match 0 1: assert_matches
approx 0 1: assert_relative_eq assert_abs_diff_eq assert_ulps_eq
""")
JAVA = _table("""
== 1 0: assertEquals assertSame assertArrayEquals assertIterableEquals assertLinesMatch
!= 1 0: assertNotEquals assertNotSame
cond 0 -: assertTrue
not 0 -: assertFalse
== 0 null: assertNull
defined 0 -: assertNotNull
raises 0 -: assertThrows assertThrowsExactly
isinstance 1 0: assertInstanceOf
""")
RUBY = _table("""
== 1 0: assert_equal assert_same
!= 1 0: refute_equal assert_not_equal refute_same
cond 0 -: assert
not 0 -: refute assert_not
== 0 nil: assert_nil assert_empty
defined 0 -: refute_nil assert_not_nil refute_empty
in 1 0: assert_includes assert_include
not in 1 0: refute_includes
match 1 0: assert_match
approx 1 0: assert_in_delta assert_in_epsilon
isinstance 1 0: assert_instance_of assert_kind_of
raises 0 -: assert_raises assert_raise
""")
CALLS = {"python": PYTHON, "javascript": SCRIPT, "go": GO, "rust": RUST, "java": JAVA, "ruby": RUBY}
# Short words that are assertions only on these receivers.
RECEIVERS = {
    "javascript": frozenset({"assert", "t", "test", "chai", "strict", "tap"}),
    "go": frozenset({"assert", "require", "is", "a", "r", "s", "suite"}),
}

# expect(x).toBe(y), assertThat(x).isEqualTo(y), expect(x).to eq(y): the subject is in the root.
FLUENT_ROOTS = frozenset({"expect", "assertThat", "that", "_", "value", "expectTypeOf", "then"})
MATCHERS = _table("""
== 0 0: toBe toEqual toStrictEqual equal equals eql eq isEqualTo isSameAs hasValue containsExactly be_equal be
== 0 0: toHaveLength lengthOf hasSize toMatchSnapshot toMatchInlineSnapshot match_array contain_exactly to_equal
== 0 0: contains_exactly deepEqual members have_attributes toHaveProperty isEqualToIgnoringCase is equalTo
== 0 null: toBeNull toBeUndefined isNull be_nil isEmpty be_empty empty undefined null toBeNaN nullValue
in 0 0: toContain toContainEqual contain contains include toMatchObject includes containsAnyOf isIn be_in oneOf
in 0 0: startsWith endsWith start_with end_with hasItem containsString
match 0 0: toMatch match matches
truthy 0 -: toBeTruthy ok be_truthy isTrue true isPresent toBeTrue be_present
falsy 0 -: toBeFalsy be_falsey be_falsy isFalse false toBeFalse isNotPresent
defined 0 -: toBeDefined exist isNotNull isNotEmpty be_a_kind_of notNullValue
> 0 0: toBeGreaterThan above greaterThan isGreaterThan isPositive
>= 0 0: toBeGreaterThanOrEqual least isGreaterThanOrEqualTo
< 0 0: toBeLessThan below lessThan isLessThan
<= 0 0: toBeLessThanOrEqual most isLessThanOrEqualTo
raises 0 0: toThrow toThrowError throw throws raise_error rejectedWith isInstanceOfThrowable hasMessage
isinstance 0 0: toBeInstanceOf instanceOf instanceof a an isInstanceOf be_a be_an be_kind_of be_an_instance_of
isinstance 0 0: instance_of any
approx 0 0: toBeCloseTo closeTo isCloseTo be_within
called with 0 0: toHaveBeenCalledWith toHaveBeenLastCalledWith toHaveBeenNthCalledWith toBeCalledWith
called once 0 0: toHaveBeenCalledTimes toHaveBeenCalledOnce
called 0 -: toHaveBeenCalled toBeCalled called
""")
NEGATIONS = frozenset({"not", "not_to", "to_not", "isNot", "never"})
TARGETS = frozenset({"to", "not_to", "to_not"})  # RSpec puts the matcher in the argument

# x.must_equal 3, mock.assert_called_with(1): the subject is the receiver.
SUFFIXES = _table("""
== 0 0: must_equal must_be_same_as
== 0 nil: must_be_nil must_be_empty
!= 0 0: wont_equal
defined 0 -: wont_be_nil
in 0 0: must_include
match 0 0: must_match
approx 0 0: must_be_close_to must_be_within_delta
raises 0 0: must_raise
isinstance 0 0: must_be_instance_of must_be_kind_of
called with 0 0: assert_called_with assert_called_once_with assert_awaited_with assert_awaited_once_with
has calls 0 0: assert_has_calls assert_any_call
called once 0 -: assert_called_once assert_awaited_once
called 0 -: assert_called assert_awaited
not called 0 -: assert_not_called
""")
FAILS = frozenset({"fail", "flunk", "Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow", "panic"})
# Names by which a helper says that it asserts, wherever it is defined.
HELPER_NAME = r"^(assert|check|verify|expect|ensure|must|should)(_|[A-Z])"
