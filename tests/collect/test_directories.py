"""Seeds from directories that users name, from wheels and from the shipped set."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fuzz_core.collect.programs import ModelsSource, does_something, jittor_models, keras_applications
from fuzz_core.collect.sources import Request, Seed, collect
from fuzz_core.ir.catalogue import Api
from fuzz_core.programs.texts import traced_programs

TEST = "def test_it():\n    assert True\n"


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def seeds_of(request: Request, source: str) -> list[Seed]:
    return list(collect(request, [source]))


def user_models(request: Request) -> list[Seed]:
    return [seed for seed in seeds_of(request, "models") if seed.path]


def test_files_that_pytest_collects_are_found_in_order_and_others_are_not(tmp_path: Path) -> None:
    root = write(
        tmp_path / "tests",
        {
            "test_loss.py": TEST,
            "nn/layers_test.py": TEST + "# nn",
            "helpers.py": TEST,
            "conftest.py": "",
            ".venv/test_a.py": TEST,
            "env/pyvenv.cfg": "",
            "env/test_b.py": TEST,
            "__pycache__/test_c.py": TEST,
        },
    )
    request = Request("torch", tests_dirs=[root])
    found = [(seed.name, seed.kind, seed.path) for seed in seeds_of(request, "tests")]
    assert found == [
        ("tests/test_loss.py", "tests", str(root / "test_loss.py")),
        ("tests/nn/layers_test.py", "tests", str(root / "nn/layers_test.py")),
    ]
    assert request.problems == []


def test_files_that_cannot_be_used_are_counted_and_end_nothing(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "test_a.py": "def broken(:\n",
            "test_b.py": b"x = '\xff\xfe'\n",
            "test_c.py": "x = '\0'\n",
            "test_d.py": b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
            "test_e.py": b"# -*- coding: nonsense -*-\n",
        },
    )
    (root / "test_f.py").symlink_to(root / "gone.py")
    request = Request("torch", tests_dirs=[root])
    assert [Path(seed.path).name for seed in seeds_of(request, "tests")] == ["test_d.py"]
    assert sorted(Path(path).name for path, _ in request.problems) == [f"test_{name}.py" for name in "abcef"]
    assert all(reason for _, reason in request.problems)


def test_a_directory_without_tests_is_counted(tmp_path: Path) -> None:
    request = Request("torch", tests_dirs=[tmp_path])
    assert seeds_of(request, "tests") == []
    assert [path for path, _ in request.problems] == [str(tmp_path)]


def test_one_file_can_be_named_instead_of_a_directory(tmp_path: Path) -> None:
    write(tmp_path, {"checks.py": TEST, "test_other.py": TEST})
    (seed,) = seeds_of(Request("torch", tests_dirs=[tmp_path / "checks.py"]), "tests")
    assert seed.name == "checks.py"


def test_an_unchanged_file_keeps_its_digest_wherever_the_directory_lies(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"test_a.py": TEST, "test_b.py": TEST}
    before = seeds_of(Request("torch", tests_dirs=[write(tmp_path / "one", files)]), "tests")
    files["test_b.py"] = TEST + "\n"
    after = seeds_of(Request("torch", tests_dirs=[write(tmp_path / "two", files)]), "tests")
    assert [one.digest == other.digest for one, other in zip(before, after, strict=True)] == [True, False]
    assert before[0].digest != before[1].digest


def test_tests_inside_wheels_are_those_of_the_librarys_packages(tmp_path: Path) -> None:
    names = ["keras/src/layers/dense_test.py", "jittor/test/test_core.py", "torch/testing/test_helper.py"]
    write(tmp_path, dict.fromkeys(names, TEST))
    packages = {name: tmp_path / name for name in ("keras", "jittor", "torch")}
    found = {
        library: [seed.name for seed in seeds_of(Request(library, packages=packages), "tests")]
        for library in ("tensorflow", "jittor", "torch")
    }
    assert found == {"tensorflow": names[:1], "jittor": names[1:2], "torch": []}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("if __name__ == '__main__':\n    main()", True),
        ("for i in range(3):\n    step(i)", True),
        ("with tape:\n    step()", True),
        ("train(3)", True),
        ("import torch\n\n\nclass Net(torch.nn.Module):\n    pass\n\nSIZE = 3", False),
        ("'''Only a docstring.'''", False),
        ("try:\n    import numpy\nexcept ImportError:\n    numpy = None", False),
    ],
)
def test_a_program_does_more_than_declare(code: str, expected: bool) -> None:
    assert does_something(ast.parse(code)) is expected


def test_programs_of_a_directory(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "vae/main.py": "train()",
        "vae/net.py": "class A: pass",
        "setup.py": "setup()",
        "test_net.py": "train()",
        "broken.py": "train(",
    }
    request = Request("torch", models_dirs=[write(tmp_path / "models", files)])
    assert [(seed.name, seed.kind) for seed in user_models(request)] == [("models/vae/main.py", "script")]
    assert [Path(path).name for path, _ in request.problems] == ["broken.py"]


@pytest.mark.parametrize("library", ["torch", "tensorflow", "jittor"])
def test_shipped_programs_are_seeds(library: str) -> None:
    seeds = list(ModelsSource().shipped(Request(library)))
    assert [seed.name for seed in seeds] == [f"model {name}" for name, _ in traced_programs(library)]
    assert {(seed.source, seed.kind) for seed in seeds} == {("models", "script")}


def test_one_small_model_of_every_family_of_keras_applications(tmp_path: Path) -> None:
    names = {
        "resnet": ["ResNet50", "ResNet101"],
        "resnet_v2": ["ResNet101V2", "ResNet50V2"],
        "convnext": ["ConvNeXtBase", "ConvNeXtSmall", "ConvNeXtTiny"],
        "efficientnet_v2": ["EfficientNetV2L", "EfficientNetV2B1", "EfficientNetV2B0"],
        "mobilenet_v3": ["MobileNetV3Large", "MobileNetV3Small"],
    }
    lines = [f"from keras.src.applications.{home} import {name} as {name}" for home in names for name in names[home]]
    lines.append("from keras.applications import resnet as resnet")
    package = write(tmp_path, {"applications/__init__.py": "\n".join(lines)})
    smallest = ["ConvNeXtTiny", "EfficientNetV2B0", "MobileNetV3Small", "ResNet50", "ResNet50V2"]
    assert keras_applications(package) == smallest
    seeds = seeds_of(Request("tensorflow", packages={"keras": package}), "models")
    assert [seed.name for seed in seeds if seed.name.startswith("package")] == [
        f"package keras.applications.{name}" for name in smallest
    ]


def test_the_smallest_model_of_every_module_of_jittor_that_can_be_built_without_weights(tmp_path: Path) -> None:
    files = {
        "resnet": ["Wide_resnet26_2(pretrained)", "Resnet26(pretrained=False)", "Resnet18(pretrained=False, **kwargs)"],
        "mnasnet": ["mnasnet1_0(pretrained=False)", "mnasnet0_75(pretrained=False)", "mnasnet0_5(pretrained=False)"],
        "vgg": ["vgg11_bn(pretrained=False)", "vgg11(pretrained=False)", "_vgg9(pretrained=False)"],
        "layers": ["conv(width)"],
    }
    for name, functions in files.items():
        write(tmp_path, {f"models/{name}.py": "".join(f"def {each}:\n    pass\n" for each in functions)})
    write(tmp_path, {"models/broken.py": "def broken(pretrained:\n"})
    smallest = [("mnasnet", "mnasnet0_5"), ("resnet", "Resnet18"), ("vgg", "vgg11")]
    assert jittor_models(tmp_path) == smallest
    seeds = seeds_of(Request("jittor", packages={"jittor": tmp_path}), "models")
    named = {seed.name: seed for seed in seeds if seed.name.startswith("package")}
    assert list(named) == [f"package jittor.models.{module}.{name}" for module, name in smallest]
    for seed in named.values():
        compile(seed.code, seed.name, "exec")


def test_model_packages_have_programs_only_where_they_are_installed(tmp_path: Path) -> None:
    def named(packages: dict[str, Path]) -> set[str]:
        seeds = seeds_of(Request("torch", packages=packages), "models")
        for seed in seeds:
            compile(seed.code, seed.name, "exec")
        return {seed.name.split()[1] for seed in seeds if seed.name.startswith("package")}

    assert named({"torch": tmp_path}) == set()
    assert named({"timm": tmp_path, "transformers": tmp_path}) == {"timm", "transformers"}
    assert keras_applications(tmp_path) == []


def test_a_docstring_is_one_seed_with_its_imports_and_names_of_earlier_examples() -> None:
    session = "Text::\n\n    >>> m = Linear(2, 3)\n    >>> m.weight\n    tensor(1)\n"
    doc = session + "\nThen:\n\n```python\nm(torch.ones(2))\n```"
    request = Request("torch", apis=[Api("torch.nn.Linear", "class", doc=doc), Api("torch.nn.Other", "class")])
    (seed,) = seeds_of(request, "docs")
    assert (seed.name, seed.kind) == ("torch.nn.Linear docstring", "snippet")
    assert seed.code == "from torch.nn import Linear\nimport torch\nm = Linear(2, 3)\nm.weight\nm(torch.ones(2))\n"


def test_what_is_dropped_from_a_docstring_is_counted() -> None:
    doc = "```python\ntorch.ones(2)\nx = = 3\n```"
    request = Request("torch", apis=[Api("torch.ones", "function", doc=doc)])
    assert [seed.code for seed in seeds_of(request, "docs")] == ["import torch\ntorch.ones(2)\n"]
    assert [path for path, _ in request.problems] == ["torch.ones docstring"]


def test_documentation_trees_of_three_kinds(tmp_path: Path) -> None:
    root = write(
        tmp_path / "docs",
        {
            "a.html": "<pre class='python'>torch.ones(1)</pre>",
            "b/c.rst": "Title\n=====\n\n.. code-block:: python\n\n    torch.ones(2)\n",
            "d.md": "# Title\n\n```python\ntorch.ones(3)\n```\n",
            "e.md": "# No code\n",
            "f.rst": b"\xff\xfe\xff",
            "g.png": b"\x89PNG",
        },
    )
    request = Request("torch", docs_dirs=[root])
    found = {seed.name: seed.code for seed in seeds_of(request, "docs")}
    assert found == {
        f"docs/{name}": f"import torch\ntorch.ones({size})\n"
        for name, size in [("a.html", 1), ("d.md", 3), ("b/c.rst", 2)]
    }
    assert [Path(path).name for path, _ in request.problems] == ["f.rst"]


def test_documentation_in_the_librarys_packages_is_read_once_however_many_pages_show_it(tmp_path: Path) -> None:
    page = "# Title\n\n```\nimport jittor as jt\na = jt.ones(2)\n```\n"
    write(tmp_path, {"jittor/notebook/a.src.md": page, "jittor/notebook/a.cn.md": page.replace("Title", "标题")})
    request = Request("jittor", packages={"jittor": tmp_path / "jittor"}, docs_dirs=[tmp_path / "jittor"])
    own = ["jittor/notebook/a.cn.md"]
    assert [seed.name for seed in seeds_of(request, "docs")] == [*own, "jittor/notebook/a.src.md"]
    assert [seed.name for seed in seeds_of(Request("jittor", packages=request.packages), "docs")] == own
