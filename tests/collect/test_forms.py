"""Examples in every form that docstrings, reStructuredText and Markdown know."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.collect.docs import extract
from fuzz_core.collect.snippets import remove_prompts, salvage, syntax_error


def code_of(text: str, library: str = "") -> str:
    return extract(textwrap.dedent(text), library).code


def statements_of(text: str, library: str = "") -> list[str]:
    return [ast.unparse(statement) for statement in ast.parse(code_of(text, library)).body]


PROMPTS = """
    Example::

        >>> m = Normal(0, 1)  # doctest: +SKIP
        >>> for i in range(2):
        ...     m.sample()
        ...
        tensor([0.1])
        >>> m.mean
        tensor(0.)
"""
UNPROMPTED_CONTINUATION = """
    >>> x = f(1,
              2)
    3
    >>> g(x)
"""
PROMPT_FOR_EVERY_LINE = """
    >>> class M(Base):
    >>>     def forward(self, x):
    >>>         return x
    >>> m = M()
"""
NO_BLANK_AFTER_PROMPT = """
    >>>x = f(1)
    >>>for i in x:
    ...    g(i)
    ...    h(i)
"""
UNEVEN_INDENTATION = """
      >>> x = f(1)
    >>> y = [
       ... 2]
        >>> g(y)
"""
BROKEN_STRING = """
    >>> print("Packed:
    ", f(1))
    Packed: 1
"""
MISSING_BODY_PROMPT = """
    >>> for i in range(3):
            f(i)
    0
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PROMPTS, ["m = Normal(0, 1)", "for i in range(2):\n    m.sample()", "m.mean"]),
        (UNPROMPTED_CONTINUATION, ["x = f(1, 2)", "g(x)"]),
        (PROMPT_FOR_EVERY_LINE, ["class M(Base):\n\n    def forward(self, x):\n        return x", "m = M()"]),
        (UNEVEN_INDENTATION, ["x = f(1)", "y = [2]", "g(y)"]),
        (BROKEN_STRING, ["print('Packed:\\n', f(1))"]),
        (MISSING_BODY_PROMPT, ["for i in range(3):\n    f(i)"]),
        (
            "In [3]: x = f(1)\nOut[3]: 4\n\nIn [4]: for i in x:\n   ...:     g(i)\n",
            ["x = f(1)", "for i in x:\n    g(i)"],
        ),
    ],
)
def test_sessions(text: str, expected: list[str]) -> None:
    assert statements_of(text) == expected


def test_a_prompt_without_a_blank_is_still_a_prompt() -> None:
    assert statements_of(NO_BLANK_AFTER_PROMPT) == ["x = f(1)", "for i in x:\n    g(i)\n    h(i)"]


def test_directives_and_printed_output_are_gone() -> None:
    code = code_of(PROMPTS)
    assert "doctest" not in code
    assert "tensor" not in code


FENCES = """
    Text.

    ```python
    x = f(1)
    ```

    ~~~py
    for i in x:
        g(i)
    ~~~

    ```shell
    rm(1)
    ```

    ```
    >>> h(x)
    [1]
    ```

    ```{code-cell} python
    ignored = 1
    ```
"""


def test_fences_of_either_mark_and_sessions_inside_them() -> None:
    found = statements_of(FENCES)
    assert found[:3] == ["x = f(1)", "for i in x:\n    g(i)", "h(x)"]
    assert "rm" not in code_of(FENCES)


def test_a_fence_that_is_never_closed_ends_with_its_block() -> None:
    assert statements_of("  Usage:\n\n    ```python\n    f(1)\n\n  The text goes on (really).\n") == ["f(1)"]


def test_nested_indentation_keeps_its_shape() -> None:
    text = """
        Args:
          x: Use it so:

            ```python
            with a(1) as b:
              if b:
                c(b)
            ```
    """
    assert statements_of(text) == ["with a(1) as b:\n    if b:\n        c(b)"]


BLOCKS = """
    .. code-block:: python
       :linenos:

       x = f(1)

    .. code-block:: console

       $ pip install it(1)

    .. math::
        f(x) = g(x)

    .. note::
        .. testcode::

            y = g(x)

    An example::

        h(x, y)

    A formula::

        a[i][j] = b[j]

    .. warning:: Nothing::

        this is prose (really)
"""


def test_rst_blocks_of_code_and_of_nothing_else() -> None:
    assert statements_of(BLOCKS) == ["x = f(1)", "y = g(x)", "h(x, y)"]


def test_code_that_a_docstrings_first_line_announces() -> None:
    doc = "Applies it, Example::\n\n    m = Linear(2)\n    m(x)\n\n    # [2]\n    "
    assert [ast.unparse(each) for each in ast.parse(extract(doc).code).body] == ["m = Linear(2)", "m(x)"]
    assert extract("Applies it::\n\n    As everybody knows (it works).\n").code == ""
    assert extract("Applies it::\n\n        m = Linear(2)\n\n    This is prose.\n").code == "m = Linear(2)"


def test_bare_code_before_a_session_counts() -> None:
    assert statements_of("Example:\n\n    x = ones(2)\n    x.add_(1)\n    >>> print(x)\n    [2, 2]\n") == [
        "x = ones(2)",
        "x.add_(1)",
        "print(x)",
    ]
    assert statements_of("Example:\n\n    As is well known (to us).\n\n    >>> f(x)\n") == ["f(x)"]


def test_usage_without_marks() -> None:
    assert statements_of("Usage:\n\n    layer = Dense(2)\n    layer(x)\n\nArgs:\n    units: (int) how many.\n") == [
        "layer = Dense(2)",
        "layer(x)",
    ]


def test_results_behind_arrows_are_no_code() -> None:
    text = """
        ```
        y, idx = unique(x)
        y ==> [1, 2,
               4]
        f(x) => 3
        s = "a ==> b"
        ```
    """
    assert statements_of(text) == ["y, idx = unique(x)", "y", "f(x)", "s = 'a ==> b'"]


@pytest.mark.parametrize(
    ("comment", "value"),
    [
        ("# tensor 'x' is [1, 1, 2]", "tf.constant([1, 1, 2])"),
        ("# tensor `x` is [[1, 2],\n#               [3, 4]]", "tf.constant([[1, 2], [3, 4]])"),
        ("# 'x' is [3] or 'x' is [-1]", "tf.constant([3])"),
        ("# 'x' is a tensor of shape [2, 3]", "tf.ones([2, 3])"),
        ("x = ...  # Shape [2, 4] Tensor", "tf.ones([2, 4])"),
    ],
)
def test_values_told_in_comments_are_given(comment: str, value: str) -> None:
    assert statements_of(f"```\n{comment}\nf(x) ==> 3\n```", "tensorflow") == [f"x = {value}", "f(x)"]


def test_data_that_is_only_shown_is_no_code() -> None:
    assert code_of("```\n[[1, 2],\n [3, 4]]\n```\n```\nx = [1]\n```") == "x = [1]"


def test_told_values_of_names_that_nothing_uses_stay_comments() -> None:
    assert statements_of("```python\nf(1)\n# output is [1, 2]\n```", "tensorflow") == ["f(1)"]


@pytest.mark.parametrize(
    ("broken", "expected", "dropped"),
    [
        ("f(1)\nx = = 2\ng(2)", ["f(1)", "g(2)"], 1),
        ("def f():\n    x = = 2\ng(2)", ["def f():\n    pass", "g(2)"], 1),
        ("for i in x:\ng(2)", ["for i in x:\n    pass", "g(2)"], 0),
        ("f(1)\n  g(2)\nh(3)", ["f(1)", "h(3)"], 1),
        ("x = f(1,\n  2 3,\n  4)\ng(2)", ["g(2)"], 1),
        ("x = f(1,\n      2\ng(2)", ["g(2)"], 2),
        ("print f(1)\nf(1)", ["f(1)"], 1),
        ("return 3\nf(1)", ["f(1)"], 1),
        ("%matplotlib inline\n!ls\n$ ls\nf(1)", ["f(1)"], 3),
    ],
)
def test_the_smallest_broken_part_is_dropped_and_counted(broken: str, expected: list[str], dropped: int) -> None:
    mended = salvage(broken)
    assert [ast.unparse(statement) for statement in ast.parse(mended.code).body] == expected
    assert mended.dropped == dropped


@given(st.text(alphabet="ab1 \t\n()[]{}:=.,'\"\\#>@\0é", max_size=60))
def test_whatever_goes_in_what_comes_out_compiles(text: str) -> None:
    assert syntax_error(salvage(text).code) is None
    assert syntax_error(extract(f"```python\n{text}\n```").code) is None
    assert syntax_error(extract(text, "tensorflow").code) is None


NAMES = st.sampled_from(["x", "y", "net", "F.relu"])
EXPRESSIONS = st.recursive(
    NAMES | st.integers(0, 99).map(str) | st.sampled_from(["'a b'", '"# no comment"', "None"]),
    lambda inner: (
        st.builds("f({}, k={})".format, inner, inner)
        | st.builds("[{},\n {}]".format, inner, inner)
        | st.builds("({} + {})".format, inner, inner)
    ),
    max_leaves=6,
)
SIMPLE = st.builds("v = {}".format, EXPRESSIONS) | st.builds("print({})".format, EXPRESSIONS)
STATEMENTS = st.recursive(
    SIMPLE,
    lambda inner: st.builds(
        lambda head, body: head + "\n" + textwrap.indent(body, "    "),
        st.sampled_from(["for i in range(3):", "with net:", "def f(a):", "if x:", "class A:"]),
        inner,
    ),
    max_leaves=3,
)
PRINTED = st.sampled_from(["", "tensor([1, 2])", "[[1,\n  2]]", "3\n4"])


def as_session(statement: str, printed: str, indent: str) -> str:
    first, *more = statement.split("\n")
    lines = [f">>> {first}", *(f"... {line}" for line in more)]
    return textwrap.indent("\n".join([*lines, *printed.split("\n")] if printed else lines), indent)


@given(st.lists(st.tuples(STATEMENTS, PRINTED), min_size=1, max_size=5), st.sampled_from(["", "    ", "  "]))
def test_statements_rendered_as_a_session_are_recovered(program: list[tuple[str, str]], indent: str) -> None:
    session = "\n".join(as_session(statement, printed, indent) for statement, printed in program)
    expected = ast.dump(ast.parse("\n".join(statement for statement, _ in program)))
    assert ast.dump(ast.parse(remove_prompts(session))) == expected
    docstring = f"Does it.\n\n    Example::\n\n{textwrap.indent(session, '        ')}\n\n    Args:\n        x: it."
    assert ast.dump(ast.parse(extract(docstring).code)) == expected


@given(st.lists(STATEMENTS, min_size=1, max_size=5), st.sampled_from(["```python", "```py", "~~~python"]))
def test_statements_in_a_fence_are_recovered(program: list[str], fence: str) -> None:
    code = "\n".join(program)
    text = f"Text.\n\n    {fence}\n{textwrap.indent(code, '    ')}\n    {fence[:3]}\n\nMore text."
    assert ast.dump(ast.parse(extract(text).code)) == ast.dump(ast.parse(code))
