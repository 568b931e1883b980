"""Code in HTML pages of several generators."""

from __future__ import annotations

import ast

import pytest

from fuzz_core.collect.docs import extract_page


def span(css: str, text: str) -> str:
    return f'<span class="{css}">{text}</span>'


SPHINX = f"""
<div class="highlight-python3 notranslate"><div class="highlight"><pre><span></span>
{span("gp", "&gt;&gt;&gt; ")}{span("n", "m")} {span("o", "=")} {span("n", "f")}{span("p", "(")}{span("mi", "1")})
{span("gp", "&gt;&gt;&gt; ")}{span("k", "for")} {span("n", "i")} {span("ow", "in")} {span("n", "m")}{span("p", ":")}
{span("gp", "... ")}    {span("n", "g")}{span("p", "(")}{span("n", "i")}{span("p", ")")}
{span("go", "tensor([1, 2])")}
<button class="copybtn">Copy</button></pre></div></div>
"""
SPHINX_NUMBERED = """<div class="highlight-python"><table><tr>
<td class="linenos"><div class="linenodiv"><pre><span class="normal">1</span>
<span class="normal">2</span></pre></div></td>
<td class="code"><div class="highlight"><pre><span class="n">x</span> = f(1)
g(x)
</pre></div></td></tr></table></div>"""
SHELL = '<div class="highlight-bash"><div class="highlight"><pre>pip(1)</pre></div></div>'
CPLUSPLUS = '<pre><code class="language-c++">f(1);</code></pre>'
OUTPUT = '<div class="output_area"><pre>f(1)</pre></div>'
MARKED = '<pre class="prettyprint lang-python"><code>x = f(1)\ng(x)\n</code></pre>'
TERMINAL = '<code class="devsite-terminal" data-terminal-prefix="&gt;&gt;&gt;">'
PREFIXED = f"<pre>{TERMINAL}x = f(1)</code>\n[1, 2]\n{TERMINAL}g(x)</code></pre>"
PRINTED_BY_MARKUP = '<pre class="python"><span class="n">f</span>(1)\n<span class="go">tensor([1])</span>\n</pre>'
PROSE = "<pre>Copyright (c) the authors</pre><p>f(1)</p>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (SPHINX, ["m = f(1)", "for i in m:\n    g(i)"]),
        (SPHINX_NUMBERED, ["x = f(1)", "g(x)"]),
        (MARKED, ["x = f(1)", "g(x)"]),
        (PREFIXED, ["x = f(1)", "g(x)"]),
        (PRINTED_BY_MARKUP, ["f(1)"]),
        (SHELL + CPLUSPLUS + OUTPUT + PROSE, []),
        (MARKED + SHELL + SPHINX, ["x = f(1)", "g(x)", "m = f(1)", "for i in m:\n    g(i)"]),
        ("<pre>f(1", []),
    ],
)
def test_typed_code_is_found_and_nothing_else(html: str, expected: list[str]) -> None:
    assert [ast.unparse(statement) for statement in ast.parse(extract_page(html).code).body] == expected
