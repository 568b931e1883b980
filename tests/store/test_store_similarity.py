import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from store_values import KEY, TARGET

from fuzz_core.ir.catalogue import Api
from fuzz_core.store import Store, similarity
from fuzz_core.store.similarity import MAX_DEFINITION, ONE, refresh_similarity, similarity_rows
from fuzz_core.store.similarity import similarity as rows_of


def matrix(rows: dict[str, bytes]) -> np.ndarray:
    return np.array([np.frombuffer(rows[name], "<u2") for name in sorted(rows)]).reshape(len(rows), len(rows))


def edit_distance(a: str, b: str) -> int:
    """Returns the edit distance by the textbook's algorithm, one row at a time."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        above, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (left != right))
    return row[-1]


class DescribeSimilarityRows:
    @given(st.dictionaries(st.text(max_size=5), st.text("abc(,)", max_size=12), max_size=6))
    @settings(deadline=None)
    def test_each_number_is_one_minus_distance_by_length(self, definitions: dict[str, str]) -> None:
        found = matrix(similarity_rows(definitions)) / ONE
        for i, left in enumerate(sorted(definitions)):
            for j, right in enumerate(sorted(definitions)):
                a, b = definitions[left], definitions[right]
                expected = 1 - edit_distance(a, b) / max(len(a), len(b), 1)
                assert found[i, j] == pytest.approx(expected, abs=1 / ONE)

    def test_of_many_apis_both_halves_are_the_same(self) -> None:
        count = 515
        definitions = {f"torch.f{n:04}": f"torch.f{n}(input, {'dim, ' * (n % 5)}out)" for n in range(count)}
        found = matrix(similarity_rows(definitions))
        assert (found == found.T).all() and (found.diagonal() == ONE).all()
        texts = [definitions[name] for name in sorted(definitions)]
        for i, j in ((0, 514), (256, 255), (514, 257)):
            assert found[i, j] == round(Levenshtein.normalized_similarity(texts[i], texts[j]) * ONE)

    def test_long_definitions_are_compared_up_to_the_bound(self) -> None:
        head = "x" * MAX_DEFINITION
        rows = similarity_rows({"a": head + "tail", "b": head + "another"})
        assert (matrix(rows) == ONE).all()


class DescribeRefresh:
    def test_it_computes_only_when_definitions_changed(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[int] = []
        compute = similarity.similarity_rows
        monkeypatch.setattr(similarity, "similarity_rows", lambda d: asked.append(len(d)) or compute(d))
        store.save_apis(KEY, [Api("b", "function", (), "b(x)"), Api("a", "function", (), "a(x)")])
        refresh_similarity(store, KEY)
        assert dict(rows_of(store, KEY)) == compute({"a": "a(x)", "b": "b(x)"})
        store.save_target(TARGET._replace(key="another"))
        store.save_apis("another", [Api("a", "function", (), "a(x)"), Api("b", "function", (), "b(x)")])
        assert list(rows_of(store, "another")) == list(rows_of(store, KEY))
        assert asked == [2]
        store.save_apis(KEY, [Api("a", "function", (), "a(x)")])
        assert [api for api, _ in rows_of(store, KEY)] == ["a"]
        assert asked == [2, 1]

    def test_without_a_definition_the_name_is_compared(self, store: Store) -> None:
        store.save_apis(KEY, [Api("torch.aa", "function"), Api("torch.ab", "function")])
        assert dict(rows_of(store, KEY)) == similarity_rows({"torch.aa": "torch.aa", "torch.ab": "torch.ab"})

    def test_without_apis_there_is_none(self, store: Store) -> None:
        assert list(rows_of(store, KEY)) == []
