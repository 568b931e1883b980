"""`python -m fuzz_core.worker LIBRARY ROLE DESCRIPTOR [PLAN]`: only the controller's supervisor starts this program."""

import sys

from fuzz_core.worker.zygote import serve

if __name__ == "__main__":
    library, role, descriptor, *plan = sys.argv[1:]
    serve(library, role, plan[0] if plan else "", int(descriptor))
