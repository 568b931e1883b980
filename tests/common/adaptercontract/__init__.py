"""The contract of an adapter, as checks that run in the library's own process and need no pytest there.

`python -m adaptercontract LIBRARY` prints the library's dtypes. It then answers every JSON line `[check, argument, …]`
with a list of problems. Tensors are arguments, in the codec's form.
"""
