"""Hooks that PyTorch needs for running model programs."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any

import torch

from fuzz_core.adapters.models import FINITE, MISSING, NONFINITE, Models, announcing, replaced, switched


class TorchModels(Models):
    """Hooks for model programs of PyTorch.

    A module is freed with its last reference, so `forget` has no work.
    """

    layer, computes = torch.nn.Module, "forward"
    weights = torch.nn.Parameter

    def streams(self) -> Callable[[], None] | None:
        """Return a function that restores the states of the CPU's generator and of each device's."""
        state = torch.default_generator.get_state()
        devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []

        def again() -> None:
            torch.default_generator.set_state(state)
            for device, each in enumerate(devices):
                torch.cuda.set_rng_state(each, device)

        return again

    def doubles(self) -> AbstractContextManager[None]:
        """Return a context in which the default dtype is double."""
        return switched(torch.get_default_dtype, torch.set_default_dtype, torch.float64)

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return the call compiled without code generation."""

        def once(*args: Any, **kwargs: Any) -> Any:
            _forget()
            # A function with globals of its own: the compiler remembers by code, and leaves the program's module there.
            plain = lambda *args, **kwargs: call(*args, **kwargs)  # noqa: E731
            space = {"__name__": __name__, "__builtins__": builtins}
            own = FunctionType(plain.__code__, space, closure=plain.__closure__)
            try:
                made = torch.compile(own, backend="aot_eager", dynamic=False)
                with torch.no_grad():
                    return made(*args, **kwargs)
            finally:
                _forget()

        return once

    def losses(self, note: Callable[[float], object]) -> AbstractContextManager[None]:
        """Note the tensors that backward passes begin with, those of `Tensor.backward` too."""
        return replaced(
            torch.autograd,
            "backward",
            lambda backward: announcing(backward, lambda tensors, *_, **__: tensors.item(), note),
        )

    def gradients(self, layer: Any) -> str:
        """Return the state of the gradients that the last backward pass has left in a layer."""
        if not isinstance(layer, torch.nn.Module):
            return ""
        trained = [each for each in layer.parameters() if each.requires_grad]
        found = [each.grad for each in trained if each.grad is not None]
        if len(found) < len(trained):
            return MISSING
        return (FINITE if all(each.isfinite().all() for each in found) else NONFINITE) if trained else ""

    def numbers(self, layer: Any) -> Iterable[Any]:
        """Return parameters and buffers."""
        return [*layer.parameters(), *layer.buffers()]

    def untrained(self, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return weights without a gradient after a backward pass from the result's sum, see `Models.untrained`."""
        if not isinstance(model, torch.nn.Module) or not any(each.requires_grad for each in model.parameters()):
            return ()
        model.zero_grad()
        given: list[tuple[Any, Any]] = []
        hooks = [
            each.register_forward_hook(lambda layer, _, result: _noted(given, layer, result))
            for each in model.modules()
            if [*each.parameters(recurse=False)]
        ]
        try:
            with torch.enable_grad():
                result = model(*args, **kwargs)
                result.sum().backward()
            return tuple(sorted(_missing(model, given, result, lambda: model(*args, **kwargs))))
        except Exception:  # noqa: BLE001 - a model whose result has no sum, or no gradient, tells nothing
            return ()
        finally:
            for hook in hooks:
                hook.remove()


def _forget() -> None:
    """Clear the compiler's caches, and its table of module names: each program is `__main__`."""
    torch._dynamo.reset()
    imported: Any = getattr(torch._dynamo.symbolic_convert, "_import_module", None)
    if hasattr(imported, "cache_clear"):
        imported.cache_clear()


def _noted(given: list[tuple[Any, Any]], layer: Any, result: Any) -> None:
    """Note the result of a layer if it gets a gradient: a single tensor, and not under `no_grad`."""
    if torch.is_grad_enabled() and isinstance(result, torch.Tensor) and result.requires_grad:
        result.retain_grad()
        given.append((layer, result))


def _missing(model: Any, given: list[tuple[Any, Any]], result: Any, again: Callable[[], Any]) -> Iterator[str]:
    """Yield parameters without a gradient, of layers whose result has one, if a change of them changes the result."""
    reached = {id(layer) for layer, each in given if each.grad is not None}
    owned = {id(p) for layer in model.modules() if id(layer) in reached for p in layer.parameters(recurse=False)}
    for name, parameter in model.named_parameters():
        if id(parameter) not in owned or not parameter.requires_grad or parameter.grad is not None:
            continue
        # The change differs between elements, because normalisation would hide an equal change.
        change = torch.linspace(0.5, 1.5, parameter.numel(), dtype=parameter.dtype).reshape(parameter.shape)
        with torch.no_grad():
            parameter += change
            changed = not torch.allclose(again(), result, equal_nan=True)
            parameter -= change
        if changed:
            yield name
