"""Training of a Jittor program: its `model` learns 100 samples and prints its loss on 20; `parts` has the weights."""

optimizer = jt.optim.SGD(parts.parameters(), lr=0.01, momentum=0.9)
parts.train()
loss = criterion(model(samples[:100]), targets[:100])
optimizer.step(loss)

parts.eval()
with jt.no_grad():
    loss = criterion(model(samples[100:]), targets[100:])
print("loss", loss.item())
