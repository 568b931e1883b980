"""Generation of whole models: programs are made here, as text; workers run them."""
