"""TensorFlow: what is public in it, its tensors, its modes and its errors."""
