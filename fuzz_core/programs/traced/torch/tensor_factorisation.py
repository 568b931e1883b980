"""Factorisation of a table of ratings: by gradient, by alternating least squares and by decompositions."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS, COLUMNS, RANK, SLICES = 8, 6, 3, 4


class Factors(nn.Module):
    """Non-negative factors of a matrix, and the three factor matrices of a tensor."""

    def __init__(self) -> None:
        super().__init__()
        sizes = {"rows": ROWS, "columns": COLUMNS, "slices": SLICES}
        self.parts = nn.ParameterDict({name: torch.rand(size, RANK) for name, size in sizes.items()})
        nn.init.uniform_(self.parts["slices"], a=0.5, b=1.5)

    def matrix(self) -> torch.Tensor:
        return torch.linalg.multi_dot([self.parts["rows"].abs(), torch.eye(RANK), self.parts["columns"].abs().T])

    def tensor(self) -> torch.Tensor:
        return torch.einsum("ir,jr,kr->ijk", *(self.parts[name] for name in ("rows", "columns", "slices")))

    def dependent_loss(self) -> torch.Tensor:
        """How far the columns of a factor are from orthogonal."""
        gram = torch.mm(self.parts["rows"].t(), self.parts["rows"])
        return torch.linalg.matrix_norm(gram - torch.diag(torch.diag(gram)), ord=1) + torch.linalg.norm(gram, "nuc")


def make_table() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A low-rank matrix, the mask of what was seen, and a low-rank tensor with the matrix as its mean slice."""
    left, right = torch.rand(ROWS, RANK), torch.rand(RANK, COLUMNS)
    matrix = torch.addmm(torch.zeros(1, COLUMNS), left, right, beta=1, alpha=1.0)
    tensor = matrix.unsqueeze(-1) * torch.linspace(0.5, 1.5, SLICES)
    return matrix, torch.rand_like(matrix) > 0.2, tensor


def alternate(matrix: torch.Tensor, seen: torch.Tensor, rounds: int) -> torch.Tensor:
    """Solves for one factor while the other is held, with a small ridge."""
    left, right = torch.randn(ROWS, RANK), torch.randn(COLUMNS, RANK)
    filled = torch.where(seen, matrix, matrix[seen].mean())
    for _ in range(rounds):
        left = torch.linalg.lstsq(right, filled.mT, driver="gelsd").solution.mT
        ridge = torch.linalg.multi_dot((left.mT, left)) + 1e-3 * torch.eye(RANK)
        right = torch.linalg.solve(ridge, left.mT @ filled, left=True).mT
    return left @ right.mT


def decompositions(matrix: torch.Tensor) -> torch.Tensor:
    """Low-rank copies of a matrix by singular values, QR, pivoted LU, eigenvectors and a random projection."""
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    cut = torch.where(torch.arange(len(s)) < RANK, s, 0.0)
    q, r = torch.linalg.qr(matrix, mode="reduced")
    permutation, lower, upper = torch.lu_unpack(*torch.linalg.lu_factor(matrix))
    values, vectors = torch.linalg.eig(matrix.T @ matrix)
    power = torch.linalg.matrix_power(matrix.T @ matrix, 2)
    assert torch.allclose((vectors * values**2 @ torch.linalg.inv(vectors)).real, power, rtol=1e-2, atol=1e-2)
    random_u, random_s, random_v = torch.svd_lowrank(matrix, q=RANK, niter=2)
    copies = [(u * cut) @ vh, q @ r, permutation @ lower @ upper, (random_u * random_s) @ random_v.mH]
    return torch.stack([torch.linalg.vector_norm(copy - matrix, ord=2, dim=(0, 1)) for copy in copies])


def tensor_tools(tensor: torch.Tensor) -> torch.Tensor:
    """Unfoldings, mode products, and the Kronecker and Khatri-Rao forms of the same model."""
    unfolded = tensor.movedim(1, 0).reshape(COLUMNS, -1)
    core = torch.tensordot(tensor, torch.linalg.pinv(unfolded[:, :RANK], rtol=1e-4), dims=([1], [1]))
    small = torch.kron(torch.eye(2), tensor[:2, :2, 0])
    stacked = torch.block_diag(small, tensor[0, :2, :2])
    paired = torch.cartesian_prod(torch.arange(2.0), torch.arange(3.0)).prod(dim=-1)
    inverse = torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6), ind=2)
    vander = torch.linalg.vander(torch.tensor([1.0, 2.0, 3.0]), N=4)
    products = torch.cross(vander[:, :3], vander[:, 1:], dim=1), vander.adjoint().matmul(vander)
    parts = [core, stacked, paired, inverse, *products, torch.trapezoid(tensor, dx=0.5, dim=-1)]
    return torch.stack([part.square().mean().sqrt() for part in parts])


def main() -> None:
    torch.manual_seed(0)
    matrix, seen, tensor = make_table()
    model = Factors()
    optimizer = torch.optim.Adafactor(model.parameters(), lr=0.05, beta2_decay=-0.8, d=1.0)
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.mse_loss(model.matrix()[seen], matrix.masked_select(seen)) + 1e-3 * model.dependent_loss()
        loss = loss + F.huber_loss(model.tensor(), tensor, reduction="sum", delta=0.5) / tensor.numel()
        loss.backward()
        optimizer.step()
        assert math.isfinite(loss.item())
    error = torch.dist(alternate(matrix, seen, rounds=2), matrix, p=2)
    angles = torch.linalg.svdvals(torch.linalg.qr(matrix)[0].T @ torch.linalg.qr(model.matrix().detach())[0])
    assert torch.isfinite(error) and angles.max() <= 1.001
    assert torch.isfinite(decompositions(matrix)).all() and torch.isfinite(tensor_tools(tensor)).all()


if __name__ == "__main__":
    main()
