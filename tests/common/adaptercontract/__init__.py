"""What every adapter of a library must do, as checks that run in the library's own process: no pytest is needed there.

`python -m adaptercontract LIBRARY` says which dtypes the library has, then answers every JSON line
`[check, argument, …]` with a list of what is wrong. Tensors are arguments, in the codec's form.
"""
