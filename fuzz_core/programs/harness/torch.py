"""Training of a PyTorch program: its `model` learns 100 samples and prints its loss on 20; `parts` has the weights."""

optimizer = torch.optim.SGD(parts.parameters(), lr=0.01, momentum=0.9)
parts.train()
for start in (0, 50):
    optimizer.zero_grad()
    loss = criterion(model(samples[start : start + 50]), targets[start : start + 50])
    loss.backward()
    optimizer.step()

parts.eval()
with torch.no_grad():
    loss = criterion(model(samples[100:]), targets[100:])
print("loss", loss.item())
