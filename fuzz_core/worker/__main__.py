"""`python -m fuzz_core.worker SCRATCH LIBRARY ROLE DESCRIPTOR [PLAN]`: started by the controller's supervisor alone."""

import sys

from fuzz_core.worker.limits import guard

if __name__ == "__main__":
    scratch, library, role, descriptor, *plan = sys.argv[1:]
    guard(scratch)
    # Imported only now: the guarding process stays small.
    from fuzz_core.worker.zygote import serve

    serve(library, role, plan[0] if plan else "", int(descriptor))
