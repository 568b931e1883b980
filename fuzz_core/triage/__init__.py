"""From a finding to a bug: script, confirmation in fresh processes, minimisation, signature."""
